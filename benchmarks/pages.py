"""What is written of the kept numbers: README.md's table, docs/performance.md and its plot."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from timing import LEAST_RATIO, PASSES, ROUNDS_PER_PASS, Result, number

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "performance.md"
PLOT = ROOT / "docs" / "performance.svg"
RESULTS = Path(__file__).parent / "results"
_MARKS = ("<!-- table -->\n", "<!-- /table -->\n")

_INTRODUCTION = f"""# Performance

Every case runs with torch 2.13 and with aten in turn, {PASSES * ROUNDS_PER_PASS} times each in
{PASSES} passes over all cases, each library in a process of its own and the idle one stopped; a
ratio is the median of the paired ratios, torch's time over ours. Both use all processors that the
process may use. NumPy's time stands beside them where it has the operation. No case of the suite
may be slower than {LEAST_RATIO:g}×; stricter bounds stand in the tables.

`python benchmarks/run.py` measures all of it, `python benchmarks/run.py GROUP --only TEXT` some,
and `--write` makes this page from the kept numbers (`benchmarks/results/`).

![Ratios of all cases, by group](performance.svg)
"""


def folder_of(processor: str) -> str:
    """What a processor's folder of results is called: `intel_xeon` for `Intel(R) Xeon(R) CPU`."""
    words = re.sub(r"\((r|tm)\)|@.*", " ", processor.lower())
    known = [word for word in re.findall(r"[a-z0-9]+", words) if word not in ("processor", "cpu")]
    return "_".join(known) or "unnamed"


def path_of(name: str, processor: str) -> Path:
    """Where a group's numbers are kept: those of the processor that came first in the folder of
    results, those of others in folders of their own."""
    first, _ = kept(name)
    if first.get("processor", processor) == processor:
        return RESULTS / f"{name}.json"
    return RESULTS / folder_of(processor) / f"{name}.json"


def kept(name: str, folder: Path | None = None) -> tuple[dict[str, Any], list[Result]]:
    """The machine and the numbers of a group; nothing where it was never measured."""
    path = (folder or RESULTS) / f"{name}.json"
    if not path.exists():
        return {}, []
    content = json.loads(path.read_text())
    results = []
    for values in content["results"]:
        values.pop("met")
        results.append(Result(**values))
    return content["machine"], results


def _row(result: Result) -> list[str]:
    unit = f" {result.unit}" if result.unit else ""
    times = ["–" if time is None else number(time) + unit for time in (result.torch, result.aten)]
    if result.problem:
        times[1] = "not yet"
    ratio = "–" if result.ratio is None else f"{number(result.ratio)}×"
    target = result.target if result.met or not result.target else f"{result.target}, missed"
    return [result.name, *times, ratio, target]


def readme_table(groups: Sequence[str]) -> str:
    """The headlines that have a bound, as a Markdown table."""
    lines = ["| | torch 2.13 | aten | torch ÷ aten | promised |", "|---|---|---|---|---|"]
    for group in groups:
        for result in kept(group)[1]:
            if result.target and result.headline:
                lines.append(f"| {' | '.join(_row(result))} |")
    return "\n".join(lines) + "\n"


def performance_page(groups: Sequence[str]) -> str:
    """docs/performance.md."""
    parts = [_INTRODUCTION]
    for group in groups:
        machine, results = kept(group)
        if not results:
            continue
        ratios = [result.ratio for result in results if result.ratio is not None]
        parts.append(f"## {group}\n")
        parts.append(
            f"{machine['processor']}, {machine['processors']} processors, Python "
            f"{machine['python']}, load {machine['load']:g} at the end."
            + (f" Median ratio {number(statistics.median(ratios))}×." if ratios else "")
            + "\n"
        )
        parts.append("| | torch | aten | ratio | bound | NumPy |\n|---|---|---|---|---|---|")
        for result in results:
            alone = "–" if result.numpy is None else f"{number(result.numpy)} {result.unit}"
            parts.append(f"| {' | '.join([*_row(result), alone])} |")
        parts.append("")
    for folder in sorted(one for one in RESULTS.iterdir() if one.is_dir()):
        parts += _other_processor(folder, groups)
    return "\n".join(parts)


def _other_processor(folder: Path, groups: Sequence[str]) -> list[str]:
    """What was measured on another processor, in means; of models all."""
    rows, machine = [], {}
    for group in groups:
        found, results = kept(group, folder)
        machine = found or machine
        rows += [
            f"| {' | '.join(_row(result))} |"
            for result in results
            if result.ratio is not None and (result.torch is None or group == "models")
        ]
    if not rows:
        return []
    return [
        f"## {machine['processor']}\n",
        f"Another processor, of {machine['processors']} cores: means of groups, and all models.\n",
        "| | torch | aten | ratio | bound |\n|---|---|---|---|---|",
        *rows,
        "",
    ]


def draw(groups: Sequence[str]) -> None:
    """The plot: one dot for each case, by group, on a logarithmic axis."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "aten"
    from matplotlib import pyplot

    rows = [
        (group, [result.ratio for result in kept(group)[1] if result.ratio and result.torch])
        for group in groups
    ]
    rows = [(group, ratios) for group, ratios in rows if len(ratios) > 2]
    figure, axes = pyplot.subplots(figsize=(8, 0.6 * len(rows) + 1.2), layout="constrained")
    for place, (_, ratios) in enumerate(reversed(rows)):
        # Spread by rank, so that dots of equal ratios do not hide each other.
        spread = [place - 0.3 + 0.6 * (rank * 7 % 11) / 10 for rank in range(len(ratios))]
        axes.scatter(sorted(ratios), spread, s=9, alpha=0.6, linewidths=0)
        axes.plot([statistics.geometric_mean(ratios)] * 2, [place - 0.38, place + 0.38], "k-")
    axes.axvline(1, color="gray", linewidth=0.8)
    axes.set_xscale("log")
    ticks = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100]
    axes.set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
    axes.set_yticks(range(len(rows)), [f"{group} ({len(r)})" for group, r in reversed(rows)])
    axes.set_xlabel("torch's time ÷ aten's; a bar marks a group's geometric mean")
    figure.savefig(PLOT, metadata={"Date": None})


def write(groups: Sequence[str]) -> None:
    """Write the README's table, the page and the plot."""
    before, _, rest = README.read_text().partition(_MARKS[0])
    after = rest.partition(_MARKS[1])[2]
    README.write_text(f"{before}{_MARKS[0]}{readme_table(groups)}{_MARKS[1]}{after}")
    PAGE.write_text(performance_page(groups))
    draw(groups)
