"""Every public name of torch that tensors are about: here, planned, or never, and why.

    python tools/torch_names.py            # how many of them are here; 1 where a name has no place
    python tools/torch_names.py --write    # docs/torch-names.md

What is here is looked for in the package. What is not must be in a family of
`src/aten/names/absent_names.py`, and only there.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import aten
from aten.names.absent_names import FAMILIES, Family, family_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "torch-names.md"
SPACES = {
    "torch": "aten",
    "Tensor": "aten.Tensor",
    "nn.functional": "aten.nn.functional",
    "linalg": "aten.linalg",
    "fft": "aten.fft",
    "special": "aten.special",
    "profiler": "aten.profiler",
}
# Of the names that mean something for dense tensors on a CPU, so many are to be here.
LEAST_SHARE = 0.95
_MODULES = next(one for one in FAMILIES if one.reason.startswith("a module of Python"))

_INTRODUCTION = """\
# torch's names

Made by `python tools/torch_names.py --write`, never edited. Every public name of torch {version} in
the namespaces that tensors are about: here, planned (another part of the project builds it), or
never, and why. What is here was found by looking; the reasons: `src/aten/names/absent_names.py`.
Asking for a name that is not here raises an error that says the same.

**{summary}.** The others are about sparse, quantized and nested tensors, gradients, compilers,
other devices, or how torch works inside.

| namespace | names | here | planned | never |
|---|---|---|---|---|"""


@dataclass
class Space:
    """The public names of one of torch's namespaces, by what became of them."""

    name: str
    here: list[str] = field(default_factory=list)
    absent: dict[Family, list[str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[str]:
        """Names that would mean something for dense tensors on a CPU."""
        return [name for family, names in self.absent.items() if family.dense for name in names]


def _object(package: ModuleType, space: str) -> Any:
    if space == "torch":
        return package
    if space == "Tensor":
        return package.Tensor
    return importlib.import_module(f"{package.__name__}.{space}")


@cache
def _names(space: str) -> list[str]:
    """What torch shows in a fresh process: which of its modules, depends on what was run."""
    if space != "torch":
        return [name for name in dir(_object(torch, space)) if not name.startswith("_")]
    code = "import torch; print(*(name for name in dir(torch) if name[0] != '_'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def look(space: str) -> Space:
    """What became of the names of `space`."""
    ours = _object(aten, space)
    found = Space(space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(_names(space)):
            family = family_of(space, name)
            if family is _MODULES:
                found.absent.setdefault(family, []).append(name)
            elif hasattr(ours, name):
                found.here.append(name)
            elif family is None:
                found.unknown.append(name)
            else:
                found.absent.setdefault(family, []).append(name)
    return found


def problems(spaces: list[Space]) -> Iterator[str]:
    """Names without a place, and names in families that are here or nowhere."""
    for space in spaces:
        for name in space.unknown:
            yield f"{space.name}.{name} is neither here nor in a family of absent_names.py"
        absent = {name for names in space.absent.values() for name in names}
        for family in FAMILIES:
            for name in family.names.get(space.name, ()):
                plain = name.removesuffix("*")
                if name in space.here:
                    yield f"{space.name}.{name} is here, and in a family ({family.reason})"
                # What torch gave up itself, and what it shows once asked, is refused, too.
                elif not any(
                    one == name or (plain != name and one.startswith(plain)) for one in absent
                ) and not (
                    family.reason.startswith("dimensions have no names")
                    or hasattr(_object(torch, space.name), name)
                ):
                    yield f"torch has no {space.name}.{name} any more"


def share(spaces: list[Space]) -> float:
    """Of the names that mean something for dense tensors on a CPU, how many are here."""
    here = sum(len(space.here) for space in spaces)
    return here / (here + sum(len(space.missing) + len(space.unknown) for space in spaces))


def summary(spaces: list[Space]) -> str:
    """The figure, as a sentence."""
    here = sum(len(space.here) for space in spaces)
    missing = sum(len(space.missing) + len(space.unknown) for space in spaces)
    return (
        f"{here} of the {here + missing} names that mean something for dense tensors on a CPU are "
        f"here: {100 * share(spaces):.1f} %"
    )


def page(spaces: list[Space]) -> str:
    """The whole page."""
    version = torch.__version__.partition("+")[0]
    lines = [_INTRODUCTION.format(version=version, summary=summary(spaces))]
    for space in spaces:
        counts = [
            sum(len(names) for family, names in space.absent.items() if family.fate == fate)
            for fate in ("planned", "never")
        ]
        total = len(space.here) + sum(counts) + len(space.unknown)
        lines.append(
            f"| `{_title(space.name)}` | {total} | {len(space.here)} | {counts[0]} | {counts[1]} |"
        )
    for space in spaces:
        lines += ["", f"## {_title(space.name)}", "", "| | why | names |", "|---|---|---|"]
        lines.append(f"| here | | {_listed(space.here)} |")
        for family in FAMILIES:
            names = space.absent.get(family)
            if names:
                lines.append(f"| {family.fate} | {family.reason} | {_listed(names)} |")
    return "\n".join(lines) + "\n"


def _title(space: str) -> str:
    return space if space == "torch" else f"torch.{space}"


def _listed(names: list[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write docs/torch-names.md")
    options = parser.parse_args()
    spaces = [look(space) for space in SPACES]
    found = list(problems(spaces))
    print("\n".join(found))
    for space in spaces:
        print(
            f"{_title(space.name):22} {len(space.here):4} here, missing: {' '.join(space.missing)}"
        )
    print(summary(spaces))
    if options.write:
        PAGE.write_text(page(spaces))
    return 1 if found or share(spaces) < LEAST_SHARE else 0


if __name__ == "__main__":
    sys.exit(main())
