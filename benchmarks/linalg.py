"""Linear algebra of matrices up to 32 × 32, alone and in batches: factors, solutions, spectra."""

from __future__ import annotations

from operands import normal
from timing import Case, Result, geometric_mean, measure

SHAPES = ((2, 2), (4, 4), (10, 10), (32, 32), (1000, 4, 4), (64, 16, 16), (16, 32, 32))
STATEMENTS = {
    "inv": "lib.linalg.inv(x)",
    "det": "lib.linalg.det(x)",
    "slogdet": "lib.linalg.slogdet(x)",
    "solve": "lib.linalg.solve(x, y)",
    "lu_factor": "lib.linalg.lu_factor(x)",
    "cholesky": "lib.linalg.cholesky(x)",
    "solve_triangular": "lib.linalg.solve_triangular(x, y, upper=True)",
    "qr": "lib.linalg.qr(x)",
    "eigvalsh": "lib.linalg.eigvalsh(x)",
    "eigh": "lib.linalg.eigh(x)",
    "svdvals": "lib.linalg.svdvals(x)",
    "svd": "lib.linalg.svd(x)",
    "pinv": "lib.linalg.pinv(x)",
    "lstsq": "lib.linalg.lstsq(x, y)[0]",
}
# Vectors of these have a sign of their own.
SPECTRA = ("eigvalsh", "eigh", "svdvals", "svd", "pinv", "lstsq")


def cases() -> list[Case]:
    return [
        *(_case(name, shape, "float32") for shape in SHAPES for name in STATEMENTS),
        *(_case(name, (10, 10), "float64") for name in STATEMENTS),
    ]


def _case(name: str, shape: tuple[int, ...], dtype: str) -> Case:
    """Of symmetric positive matrices, whose condition is about that of their size."""
    side = shape[-1]
    return Case(
        f"{name}, {'×'.join(map(str, shape))}, {dtype}",
        STATEMENTS[name],
        {"x": normal(*shape, dtype=dtype), "y": normal(*shape[:-1], 4, dtype=dtype)},
        setup=f"x = x @ x.mT + {side} * lib.eye({side}, dtype=x.dtype)",
        checked=name not in ("eigh", "svd"),
        group="spectra" if name in SPECTRA else "factors",
    )


def run() -> list[Result]:
    results = measure(cases())
    means = []
    for group in ("factors", "spectra"):
        of_group = [result for result in results if result.group == group]
        means.append(geometric_mean(f"linalg: mean of {len(of_group)}, {group}", of_group, 1.5))
    return [*results, *means, geometric_mean(f"linalg: mean of {len(results)}", results, 1.5)]
