"""Composites call operators: nothing else is found, the check can tell, keys above see them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import aten
import aten.nn.functional as F  # noqa: N812
from aten.dispatch import trace_dispatch

ROOT = Path(__file__).parents[2]


def load_tool():
    path = ROOT / "tools/check_composites.py"
    spec = importlib.util.spec_from_file_location("check_composites", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load_tool()

PACKAGE = "aten.backends.cpu.kernels.ordering"
ORDERING = f"{PACKAGE}.ordering"
TABLE = """OPERATORS = {
    'outer': ('', 'composite', 'functional', 'outer', 'aten.ops.a:outer', {}),
    'inner': ('', 'KIND', 'functional', 'inner', 'aten.ops.b:FUNCTION', {}),
}
"""
INNER = "def inner(x):\n    return x\n"


def violations_of(tmp_path, text, kind="explicit", function="inner"):
    for file, content in {
        "ops/a.py": text,
        "ops/b.py": INNER,
        "_generated/table.py": TABLE.replace("KIND", kind).replace("FUNCTION", function),
    }.items():
        path = tmp_path / "src/aten" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tool.violations(tmp_path)


def test_explicit_operators_may_share_functions_and_compute_no_more_than_composites(tmp_path):
    shared = "from aten.ops.b import inner\ndef outer(x):\n    return inner(x)\n"
    compiled = f"from {ORDERING} import sort\ndef outer(x):\n    return sort(x)\n"
    table = TABLE.replace("'composite'", "'explicit'")
    for text, expected in ((shared, []), (compiled, ["3: the explicit outer uses"])):
        violations_of(tmp_path, text)
        (tmp_path / "src/aten/_generated/table.py").write_text(
            table.replace("KIND", "explicit").replace("FUNCTION", "inner")
        )
        found = tool.violations(tmp_path)
        assert [one.partition(":")[2].partition(f" {ORDERING}")[0] for one in found] == expected


def test_every_composite_of_the_package_calls_operators():
    assert tool.violations(ROOT) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "from aten.ops.b import inner\ndef outer(x):\n    return inner(x)\n",
            "3: the composite outer calls the function inner in place of the operator",
        ),
        (
            "from aten.ops import b\ndef outer(x):\n    return b.inner(x)\n",
            "3: the composite outer calls the function inner in place of the operator",
        ),
        (
            (
                "from aten.ops.b import inner\ndef _help(x):\n    return [inner(y) for y in x]\n"
                "def outer(x):\n    return _help(x)\n"
            ),
            "3: the composite outer calls the function inner in place of the operator",
        ),
        (
            f"from {ORDERING} import choose\ndef outer(x):\n    choose(x)\n",
            f"3: the composite outer uses {ORDERING}:choose, behind the dispatcher",
        ),
        (
            f"from {PACKAGE} import ordering\ndef outer(x):\n    ordering.choose(x)\n",
            f"3: the composite outer uses {ORDERING}:choose, behind the dispatcher",
        ),
        (
            "from aten._core.views import views\ndef outer(x):\n    views.view_of(x)\n",
            "3: the composite outer uses aten._core.views.views:view_of, behind the dispatcher",
        ),
        (
            "def outer(x):\n    import numpy\n    return 1\n",
            "2: the composite outer computes with NumPy",
        ),
    ],
)
def test_what_is_behind_the_dispatcher_is_named(tmp_path, text, expected):
    assert violations_of(tmp_path, text) == [f"src/aten/ops/a.py:{expected}"]


def test_a_composite_that_calls_functions_of_composites_is_named(tmp_path):
    text = "from aten.ops.b import inner\ndef outer(x):\n    return inner(x)\n"
    assert len(violations_of(tmp_path, text, kind="composite")) == 1


def test_a_kernel_under_the_name_of_a_composite_is_named(tmp_path):
    table = TABLE.replace("KIND", "explicit").replace("aten.ops.b:FUNCTION", "aten.ops.a:outer")
    violations_of(tmp_path, "def outer(x):\n    return x\n")
    (tmp_path / "src/aten/_generated/table.py").write_text(table)
    assert len(tool.violations(tmp_path)) == 1


def test_operators_locals_and_descriptions_are_no_violation(tmp_path):
    text = (
        "from aten._core.base.dtypes import dtype\nfrom aten.registry import ops\n"
        "from aten.ops.b import inner\n"
        "def outer(x, inner=1):\n    return ops.aten.inner(x, dtype, inner)\n"
    )
    assert violations_of(tmp_path, text) == []


X = aten.rand(2, 4, 6, 6)
MATRIX = aten.rand(4, 4) + 4 * aten.eye(4)
CLASSES = aten.tensor([0, 1])
INNER_OF = {
    "argsort": ("sort", lambda: X.argsort()),
    "argsort.stable": ("sort.stable", lambda: aten.argsort(X, stable=True)),
    "chunk": ("slice.Tensor", lambda: X.chunk(2)),
    "concat": ("cat", lambda: aten.ops.aten.concat([X, X.double()])),
    "cross": ("linalg_cross", lambda: aten.cross(aten.rand(3), aten.rand(3))),
    "cross_entropy_loss": ("nll_loss_forward", lambda: F.cross_entropy(X[0, :2, 0], CLASSES)),
    "det": ("_linalg_det", lambda: MATRIX.det()),
    "diag": ("diag_embed", lambda: aten.diag(X[0, 0, 0])),
    "dropout": ("bernoulli_.float", lambda: F.dropout(X, 0.5, True)),
    "group_norm": ("native_group_norm", lambda: F.group_norm(X, 2)),
    "instance_norm": ("native_batch_norm", lambda: F.instance_norm(X)),
    "linalg_cholesky": ("linalg_cholesky_ex", lambda: aten.linalg.cholesky(MATRIX @ MATRIX.T)),
    "linalg_eigvals": ("_linalg_eigvals", lambda: aten.linalg.eigvals(MATRIX)),
    "linalg_inv": ("linalg_inv_ex", lambda: MATRIX.inverse()),
    "linalg_lu_factor": ("linalg_lu_factor_ex", lambda: aten.linalg.lu_factor(MATRIX)),
    "lcm": ("gcd", lambda: aten.lcm(CLASSES, CLASSES)),
    "matrix_exp": ("linalg_matrix_exp", lambda: MATRIX.matrix_exp()),
    "msort": ("sort", lambda: X.msort()),
    "nll_loss_nd": ("nll_loss2d_forward", lambda: F.nll_loss(X[:, :, :, 0], X[:, 0, :, 0].long())),
    "pad": ("cat", lambda: F.pad(X, (1, 1, 1, 1), mode="circular")),
    "real": ("view_as_real", lambda: aten.real(X.to(aten.complex64))),
    "rrelu": ("rrelu_with_noise", lambda: F.rrelu(X)),
    "stft": ("stft.center", lambda: aten.ops.aten.stft(X[0, 0, 0], 4, return_complex=True)),
}


@pytest.mark.parametrize("name", INNER_OF)
def test_the_inner_operator_is_seen(name):
    inner, call = INNER_OF[name]
    lines: list[str] = []
    with trace_dispatch(lines):
        call()
    assert any(f"aten::{inner} " in line for line in lines), lines
