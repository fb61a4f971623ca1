"""Images resized, sampled, padded and pooled; rows gathered in bags and scattered."""

from __future__ import annotations

from operands import integers, normal, uniform
from timing import Case, Result, geometric_mean, measure

IMAGES = {"x": normal(4, 16, 64, 64)}
F = "lib.nn.functional."


def _resized(mode: str, size: str) -> Case:
    corners = "" if mode in ("nearest", "area") else ", align_corners=False"
    return Case(
        f"interpolate to {size}, {mode}",
        f"{F}interpolate(x, size={size}, mode='{mode}'{corners})",
        IMAGES,
    )


CASES = [
    *(_resized(mode, "(128, 128)") for mode in ("nearest", "bilinear", "bicubic")),
    _resized("bilinear", "(40, 40)"),
    Case(
        "interpolate to 32², antialiased",
        F + "interpolate(x, size=(32, 32), mode='bilinear', antialias=True)",
        IMAGES,
    ),
    *(
        Case(
            f"grid_sample, {mode}",
            F + f"grid_sample(x, g * 2 - 1, mode='{mode}', align_corners=False)",
            {**IMAGES, "g": uniform(4, 64, 64, 2)},
        )
        for mode in ("bilinear", "nearest")
    ),
    *(
        Case(f"pad by 3, {mode}", F + f"pad(x, (3, 3, 3, 3), mode='{mode}')", IMAGES)
        for mode in ("constant", "reflect", "replicate", "circular")
    ),
    Case("adaptive_avg_pool2d to 7²", F + "adaptive_avg_pool2d(x, 7)", IMAGES),
    Case("adaptive_avg_pool2d to 1²", F + "adaptive_avg_pool2d(x, 1)", IMAGES),
    Case("adaptive_max_pool2d to 7²", F + "adaptive_max_pool2d(x, 7)", IMAGES),
    Case("max_pool2d 3×3, stride 2", F + "max_pool2d(x, 3, 2, 1)", IMAGES),
    Case("avg_pool2d 2×2", F + "avg_pool2d(x, 2)", IMAGES),
    *(
        Case(
            f"embedding_bag, {mode}",
            F + f"embedding_bag(i, w, mode='{mode}')",
            {"i": integers(256, 20, below=5000), "w": normal(5000, 64)},
        )
        for mode in ("sum", "mean", "max")
    ),
    Case(
        "embedding",
        F + "embedding(i, w)",
        {"i": integers(64, 64, below=5000), "w": normal(5000, 128)},
    ),
    *(
        Case(
            f"scatter_{name}, {rows}",
            f"z.scatter_{name}(0, i, x{more})",
            {
                "z": normal(rows, 64),
                "i": integers(4 * rows, 64, below=rows),
                "x": normal(4 * rows, 64),
            },
        )
        for rows in (64, 1024)
        for name, more in (("add", ""), ("reduce", ", reduce='amax'"))
    ),
    Case(
        "index_add of rows",
        "z.index_add(0, i, x)",
        {"z": normal(1000, 64), "i": integers(8000, below=1000), "x": normal(8000, 64)},
    ),
    Case("histc", "lib.histc(x, 100, -3.0, 3.0)", {"x": normal(1 << 18)}),
    Case("bincount", "lib.bincount(i)", {"i": integers(1 << 18, below=1000)}),
    Case("unfold 3×3", F + "unfold(x, 3)", {"x": normal(2, 16, 32, 32)}),
    Case("fold 3×3", F + "fold(x, (32, 32), 3)", {"x": normal(2, 144, 900)}),
]


def cases() -> list[Case]:
    return CASES


def run() -> list[Result]:
    results = measure(CASES)
    return [*results, geometric_mean("resampling: mean of all", results, 1.1)]
