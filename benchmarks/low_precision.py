"""Products in other types than float32 and float64: half types, integers, complex numbers, small
batches; and how near float32 comes to the most that the processor can do."""

from __future__ import annotations

import timeit
from dataclasses import replace

from operands import Operand, integers, normal
from processor_peak import byte_operations_per_second, operations_per_second
from timing import Case, Result, geometric_mean, measure

SIDE = 1024
# Rows, inputs and outputs of layers of transformers, and of convolutions of one tap.
LAYERS = ((128, 768, 768), (128, 768, 3072), (128, 3072, 768), (197, 768, 2304), (3136, 64, 256))
# Of the largest products of bytes.
MOST_BYTES = 2048
# Of the processor's measured peak, in percent.
LEAST_SHARE = 85.0


def _drawn(*shape: int, dtype: str) -> Operand:
    return integers(*shape, dtype=dtype) if "int" in dtype else normal(*shape, dtype=dtype)


def _product(left: tuple[int, ...], right: tuple[int, ...], dtype: str, group: str) -> Case:
    name = f"a @ b: {'×'.join(map(str, left))} by {'×'.join(map(str, right))}, {dtype}"
    operands = {"a": _drawn(*left, dtype=dtype), "b": _drawn(*right, dtype=dtype)}
    return Case(name, "a @ b", operands, group=group)


def _linear(rows: int, inner: int, outer: int, dtype: str, group: str) -> Case:
    operands = {
        "x": normal(rows, inner, dtype=dtype),
        "weight": normal(outer, inner, dtype=dtype),
    }
    statement = "lib.nn.functional.linear(x, weight)"
    name = f"linear: {rows}×{inner} to {outer}, {dtype}"
    return Case(name, statement, operands, group=group)


def _bytes_product(rows: int, inner: int, columns: int) -> Case:
    operands = {
        "a": integers(rows, inner, dtype="int8"),
        "b": integers(inner, columns, dtype="int8"),
    }
    name = f"_int_mm: {rows}×{inner} by {inner}×{columns}"
    return Case(name, "lib._int_mm(a, b)", operands, group="_int_mm")


def cases() -> list[Case]:
    made = []
    for side in (64, 128, 256, 512, 1024, 2048):
        made.append(_product((side, side), (side, side), "bfloat16", "bfloat16"))
        made.append(_bytes_product(side, side, side))
    # torch needs seconds for larger ones.
    made += [_product((side, side), (side, side), "float16", "float16") for side in (64, 256)]
    for rows in (1, 2, 4, 8):
        for dtype in ("bfloat16", "float16"):
            made.append(_linear(rows, 1024, 4096, dtype, dtype))
        made.append(_product((rows, 1024), (1024, 4096), "bfloat16", "bfloat16"))
    for sizes in LAYERS:
        made.append(_linear(*sizes, "bfloat16", "layers"))
    made.append(_bytes_product(32, 1024, 4096))
    for dtype in ("int8", "int16", "int32", "int64"):
        made += [_product((side, side), (side, side), dtype, "integers") for side in (64, 256, 512)]
    for dtype in ("complex64", "complex128"):
        made += [_product((side, side), (side, side), dtype, "complex") for side in (64, 256, 512)]
    for dtype in ("bfloat16", "int64", "complex64"):
        made.append(_product((256, 16, 16), (256, 16, 16), dtype, "batches"))
        made.append(_product((64, 32, 64), (64, 64, 32), dtype, "batches"))
    return [replace(case, least_ratio=None) for case in made]


def _share_of_peak() -> list[Result]:
    """The processor's peak, and what of it a product of float32 reaches."""
    import aten

    peak = operations_per_second(aten.get_num_threads())
    left, right = aten.randn(SIDE, SIDE), aten.randn(SIDE, SIDE)
    seconds = min(timeit.repeat(lambda: left @ right, number=5, repeat=7)) / 5
    reached = 2 * SIDE**3 / seconds
    return [
        Result("peak of the processor, float32, 10⁹ operations a second", "", aten=peak / 1e9),
        Result(f"a @ b: {SIDE}×{SIDE}, float32, 10⁹ operations a second", "", aten=reached / 1e9),
        Result(
            f"the same, % of the peak (to be ≥ {LEAST_SHARE:g})", "%", aten=100 * reached / peak
        ),
    ]


def _share_of_byte_peak(product: Result) -> list[Result]:
    """The peak of bytes, and what of it a product of many reaches, ours and torch's."""
    import aten

    peak = byte_operations_per_second(aten.get_num_threads())
    if peak is None or product.aten is None or product.torch is None:
        return []
    share = 100 * 2 * MOST_BYTES**3 / peak
    seconds = (1e-6 * product.aten, 1e-6 * product.torch)
    return [
        Result("peak of the processor, int8, 10⁹ operations a second", "", aten=peak / 1e9),
        Result(
            f"{product.name}, % of the peak", "%", aten=share / seconds[0], torch=share / seconds[1]
        ),
    ]


def run() -> list[Result]:
    results = measure(cases())
    targets = {
        "bfloat16": 1.2,
        "float16": 1.2,
        "layers": 1.2,
        "_int_mm": 1.2,
        "integers": 2,
        "complex": 1.2,
        "batches": 1,
    }
    means = []
    for group, target in targets.items():
        of_group = [result for result in results if result.group == group]
        means.append(
            geometric_mean(f"low precision: mean of {len(of_group)}, {group}", of_group, target)
        )
    (many_bytes,) = (one for one in results if one.name.startswith(f"_int_mm: {MOST_BYTES}×"))
    return [*results, *_share_of_peak(), *_share_of_byte_peak(many_bytes), *means]
