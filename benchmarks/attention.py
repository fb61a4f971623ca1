"""scaled_dot_product_attention: short and long, causal, masked, grouped heads, one row against many
keys, half types, and back."""

from __future__ import annotations

from operands import booleans, normal
from processor_peak import operations_per_second
from timing import Case, Result, geometric_mean, measure

HEADS, WIDTH = 8, 64
# Rows and keys of the long ones.
LONG = 2048
CALL = "lib.nn.functional.scaled_dot_product_attention(q, k, v{options})"


def _attention(
    rows: int,
    keys: int,
    *,
    heads: int = HEADS,
    of_keys: int = HEADS,
    batch: int = 1,
    width: int = WIDTH,
    dtype: str = "float32",
    options: str = "",
    mask: str = "",
    back: bool = False,
) -> Case:
    operands = {
        "q": normal(batch, heads, rows, width, dtype=dtype),
        "k": normal(batch, of_keys, keys, width, dtype=dtype),
        "v": normal(batch, of_keys, keys, width, dtype=dtype),
    }
    if mask == "bool":
        operands["m"] = booleans(1, 1, rows, keys)
    elif mask:
        operands["m"] = normal(1, heads, rows, keys, dtype=dtype)
    if mask:
        options += ", attn_mask=m"
    statement, setup = CALL.format(options=options), ""
    if back:
        setup = "q.requires_grad_(), k.requires_grad_(), v.requires_grad_()"
        statement = f"lib.autograd.grad({statement}.sum(), (q, k, v))"
    grouped = f" of {of_keys}" if of_keys != heads else ""
    words = [f"{batch}×{heads}{grouped}×{rows}×{width} to {keys}", dtype]
    words += [options.replace(", attn_mask=m", f", {mask} mask").strip(", ")] if options else []
    group = "backward" if back else "decoding" if rows == 1 else "attention"
    name = f"{'backward' if back else 'attention'}: {', '.join(words)}"
    return Case(name, statement, operands, setup, least_ratio=None, recorded=back, group=group)


def cases() -> list[Case]:
    made = []
    for dtype in ("float32", "bfloat16"):
        made += [_attention(rows, rows, dtype=dtype) for rows in (128, 512, 1024, LONG)]
        causal = ", is_causal=True"
        made += [_attention(rows, rows, dtype=dtype, options=causal) for rows in (128, 512, LONG)]
        made.append(_attention(512, 512, dtype=dtype, mask="bool"))
        made.append(_attention(512, 512, dtype=dtype, mask="added"))
        grouped = ", enable_gqa=True"
        made.append(_attention(512, 512, heads=32, of_keys=8, dtype=dtype, options=grouped))
        made.append(_attention(1, 4096, dtype=dtype))
        made.append(_attention(1, 4096, heads=32, of_keys=8, dtype=dtype, options=grouped))
        made.append(_attention(1, 1024, batch=8, dtype=dtype))
    made.append(_attention(197, 197, heads=12, of_keys=12))
    made.append(_attention(1500, 1500, heads=6, of_keys=6))
    made.append(_attention(49, 49, batch=64, heads=3, of_keys=3, width=32))
    made.append(_attention(512, 512, back=True))
    made.append(_attention(512, 512, back=True, options=", is_causal=True"))
    return made


def _at_peak(results: list[Result]) -> list[Result]:
    """How long the products of long float32 attention take at the processor's measured peak, beside
    torch: what no kernel undercuts, exponentials left out."""
    import aten

    peak = operations_per_second(aten.get_num_threads())
    pairs = {"": LONG * LONG, ", is_causal=True": LONG * (LONG + 1) // 2}
    found = []
    for options, count in pairs.items():
        name = _attention(LONG, LONG, options=options).name
        (result,) = (one for one in results if one.name == name)
        row = Result(f"{name}: its products at the peak", "µs", headline=False)
        row.aten, row.torch = 1e6 * 4 * HEADS * WIDTH * count / peak, result.torch
        row.ratio = row.torch / row.aten if row.torch else None
        found.append(row)
    return found


def run() -> list[Result]:
    results = measure(cases())
    means = []
    for group, target in (("attention", 1.5), ("decoding", 1.5), ("backward", 1.2)):
        of_group = [result for result in results if result.group == group]
        means.append(
            geometric_mean(f"attention: mean of {len(of_group)}, {group}", of_group, target)
        )
    return [*results, *means, *_at_peak(results)]
