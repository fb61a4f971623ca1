/* Included once for each level of vector instructions, with NAME(stem), TARGET and the vectors
   NAME(floats) and NAME(ints); and, where the processor has an instruction for it,
   TIMES_POWERS(x, k, least), which is x 2^k for whole numbers k and 0 where k is below `least`. */

static inline __attribute__((always_inline)) TARGET NAME(floats)
NAME(choose)(NAME(ints) chosen, NAME(floats) first, NAME(floats) second)
{
    return (NAME(floats))((chosen & (NAME(ints))first) | (~chosen & (NAME(ints))second));
}

/* exp of numbers up to 0, within 1.5 units in the last place; below -87.3 it is 0. After Cody and
   Waite, Software Manual for the Elementary Functions (1980), with a polynomial of degree 6. */
static inline __attribute__((always_inline)) TARGET NAME(floats) NAME(exp)(NAME(floats) x)
{
    const NAME(floats) shift = (NAME(floats)){0} + 12582912.0f;
    const NAME(floats) turns = x * 1.44269504088896341f + shift;
    const NAME(floats) whole = turns - shift;
    const NAME(floats) rest = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    const NAME(ints) scale = ((NAME(ints))turns << 23) + 0x3F800000;
    NAME(floats) sum = rest * 1.9875691500e-4f + 1.3981999507e-3f;
    sum = sum * rest + 8.3334519073e-3f;
    sum = sum * rest + 4.1665795894e-2f;
    sum = sum * rest + 1.6666665459e-1f;
    sum = sum * rest + 5.0000001201e-1f;
    sum = sum * (rest * rest) + rest + 1.0f;
    sum = (NAME(floats))((NAME(ints))(sum * (NAME(floats))scale) & ~(NAME(ints))(x < -87.3f));
    return sum;
}

/* 2^(x · factor) of numbers up to 0 and a positive factor, but for what rounding their product adds
   within 1.5 units in the last place; below 2^-125.5 it is 0. The polynomial is the one of degree 6
   whose largest relative error between -1/2 and 1/2 is the least, 2e-9. */
static inline __attribute__((always_inline)) TARGET NAME(floats)
NAME(power)(NAME(floats) x, float factor)
{
    const NAME(floats) shift = (NAME(floats)){0} + 12582912.0f;
    const NAME(floats) turns = x * factor + shift;
    const NAME(floats) rest = x * factor - (turns - shift);
#ifndef TIMES_POWERS
    const NAME(ints) scale = ((NAME(ints))turns << 23) + 0x3F800000;
#endif
    NAME(floats) sum = rest * 1.5353362e-4f + 1.3398874e-3f;
    sum = sum * rest + 9.6184374e-3f;
    sum = sum * rest + 5.5503325e-2f;
    sum = sum * rest + 2.4022648e-1f;
    sum = sum * rest + 6.9314720e-1f;
    sum = sum * rest + 1.0f;
#ifdef TIMES_POWERS
    return (NAME(floats))TIMES_POWERS(sum, turns - shift, -125.0f);
#else
    return (NAME(floats))((NAME(ints))(sum * (NAME(floats))scale)
                          & ~(NAME(ints))(turns < 12582912.0f - 125.0f));
#endif
}
