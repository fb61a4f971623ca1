"""Operators over lists against torch: every overload, types, layouts, and what is refused."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from comparison import assert_same, from_torch, torch, translated

import aten
from aten._generated.table import OPERATORS
from aten.dispatch import trace_dispatch

FACTS = json.loads((Path(__file__).parents[1] / "data/native_functions_schemas.json").read_text())
LISTED = sorted(
    one["schema"].partition("(")[0].removeprefix("aten::")
    for one in FACTS
    if one["schema"].startswith("aten::_foreach_")
)
TOLERANCE = {"float32": 3e-6, "float64": 1e-12, "bfloat16": 2e-2, "complex64": 2e-5}
TYPES = ["float32", "float64", "bfloat16", "complex64", "int64", "bool"]


def layouts(element: str, seed: int) -> list:
    """Tensors of the same sizes for the same element type, whatever the seed."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.rand(4, 3, generator=generator) * 0.8 + 0.1
    if element == "int64":
        numbers = (numbers * 10).round()
    if element == "bool":
        numbers = numbers > 0.5
    numbers = numbers.to(getattr(torch, element))
    return [numbers, numbers.t(), numbers[::2, 1:], numbers[0, 0], numbers[:1].expand(2, 3)]


def arguments_of(name: str, element: str, *, changed: bool) -> tuple[list, dict]:
    """Arguments that torch's schema of the operator asks for."""
    schema = torch._C._get_schema(f"aten::{name.partition('.')[0]}", name.partition(".")[2])
    tensors = 0
    places, keywords = [], {}
    for argument in schema.arguments:
        kind = str(argument.type)
        if argument.is_out:
            continue
        value = {
            "List[Tensor]": lambda: layouts(element, tensors),
            "Tensor": lambda: torch.tensor(0.5),
            "number": lambda: 2,
            "List[number]": lambda: [1, 0.25, 2, 3, 2.5],
        }.get(kind, lambda: None)()
        if kind == "Tensor" and argument.name == "scalars":
            value = torch.tensor([1.0, 2.0, 0.5, 3.0, 4.0])
        if kind == "List[Tensor]":
            tensors += 1
        if tensors == 1 and changed and kind == "List[Tensor]":
            value = [one.clone() for one in value]
        if name.startswith("_foreach_mm"):
            wide = [one for one in layouts(element, tensors) if one.dim() == 2]
            value = wide if argument.name == "self" else [one.t() for one in wide]
        if value is None:
            continue
        if argument.kwarg_only:
            keywords[argument.name] = value
        else:
            places.append(value)
    return places, keywords


def outcome(library, name: str, places: list, keywords: dict):
    packet, _, overload = name.partition(".")
    function = getattr(getattr(library.ops.aten, packet), overload or "default")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*places, **keywords), None
        except Exception as error:
            return None, error


def compare(name: str, element: str, places: list, keywords: dict) -> bool:
    """Runs the operator on both; whether torch has it for these arguments."""
    given = translated(places)
    named = {key: translated(value) for key, value in keywords.items()}
    if "out" in named:
        named["out"] = [aten.empty(0, dtype=one.dtype) for one in named["out"]]
    results, error = outcome(aten, name, given, named)
    theirs, their_error = outcome(torch, name, places, keywords)
    if their_error is not None:
        assert isinstance(error, type(their_error)), (error, their_error)
        return False
    assert error is None, error
    limits: dict = {
        "tolerance": TOLERANCE.get(element, 2e-6),
        "absolute": TOLERANCE.get(element, 2e-6),
    }
    # pow with a number to the power of a tensor has results in memory order, torch's in row order.
    limits["strides"] = "ScalarAndTensor" not in name
    changed = (given[0], places[0]), (named.get("out"), keywords.get("out"))
    for our, their in (*changed, (results, theirs)):
        if isinstance(their, list):
            assert_same(tuple(our), tuple(their), **limits)
    return True


def test_every_one_of_torch_is_here():
    assert [name for name in LISTED if name not in OPERATORS] == []


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("name", LISTED)
def test_elements(name, element):
    base, _, overload = name.partition(".")
    places, keywords = arguments_of(name, element, changed=base.endswith("_"))
    if overload.endswith("out"):
        functional = base + ("." + overload.removesuffix("_out") if overload != "out" else "")
        made, error = outcome(torch, functional, places, keywords)
        if error is not None:
            made = [torch.empty(0)] * 5
        keywords["out"] = [torch.empty(0, dtype=one.dtype) for one in made]
    served = compare(name, element, places, keywords)
    assert served or element != "float32"


@pytest.mark.parametrize(
    "name",
    # torch takes empty lists for the functional form of copy_ alone.
    [name for name in LISTED if not name.endswith("out") and name != "_foreach_copy"],
)
def test_lists_that_do_not_fit(name):
    places, keywords = arguments_of(name, "float32", changed=True)
    lists = [place for place, one in enumerate(places) if isinstance(one, list)]
    empty = [[] if place in lists else one for place, one in enumerate(places)]
    assert not compare(name, "float32", empty, keywords)
    for shorter in lists if len(lists) > 1 else ():
        unequal = [one[:-1] if place == shorter else one for place, one in enumerate(places)]
        assert not compare(name, "float32", unequal, keywords)


@pytest.mark.parametrize(
    "name", ["_foreach_add.Tensor", "_foreach_mul.Tensor", "_foreach_div_.Tensor"]
)
def test_a_tensor_for_all_has_no_dimensions(name):
    for other in (torch.ones(1), torch.ones(2), torch.ones(1, 1)):
        assert not compare(name, "float32", [[torch.ones(2)], other], {})


@pytest.mark.parametrize("name", ["_foreach_addcmul.Tensor", "_foreach_addcdiv_.Tensor"])
def test_numbers_in_a_tensor(name):
    for numbers in (torch.ones(1, 2), torch.ones(3), torch.ones(4)[::2], torch.tensor(1.0)):
        lists = [[torch.ones(2), torch.ones(3)] for _ in range(3)]
        assert not compare(name, "float32", [*lists, numbers], {})
    lists = [[torch.ones(2), torch.ones(3)] for _ in range(3)]
    assert compare(name, "float32", [*lists, torch.tensor([2, 3])], {})


def test_types_of_results():
    whole, real = torch.arange(3), torch.ones(3)
    for name, other in (
        ("_foreach_add.Scalar", 1.5),
        ("_foreach_add_.Scalar", 1.5),
        ("_foreach_div_.Scalar", 2),
        ("_foreach_add.List", [real, real]),
        ("_foreach_add_.List", [real, real]),
        ("_foreach_pow.ScalarList", [2.5, 2]),
        ("_foreach_maximum.Scalar", 1.5),
        ("_foreach_mul.ScalarList", [2j, True]),
    ):
        compare(name, "float32", [[whole.clone(), real.clone()], other], {})


def test_sizes_of_results():
    tensors = [torch.ones(2, 1), torch.ones(3)]
    assert compare("_foreach_add.List", "float32", [tensors, [torch.ones(3), torch.ones(())]], {})
    assert not compare("_foreach_add_.List", "float32", [tensors, [torch.ones(3)] * 2], {})
    assert not compare("_foreach_copy_", "float32", [tensors, [torch.ones(3)] * 2], {})


def test_written_where_told():
    one, other = from_torch(torch.ones(2)), from_torch(torch.zeros(3))
    with pytest.raises(RuntimeError, match="expected 2 tensors as out, got 1"):
        aten.ops.aten._foreach_abs.out([one, other], out=[aten.empty(0)])
    with pytest.raises(RuntimeError, match=r"must be of aten.float32, but is of aten.float64"):
        aten.ops.aten._foreach_abs.out([one], out=[aten.empty(0, dtype=aten.float64)])


def test_each_element_is_a_call_of_the_operator():
    numbers = [aten.ones(2), aten.ones(3)]
    lines = []
    with trace_dispatch(lines):
        aten._foreach_neg_(numbers)
    calls = [line for line in lines if "aten::neg_ " in line and "pointwise" in line]
    assert len(calls) == 2, lines
