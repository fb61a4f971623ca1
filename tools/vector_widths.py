"""Compare the bits of results for vectors of 16, 32 and 64 bytes.

    python tools/vector_widths.py [NAME …] [--list] [--every N] [--beside FOLDER]

A process for each width that the processor has makes the same calls, `ATEN_VECTOR_BYTES` set: every
pointwise operator, reduction and scan of the table, products, convolutions, transforms, ordering,
factorizations, random numbers. Prints by family how many calls have the same bits for all widths,
and for those of 32 and 64 bytes, which are the ones that multiply and add with one rounding; with
`--list` also which calls have not. `--every` takes one call in so many. `--beside` says how many
are as on ARM, in the emulator that `tools/emulated.py` makes in a folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WIDTHS = (64, 32, 16)
# Shorter than a vector, longer, more than a chunk of lanes, and cut for threads; none whole.
LENGTHS = (3, 100, 5003, 270_001)
FLOATS = ("float32", "float64", "bfloat16", "float16")
NUMBERS = {"Tensor": None, "Scalar": 1.5, "float": 1.5, "int": 2, "bool": False, "SymInt": 2}
# What arguments that have no default are, where their type does not say it.
NAMED: dict[str, Any] = {
    "approximate": "none",
    "beta": 1.0,
    "compute_mode": None,
    "delta": 1.0,
    "dim": 1,
    "eps": 1e-5,
    "full": False,
    "half_to_float": False,
    "log_input": True,
    "max_val": 0.5,
    "min_val": -0.5,
    "n": 1,
    "p": 2.0,
    "reduction": 1,
    "rounding_mode": "trunc",
    "shape": (7, 5),
}
_REFUSED = "refused: "
Calls = Iterator[tuple[str, Callable[[], Any]]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", help="families, such as pointwise; all, if none is named"
    )
    parser.add_argument("--list", action="store_true", help="name the calls whose bits differ")
    parser.add_argument("--every", type=int, default=1, help="take one call in so many")
    parser.add_argument("--beside", metavar="FOLDER", type=Path, help="where ARM is emulated")
    parser.add_argument("--made-here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.made_here:
        json.dump(dict(digests(options.names, options.every)), sys.stdout)
        return 0
    elsewhere = emulated(options.beside, options) if options.beside else {}
    for family, rows in measured(options.names, options.every).items():
        print(
            f"{family}: {len(rows)} calls, the same bits for all widths: {_count(rows, WIDTHS)}; ",
            end="",
        )
        print(f"for 32 and 64 bytes: {_count(rows, (64, 32))}", end="")
        same = [name for name, one in rows.items() if elsewhere.get(f"{family}: {name}") == one[64]]
        print(f"; for 64 and ARM's 16: {len(same)}" if elsewhere else "")
        for name, found in rows.items() if options.list else ():
            if len(set(found.values())) > 1:
                equal = [width for width in WIDTHS[1:] if found[width] == found[64]]
                print(f"  {name}: {f'64 and {equal[0]} alike' if equal else '64 is alone'}")
            if elsewhere and name not in same:
                print(f"  {name}: another one on ARM")
    return 0


def emulated(folder: Path, options: argparse.Namespace) -> dict[str, str]:
    """What ARM gives: the folder has what `tools/emulated.py` fetched and built there."""
    import emulated as tool

    own = [__file__, "--made-here", "--every", str(options.every), *options.names]
    done = subprocess.check_output(
        tool.command(folder.resolve(), own), env=tool.environment(folder.resolve()), text=True
    )
    made: dict[str, str] = json.loads(done)
    return made


def measured(names: list[str], every: int = 1) -> dict[str, dict[str, dict[int, str]]]:
    """By family and call, what each width gave; without the calls that all widths refuse."""
    made = {width: _made_with(width, names, every) for width in WIDTHS}
    families: dict[str, dict[str, dict[int, str]]] = {}
    for name in made[WIDTHS[0]]:
        family, _, call = name.partition(": ")
        found = {width: made[width][name] for width in WIDTHS}
        if not all(one.startswith(_REFUSED) for one in found.values()):
            families.setdefault(family, {})[call] = found
    return families


def _count(rows: dict[str, dict[int, str]], widths: tuple[int, ...]) -> int:
    return sum(len({found[width] for width in widths}) == 1 for found in rows.values())


def _made_with(width: int, names: list[str], every: int) -> dict[str, str]:
    command = [sys.executable, __file__, "--made-here", "--every", str(every), *names]
    environment = {**os.environ, "ATEN_VECTOR_BYTES": str(width)}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    made: dict[str, str] = json.loads(done.stdout)
    return made


def digests(names: list[str], every: int) -> Iterator[tuple[str, str]]:
    """Calls of the families, and what their results hash to, or the error that they raise."""
    count = 0
    for family, calls in FAMILIES.items():
        if names and family not in names:
            continue
        for name, call in calls():
            count += 1
            if count % every:
                continue
            try:
                found = _digest(call())
            except Exception as error:
                found = f"{_REFUSED}{type(error).__name__}: {error}"
            yield f"{family}: {name}", found


def _digest(value: Any) -> str:
    import aten

    hashed = hashlib.sha256()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, aten.Tensor):
            hashed.update(f"{one.dtype}{tuple(one.shape)}".encode())
            flat = one.detach().resolve_conj().resolve_neg().contiguous().reshape((-1,))
            flat = aten.view_as_real(flat).reshape((-1,)) if flat.is_complex() else flat
            # Which NaN an invalid operation gives is the processor's: of one sign, or the other.
            flat = flat.where(flat == flat, float("nan")) if flat.is_floating_point() else flat
            hashed.update(bytes(flat.view(aten.uint8).tolist()) if flat.numel() else b"")
        elif isinstance(one, (list, tuple)):
            waiting.extend(one)
        else:
            hashed.update(repr(one).encode())
    return hashed.hexdigest()[:16]


def _numbers(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    """Normal numbers; integers up to 100 and conditions where the type is one of these."""
    import aten

    made = aten.randn(shape, dtype=aten.float64, generator=aten.Generator().manual_seed(seed))
    wanted = getattr(aten, dtype)
    if wanted.is_complex:
        turned = aten.randn(
            shape, dtype=aten.float64, generator=aten.Generator().manual_seed(seed + 9)
        )
        return aten.complex(made, turned).to(wanted)
    if not wanted.is_floating_point:
        made = made * 30
    return made.to(wanted)


def _edges(dtype: str) -> Any:
    """Numbers of many sizes, with the ends, zeros and values that are no numbers."""
    import aten

    made = _numbers(5003, dtype=dtype, seed=3)
    scales = _numbers(5003, dtype="float64", seed=4).mul(4).exp().to(made.dtype)
    made = made * scales
    ends = [0.0, -0.0, 1.0, -1.0, 0.5, float("inf"), float("-inf"), float("nan"), 1e-30, 1e30]
    made[: len(ends)] = aten.tensor(ends, dtype=aten.float64).to(made.dtype)
    return made


def _arguments(schema: Any, tensors: Iterator[Any]) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for argument in schema.arguments:
        kind = str(argument.type)
        if kind.startswith("Tensor") and "?" not in kind:
            value = next(tensors)
        elif argument.has_default:
            value = argument.default
        elif "?" in kind:
            value = None
        else:
            value = NAMED.get(argument.name, NUMBERS.get(kind.partition("[")[0]))
            value = (value,) if "[" in kind and not isinstance(value, tuple) else value
        (
            named.__setitem__(argument.name, value)
            if argument.keyword_only
            else positional.append(value)
        )
    return positional, named


def _functional(kind: str) -> Iterator[tuple[str, Any]]:
    from aten import registry
    from aten._generated.table import OPERATORS

    for name, (_, found, variant, *_) in OPERATORS.items():
        if found == kind and variant == "functional":
            yield name, registry.operator(f"aten::{name}")


def _pointwise() -> Calls:
    for name, op in _functional("pointwise"):
        for dtype in (*FLOATS, "int64", "bool", "complex64"):

            def call(op: Any = op, dtype: str = dtype) -> Any:
                first = _numbers(5003, dtype=dtype) if dtype in ("int64", "bool") else _edges(dtype)
                others = (first.flip(0).roll(shift) for shift in range(9))
                positional, named = _arguments(op._schema, iter((first, *others)))
                return op(*positional, **named)

            yield f"{name} {dtype}", call


def _folds(kind: str) -> Calls:
    for name, op in _functional(kind):
        for dtype, length in [("float32", one) for one in LENGTHS] + [
            ("float64", 5003),
            ("bfloat16", 5003),
            ("complex64", 5003),
            ("int64", 5003),
        ]:
            for layout in ("neighbours", "stepped"):
                rows = 5 if "cdist" not in name else 3

                def call(
                    op: Any = op,
                    dtype: str = dtype,
                    length: int = length,
                    rows: int = rows,
                    stepped: bool = layout == "stepped",
                ) -> Any:
                    shape = (length, rows) if stepped else (rows, length)
                    given = [_numbers(*shape, dtype=dtype, seed=seed) for seed in range(4)]
                    tensors = iter([one.t() for one in given] if stepped else given)
                    positional, named = _arguments(op._schema, tensors)
                    if "normalized_shape" in [one.name for one in op._schema.arguments]:
                        positional[1] = (length,)
                    return op(*positional, **named)

                yield f"{name} {dtype} {length} {layout}", call


def _products() -> Calls:
    import aten

    sizes = ((1, 1, 1), (1, 300, 70), (3, 17, 5), (64, 64, 64), (70, 515, 33), (200, 100, 300))
    kinds = (*FLOATS, "complex64", "complex128", "int64", "int32", "int8", "uint8")
    for dtype in kinds:
        for m, k, n in sizes:
            for turned in (False, True):

                def operands(
                    dtype: str = dtype, m: int = m, k: int = k, n: int = n, turned: bool = turned
                ) -> tuple[Any, Any]:
                    right = _numbers(n, k, dtype=dtype, seed=1)
                    return _numbers(m, k, dtype=dtype), right.t() if turned else right.reshape(
                        (k, n)
                    )

                place = f"{dtype} {m}×{k}×{n}{' turned' if turned else ''}"
                yield f"mm {place}", lambda given=operands: aten.mm(*given())
                yield f"mv {place}", lambda given=operands: aten.mv(given()[0], given()[1][:, 0])
                yield (
                    f"bmm {place}",
                    lambda given=operands: aten.bmm(*(aten.stack([one, one]) for one in given())),
                )
                yield (
                    f"addmm {place}",
                    lambda given=operands: aten.addmm(given()[1][0], *given(), beta=2, alpha=3),
                )
    yield (
        "_int_mm",
        lambda: aten._int_mm(
            _numbers(40, 64, dtype="int8"), _numbers(64, 48, dtype="int8", seed=1)
        ),
    )


def _convolutions() -> Calls:
    import aten

    functional = aten.nn.functional
    shapes = (
        ((2, 16, 15, 13), (32, 16, 3, 3), {"padding": 1}),
        ((2, 64, 14, 14), (64, 64, 3, 3), {"padding": 1}),
        ((1, 3, 32, 32), (16, 3, 7, 7), {"stride": 2, "padding": 3}),
        ((2, 24, 10, 10), (24, 1, 3, 3), {"groups": 24, "padding": 1}),
        ((2, 24, 15, 15), (24, 1, 5, 5), {"groups": 24, "padding": 2, "stride": 2}),
        ((2, 48, 9, 9), (20, 48, 1, 1), {}),
        ((2, 8, 12, 12), (6, 4, 3, 3), {"groups": 2, "dilation": 2}),
        ((3, 10, 50), (7, 10, 5), {"stride": 2}),
        ((1, 4, 6, 7, 8), (5, 4, 3, 3, 3), {"padding": 1}),
    )
    for image, weight, options in shapes:
        for dtype in FLOATS:
            for last in (False, True)[: 2 if len(image) == 4 else 1]:

                def call(
                    image: tuple[int, ...] = image,
                    weight: tuple[int, ...] = weight,
                    options: dict[str, int] = options,
                    dtype: str = dtype,
                    last: bool = last,
                ) -> Any:
                    x = _numbers(*image, dtype=dtype)
                    if last:
                        x = x.contiguous(memory_format=aten.channels_last)
                    x.requires_grad_()
                    kernel = _numbers(*weight, dtype=dtype, seed=1).requires_grad_()
                    bias = _numbers(weight[0], dtype=dtype, seed=2)
                    function = getattr(functional, f"conv{len(image) - 2}d")
                    made = function(x, kernel, bias, **options)
                    made.backward(_numbers(*made.shape, dtype=dtype, seed=3))
                    return made, x.grad, kernel.grad

                yield f"{image} {weight} {options} {dtype}{' channels last' if last else ''}", call


def _networks() -> Calls:
    import aten

    functional = aten.nn.functional
    for dtype in FLOATS:
        x = lambda *shape, dtype=dtype, seed=0: _numbers(*shape, dtype=dtype, seed=seed)  # noqa: E731
        yield (
            f"attention {dtype}",
            lambda x=x: functional.scaled_dot_product_attention(
                x(2, 3, 50, 32), x(2, 3, 70, 32, seed=1), x(2, 3, 70, 32, seed=2)
            ),
        )
        yield (
            f"causal attention {dtype}",
            lambda x=x: functional.scaled_dot_product_attention(
                *(x(1, 2, 150, 64, seed=one) for one in range(3)), is_causal=True
            ),
        )
        yield f"layer norm {dtype}", lambda x=x: functional.layer_norm(x(7, 300), (300,))
        yield (
            f"group norm {dtype}",
            lambda x=x: functional.group_norm(x(3, 12, 9, 7), 4, x(12), x(12, seed=1)),
        )
        yield (
            f"batch norm {dtype}",
            lambda x=x: functional.batch_norm(x(3, 12, 9, 7), None, None, training=True),
        )
        yield (
            f"cross entropy {dtype}",
            lambda x=x: functional.cross_entropy(
                x(30, 100), _numbers(30, dtype="int64").abs() % 100
            ),
        )
        for mode in ("bilinear", "bicubic", "nearest", "area"):
            yield (
                f"resize {mode} {dtype}",
                lambda x=x, mode=mode: functional.interpolate(x(2, 3, 17, 19), (30, 11), mode=mode),
            )
        yield f"max pool {dtype}", lambda x=x: functional.max_pool2d(x(2, 5, 21, 19), 3, 2)
        yield f"mean pool {dtype}", lambda x=x: functional.avg_pool2d(x(2, 5, 21, 19), 3, 2)
        yield (
            f"bags {dtype}",
            lambda x=x: functional.embedding_bag(
                _numbers(9, 8, dtype="int64").abs() % 50, x(50, 37)
            ),
        )
    for dtype in ("float32", "float64"):
        yield f"lstm {dtype}", lambda dtype=dtype: _recurrent(dtype)
        yield (
            f"grid sample {dtype}",
            lambda dtype=dtype: functional.grid_sample(
                _numbers(2, 3, 9, 11, dtype=dtype),
                _numbers(2, 6, 5, 2, dtype=dtype).tanh(),
                align_corners=False,
            ),
        )
        yield f"AdamW {dtype}", lambda dtype=dtype: _updated(aten.optim.AdamW, dtype)
        yield f"SGD {dtype}", lambda dtype=dtype: _updated(aten.optim.SGD, dtype, momentum=0.9)


def _recurrent(dtype: str) -> Any:
    import aten

    aten.manual_seed(0)
    model = aten.nn.LSTM(11, 23, 2).to(getattr(aten, dtype))
    return model(_numbers(7, 3, 11, dtype=dtype))


def _updated(kind: Any, dtype: str, **options: float) -> Any:
    parameter = _numbers(307, dtype=dtype).requires_grad_()
    optimizer = kind([parameter], lr=0.1, **options)
    for seed in range(3):
        parameter.grad = _numbers(307, dtype=dtype, seed=seed)
        optimizer.step()
    return parameter


def _transforms() -> Calls:
    import aten

    for dtype in ("float32", "float64", "complex64", "complex128"):
        for length in (8, 60, 97, 128, 1000, 4096, 10_000):
            yield (
                f"fft {dtype} {length}",
                lambda dtype=dtype, length=length: aten.fft.fft(_numbers(3, length, dtype=dtype)),
            )
            if not dtype.startswith("complex"):
                yield (
                    f"rfft {dtype} {length}",
                    lambda dtype=dtype, length=length: aten.fft.rfft(
                        _numbers(3, length, dtype=dtype)
                    ),
                )
        yield (
            f"fft2 {dtype}",
            lambda dtype=dtype: aten.fft.fft2(_numbers(2, 24, 40, dtype=dtype)),
        )
        for shape, dim in (((37, 24), 1), ((37, 128), 1), ((60, 37), 0), ((512, 20), 0)):
            for name in ("fft", "ifft", *(() if dtype.startswith("complex") else ("rfft",))):
                yield (
                    f"{name} {dtype} {shape} along {dim}",
                    lambda name=name, dtype=dtype, shape=shape, dim=dim: getattr(aten.fft, name)(
                        _numbers(*shape, dtype=dtype), dim=dim
                    ),
                )


def _factors() -> Calls:
    import aten

    linalg = aten.linalg
    functions: dict[str, Callable[[Any], Any]] = {
        "cholesky": lambda a: linalg.cholesky(a @ a.mT + 5 * aten.eye(a.shape[-1], dtype=a.dtype)),
        "lu": lambda a: linalg.lu_factor(a),
        "inv": lambda a: linalg.inv(a),
        "solve": lambda a: linalg.solve(a, a[..., :2]),
        "det": lambda a: linalg.det(a),
        "qr": lambda a: linalg.qr(a),
        "eigh": lambda a: linalg.eigh(a + a.mT),
        "svd": lambda a: linalg.svd(a),
    }
    for name, function in functions.items():
        for dtype in ("float32", "float64"):
            for size in (2, 3, 8, 20):
                yield (
                    f"{name} {dtype} {size}",
                    lambda f=function, dtype=dtype, size=size: f(
                        _numbers(10, size, size, dtype=dtype)
                    ),
                )


def _ordering() -> Calls:
    import aten

    for dtype in (*FLOATS, "int64", "uint8"):
        x = lambda dtype=dtype: _numbers(7, 5003, dtype=dtype)  # noqa: E731
        yield f"sort {dtype}", lambda x=x: aten.sort(x(), stable=True)
        yield f"topk {dtype}", lambda x=x: aten.topk(x(), 17)
        yield f"kthvalue {dtype}", lambda x=x: aten.kthvalue(x(), 50)
        yield f"unique {dtype}", lambda x=x: aten.unique(x())
        yield f"searchsorted {dtype}", lambda x=x: aten.searchsorted(x().sort()[0], x().roll(3))


def _random() -> Calls:
    import aten

    for dtype in FLOATS:
        for name in ("rand", "randn"):
            for count in (5, 1000, 100_003):

                def call(dtype: str = dtype, name: str = name, count: int = count) -> Any:
                    generator = aten.Generator().manual_seed(1)
                    return getattr(aten, name)(
                        count, dtype=getattr(aten, dtype), generator=generator
                    )

                yield f"{name} {dtype} {count}", call


FAMILIES: dict[str, Callable[[], Calls]] = {
    "pointwise": _pointwise,
    "reductions": lambda: _folds("reduction"),
    "scans": lambda: _folds("scan"),
    "products": _products,
    "convolutions": _convolutions,
    "networks": _networks,
    "transforms": _transforms,
    "factors": _factors,
    "ordering": _ordering,
    "random": _random,
}


if __name__ == "__main__":
    sys.exit(main())
