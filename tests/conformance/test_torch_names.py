"""The page of torch's names is what looking finds, and every name has a place."""

import runpy
from pathlib import Path

import pytest

import aten
from aten.names.absent_names import FAMILIES, names_in, reason_for

tool = runpy.run_path(str(Path(__file__).parents[2] / "tools/torch_names.py"))


@pytest.fixture(scope="module")
def spaces():
    return [tool["look"](space) for space in tool["SPACES"]]


def test_every_name_has_one_place(spaces):
    assert list(tool["problems"](spaces)) == []


def test_most_of_what_means_something_is_here(spaces):
    assert tool["share"](spaces) >= tool["LEAST_SHARE"], tool["summary"](spaces)


def test_the_page_is_up_to_date(spaces):
    how = "python tools/torch_names.py --write makes it"
    assert tool["PAGE"].read_text() == tool["page"](spaces), how


def refused():
    """Namespace, name and reason of what is written out in the families."""
    for space in ("torch", "Tensor", "nn.functional", "linalg", "fft", "special", "nn"):
        for name in names_in(space):
            yield space, name, reason_for(space, name)


@pytest.mark.parametrize("space", ["torch", "Tensor", "nn.functional", "nn"])
def test_what_is_not_here_is_refused_with_its_reason(space):
    place = {"torch": aten, "Tensor": aten.ones(2)}.get(space)
    if place is None:
        place = aten.nn.functional if space == "nn.functional" else aten.nn
    for where, name, reason in refused():
        if where != space or hasattr(place, name):
            continue
        with pytest.raises(AttributeError, match="attribute") as error:
            getattr(place, name)
        assert reason in str(error.value)
        assert "\n" not in str(error.value)


def test_imports_say_why_too():
    for line, reason in (
        ("from aten import fx", "compiling"),
        ("from aten.nn import DataParallel", "layer"),
        ("from aten.nn.functional import scaled_mm", "8-bit"),
        ("from aten.utils import tensorboard", "training"),
        ("from aten.jit import fork", "compiling"),
    ):
        with pytest.raises(ImportError) as error:
            exec(line, {})
        assert reason in str(error.value), line


def test_unknown_names_stay_ordinary_errors():
    with pytest.raises(AttributeError, match=r"^module 'aten' has no attribute 'no_such_name'$"):
        print(aten.no_such_name)
    with pytest.raises(ImportError, match="cannot import name 'no_such_name'"):
        exec("from aten import no_such_name", {})
    assert not hasattr(aten.Tensor, "coalesce")
    assert {family.fate for family in FAMILIES} == {"planned", "never"}
