"""Which of torch's overloads have no row in the registry, and why: a part of docs/conformance.md.

    python tools/missing_overloads.py [--write | --check]

`FAMILIES` tells the reasons; an overload belongs to the first family whose pattern is found in its
name. What none is found in is simply not there yet, and is listed by name.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

from aten._generated.table import OPERATORS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "conformance.md"
FACTS = ROOT / "tests" / "data" / "native_functions_schemas.json"
HEADING = "## Overloads without a row"
REST = "not there yet"
# Family, why, and what its members' schemas have in them.
FAMILIES = (
    (
        "other devices' kernels",
        "torch has no kernel of them for the CPU",
        (
            r"cudnn|cufft|cuda_|miopen|mkldnn|mps|vulkan|xla|nnpack|triton|_philox|depthwise"
            r"|efficient_attention|flash_attention|fused_attention_over|overrideable|record_stream"
            r"|_fused_dropout|_fill_mem_eff|_thnn_|_mixed_dtypes|^batch_norm_|_copy_from"
            r"|_(scaled_)?grouped_mm|_masked_scale|_lu_with_info|fused_sdp_choice|max_pool2d_backward"
        ),
    ),
    (
        "nested tensors",
        "no tensors of unequal rows",
        r"nested|jagged|padded_tensor|(linear|matmul)_backward",
    ),
    (
        "sparse tensors",
        "no layouts but strided",
        (
            r"sparse|_coo\b|_csr|_csc|_bsr|_bsc|crow_|ccol_|col_indices|row_indices|^_?indices|^_?values"
            r"|coalesce|_dim[IV]|_nnz|dense_dim|hspmm|^smm|sspaddmm|_spdiags|_spsolve|_cslt|to_dense"
            r"|native_norm|_histogramdd"
        ),
    ),
    (
        "quantized engines",
        "no quantized types; weights packed as one engine wants them",
        (
            r"quantize|qparams|^q_|qscheme|int_repr|fbgemm|moving_avg_obs|int4pack|int8pack|dyn_quant"
            r"|saturate_weight|wrapped_linear|affine_quantized|rowwise_prune"
        ),
    ),
    (
        "derivatives recorded",
        "no autograd yet: forward mode, batching, autocast, what leaves keep",
        (
            r"_fw_primal|dual|batch_dim|^_backward|requires_grad_|^retain|gradients|_autocast"
            r"|same_feature|shallow_copy|zerotensor|set_data|same_storage_numel"
        ),
    ),
    ("sizes as symbols", "no tracing yet", r"sym_constrain|dep_token|_pad_enum|_print"),
    ("torch's own tests", "nothing that a program calls", r"_test_|_foobar"),
)


def missing() -> list[str]:
    """The schemas that have no row, in torch's order."""
    schemas = [fact["schema"].removeprefix("aten::") for fact in json.loads(FACTS.read_text())]
    return [schema for schema in schemas if schema.partition("(")[0] not in OPERATORS]


def family_of(schema: str) -> str:
    """The first family that the overload is in, or `REST`."""
    name = schema.partition("(")[0]
    for family, _, pattern in FAMILIES:
        if re.search(pattern, name):
            return family
    return REST


def section() -> list[str]:
    """The part of the page."""
    groups: dict[str, list[str]] = defaultdict(list)
    for schema in missing():
        groups[family_of(schema)].append(schema.partition("(")[0])
    total = len(json.loads(FACTS.read_text()))
    rest = sorted({name.partition(".")[0] for name in groups[REST]})
    lines = [
        HEADING,
        "",
        (
            f"{len(OPERATORS)} of torch's {total} overloads are here. The others, by "
            "`python tools/missing_overloads.py --write`:"
        ),
        "",
        "| family | overloads | why |",
        "|---|---|---|",
    ]
    lines += [f"| {family} | {len(groups[family])} | {why} |" for family, why, _ in FAMILIES]
    lines.append(f"| {REST} | {len(groups[REST])} | {', '.join(f'`{name}`' for name in rest)} |")
    return lines


def page_with_section(page: str) -> str:
    """The page with this part as it is now, at the end."""
    before = page.partition(HEADING)[0].rstrip("\n")
    return "\n".join([before, "", *section(), ""])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the part into the page")
    parser.add_argument("--check", action="store_true", help="fail where the page is stale")
    options = parser.parse_args(arguments)
    written = page_with_section(PAGE.read_text())
    if options.write:
        PAGE.write_text(written)
    elif options.check:
        if PAGE.read_text() != written:
            print(f"{PAGE} is stale: run python tools/missing_overloads.py --write")
            return 1
    else:
        print("\n".join(section()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
