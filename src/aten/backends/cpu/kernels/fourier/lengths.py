"""What lengths of Fourier transforms are made of."""

from __future__ import annotations


def radices(length: int, largest: int) -> list[int] | None:
    """The radices of a length in the order of its passes; None with a prime beyond the largest."""
    rest, twos, found = length, 0, []
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    if twos % 3 == 1 and twos > 1:
        found = [8] * ((twos - 4) // 3) + [4, 4]
    else:
        found = [8] * (twos // 3) + [1, 2, 4][twos % 3 : twos % 3 + 1] * (twos % 3 > 0)
    found += odd_factors(rest, largest)
    return found if max(found, default=1) <= largest else None


def odd_factors(number: int, largest: int) -> list[int]:
    """The prime factors of an odd number; the last may be a product of those beyond the largest."""
    found = []
    factor = 3
    while factor * factor <= number and factor <= largest:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 2
    return [*found, number] if number > 1 else found


def smooth(least: int) -> int:
    """The least length from `least` on that has no prime factors but 2, 3 and 5."""
    best = 1 << (least - 1).bit_length()
    fives = 1
    while fives < best:
        threes = fives
        while threes < best:
            twos = threes
            while twos < least:
                twos *= 2
            best = min(best, twos)
            threes *= 3
        fives *= 5
    return best


def sides(length: int) -> tuple[int, int]:
    """Rows and columns of the matrix that a long transform is."""
    side = int(length**0.5) + 1
    while length % side:
        side -= 1
    return side, length // side


def is_prime(number: int) -> bool:
    """Whether an odd number is prime; no even one is said to be."""
    return number % 2 == 1 and odd_factors(number, number) == [number]


def generator(prime: int) -> int:
    """The least number of which the powers are all that an odd prime does not divide."""
    odd = prime - 1
    while odd % 2 == 0:
        odd //= 2
    steps = [(prime - 1) // one for one in {2, *odd_factors(odd, prime)}]
    return next(one for one in range(2, prime) if all(pow(one, step, prime) != 1 for step in steps))
