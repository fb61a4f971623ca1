"""The floors of the house: the package keeps them, and the check can tell."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load_tool():
    spec = importlib.util.spec_from_file_location("check_floors", ROOT / "tools/check_floors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load_tool()


def violations_of(tmp_path, file, text):
    path = tmp_path / "src/aten" / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return tool.violations(tmp_path)


def test_every_import_of_the_package_goes_down():
    assert tool.violations(ROOT) == []


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (
            "prims/a.py",
            "import os\nfrom aten.loops.spec import verify\n",
            "src/aten/prims/a.py:2: aten.prims.a (floor 2) imports aten.loops.spec (floor 3)",
        ),
        (
            "_core/a.py",
            "def f():\n    from aten import registry\n",
            "src/aten/_core/a.py:2: aten._core.a (floor 1) imports aten.registry (floor 2)",
        ),
        (
            "_core/a.pyx",
            "from libc.math cimport exp\ncdef f():\n    import aten.ops\n",
            "src/aten/_core/a.pyx:3: aten._core.a (floor 1) imports aten.ops (floor 3)",
        ),
        (
            "_core/a.pxd",
            "from aten.ops.sum cimport Fold\n",
            "src/aten/_core/a.pxd:1: aten._core.a (floor 1) imports aten.ops.sum (floor 3)",
        ),
        (
            "_core/memory/a.pyx",
            "from aten._core.tensor cimport making\nfrom aten._core.base.keys cimport bit\n",
            (
                "src/aten/_core/memory/a.pyx:1: aten._core.memory.a (floor 1) imports "
                "aten._core.tensor (floor 1)"
            ),
        ),
        (
            "backends/cpu/kernels/matrix/a.pyx",
            "from aten.backends.products cimport install_extern\n",
            (
                "src/aten/backends/cpu/kernels/matrix/a.pyx:1: aten.backends.cpu.kernels.matrix.a "
                "(floor 1) imports aten.backends.products (floor 4)"
            ),
        ),
        (
            "loops/a.py",
            "from aten.ops import op\n",
            "src/aten/loops/a.py:1: aten.loops.a (floor 3) imports aten.ops (floor 3)",
        ),
        (
            "graph/a.py",
            "import aten\n",
            "src/aten/graph/a.py:1: aten.graph.a (floor 5) imports aten (floor 7)",
        ),
        (
            "cli/a.py",
            "def f():\n    import torch.nn\n",
            "src/aten/cli/a.py:2: aten.cli.a imports torch.nn; the package never does",
        ),
        (
            "novel/a.py",
            "import aten.config\n",
            "src/aten/novel/a.py:1: aten.novel.a has no floor in tools/check_floors.py",
        ),
    ],
)
def test_what_goes_up_is_named(tmp_path, file, text, expected):
    assert violations_of(tmp_path, file, text) == [expected]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("ops/a.py", "from aten.loops.spec import verify\nfrom aten.ops.b import c\n"),
        (
            "_core/a.py",
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from aten.ops import op\n",
        ),
        ("cli/a.py", "import aten\nfrom aten import registry\n"),
    ],
)
def test_what_goes_down_or_never_runs_is_allowed(tmp_path, file, text):
    assert violations_of(tmp_path, file, text) == []
