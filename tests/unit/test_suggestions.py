"""What somebody may have meant: names, keywords, attributes."""

import subprocess
import sys

import pytest

import aten
from aten.suggestions import suggestion


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("aten.sofmax", "softmax"),
        ("aten.Tensr", "Tensor"),
        ("aten.float23", "float32"),
        ("aten.linalgg", "linalg"),
        ("aten.finfos", "finfo"),
        ("aten.linalg.svdd", "svd"),
        ("aten.fft.fftt", "fft"),
        ("aten.special.expitt", "expit"),
        ("aten.nn.functional.soft_max", "softmax"),
        ("aten.ops.aten.sofmax", "softmax"),
    ],
)
def test_attributes_of_namespaces(wrong, meant):
    owner, _, name = wrong.rpartition(".")
    with pytest.raises(AttributeError) as error:
        getattr(eval(owner), name)
    assert f"'{name}'; did you mean '{meant}'?" in str(error.value)


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda x: aten.softmax(x, dims=0), "dim"),
        (lambda x: x.softmax(dims=0), "dim"),
        (lambda x: x.sum(0, keep_dim=True), "keepdim"),
        (lambda x: aten.zeros(2, dtyp=aten.int32), "dtype"),
        (lambda x: aten.add(x, x, alph=2), "alpha"),
        (lambda x: aten.linalg.svd(x, full_matrix=True), "full_matrices"),
        (lambda x: aten.ops.aten.softmax.int(x, dims=0), "dim"),
    ],
)
def test_keywords(call, meant):
    with pytest.raises(TypeError, match=rf"did you mean '{meant}'\?"):
        call(aten.ones(2, 2))


def test_attributes_of_tensors():
    """The interpreter suggests these itself when it prints the error."""
    code = "import aten; aten.ones(2).sofmax(0)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Did you mean: 'softmax'?" in run.stderr


def test_nothing_is_near():
    assert suggestion("zzzzzz", ["softmax", "dim"]) == ""
    with pytest.raises(AttributeError, match=r"no attribute 'qqqqqq'$"):
        aten.qqqqqq  # noqa: B018
