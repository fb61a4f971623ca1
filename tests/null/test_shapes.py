"""Every structured operator's results have the shapes that its schema promises; nothing is run.

What `dim`, `keepdim`, `reduction` and `normalized_shape` promise is said here again, from the
schema alone. A plan refuses results that its walk does not fill, with data and without.
"""

import itertools

import pytest

from aten import registry
from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.tensor.construct import empty_strided
from aten._generated.table import OPERATORS

STRUCTURED = [
    name
    for name, (_, kind, variant, _, function, _) in OPERATORS.items()
    if kind in ("pointwise", "reduction", "scan") and variant == "functional" and function
]
SHAPES = [(), (3,), (2, 3), (3, 3), (4, 1, 4), (2, 3, 2, 5)]
# Two square operands and one that spreads over them: equal sizes hide nothing.
OPERANDS = [[(3, 3)] * 5, [(2, 3)] * 5, [(3, 3), (3,), (3, 1), (), (3, 3)], [()] * 5, [(0, 3)] * 5]
# Operators that have `dim` and no `keepdim`, and drop it; the others keep every dimension.
DROPPING = {"count_nonzero", "count_nonzero.dim_IntList", "cosine_similarity"}
# One of two bounds must be given, though both have a default.
CLAMPS = {"clamp", "clamp.Tensor", "clip", "clip.Tensor"}
FILLED = {
    "half_to_float": False,
    "input_dtype": DTYPES["float32"],
    "dtype": DTYPES["float32"],
    "eps": 1e-5,
    "log_input": True,
    "full": False,
    "unbiased": True,
    "compute_mode": None,
    "rounding_mode": "floor",
    "is_result": False,
    "self_is_result": False,
}


def empty(shape, element="float32"):
    return empty_strided(shape, None, DTYPES[element], device("meta"))


def parameters_of(name):
    return {one.name: one for one in registry.operator(f"aten::{name}")._schema.arguments}


def shapes_of(name, given, element="float32"):
    """The shapes of the results on tensors and values by parameter."""
    op = registry.operator(f"aten::{name}")
    named = {}
    for parameter in op._schema.arguments:
        if parameter.name in given:
            value = given[parameter.name]
            named[parameter.name] = empty(*value) if type(value) is Shaped else value
        elif parameter.name in FILLED and not parameter.has_default:
            named[parameter.name] = FILLED[parameter.name]
        elif not parameter.has_default:
            named[parameter.name] = 2
    results = op(**named)
    return [tuple(one.shape) for one in (results if isinstance(results, tuple) else (results,))]


class Shaped(tuple):
    """Shape and element type of a tensor to be made."""


def shaped(shape, element="float32"):
    return Shaped((shape, element))


def without(shape, dim, keepdim):
    """`shape` folded over `dim`: a number, several, or all of them (none, or None)."""
    listed = [dim] if isinstance(dim, int) else list(dim or range(len(shape)))
    folded = {one % max(len(shape), 1) for one in listed}
    if keepdim:
        return tuple(1 if axis in folded else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in folded)


def dims_for(parameter, rank):
    """What may be given for `dim`, by the parameter's type."""
    text = str(parameter.type)
    single = list(range(-rank, rank))
    if "[" not in text:
        return single + ([None] if text.endswith("?") else [])
    several = [list(some) for some in itertools.combinations(range(rank), 2)]
    return [[one] for one in single] + several + [list(range(rank))]


def tensors_of(parameters):
    return [name for name, one in parameters.items() if str(one.type).startswith("Tensor")]


FOLDING = [name for name in STRUCTURED if "keepdim" in parameters_of(name)]
ALONG = [name for name in STRUCTURED if "dim" in parameters_of(name) and name not in FOLDING]
LOSSES = [name for name in STRUCTURED if "reduction" in parameters_of(name)]
NORMS = [name for name in STRUCTURED if "normalized_shape" in parameters_of(name)]
POINTWISE = [
    name for name in STRUCTURED if OPERATORS[name][1] == "pointwise" and name not in LOSSES
]
WHOLE = sorted(
    name
    for name in set(STRUCTURED) - {*FOLDING, *ALONG, *LOSSES, *NORMS, "_cdist_forward"}
    if OPERATORS[name][1] != "pointwise"
)


def test_each_operator_has_its_rule():
    assert len(FOLDING) > 25
    assert {"sum", "mean", "max", "norm.Scalar", "var"} <= set(WHOLE)
    assert all(tensors_of(parameters_of(name)) == ["self"] for name in WHOLE)
    left = set(STRUCTURED) - {*FOLDING, *ALONG, *LOSSES, *NORMS, *WHOLE, "_cdist_forward"}
    assert {OPERATORS[name][1] for name in left} == {"pointwise"}


@pytest.mark.parametrize("name", FOLDING)
def test_folds_keep_or_drop_their_dimensions(name):
    dim = parameters_of(name)["dim"]
    for shape, keepdim in itertools.product(SHAPES, (True, False)):
        for given in dims_for(dim, len(shape)):
            promised = without(shape, given, keepdim)
            arguments = {"self": shaped(shape), "dim": given, "keepdim": keepdim}
            for found in shapes_of(name, arguments):
                assert found == promised, (shape, given, keepdim)


@pytest.mark.parametrize("name", ALONG)
def test_what_runs_along_a_dimension_keeps_it(name):
    parameters = parameters_of(name)
    for shape in SHAPES:
        for given in dims_for(parameters["dim"], len(shape)):
            promised = without(shape, given, False) if name in DROPPING else shape
            tensors = {one: shaped(shape) for one in tensors_of(parameters)}
            for found in shapes_of(name, {**tensors, "dim": given}):
                assert found == promised, (shape, given)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_reduced_to_a_number_or_not_at_all(name):
    for shape, reduction in itertools.product(SHAPES, (0, 1, 2)):
        tensors = {one: shaped(shape) for one in tensors_of(parameters_of(name))}
        (found,) = shapes_of(name, {**tensors, "reduction": reduction})
        whole = not reduction or name.endswith("_backward")
        assert found == (shape if whole else ()), (shape, reduction)


@pytest.mark.parametrize("name", NORMS)
def test_norms_have_the_input_s_shape_and_rows(name):
    for shape, rank in itertools.product(SHAPES[1:], (1, 2)):
        if rank > len(shape):
            continue
        rows = (*shape[: len(shape) - rank], *[1] * rank)
        normalized = shape[len(shape) - rank :]
        tensors = {one: shaped(normalized) for one in tensors_of(parameters_of(name))}
        given = {**tensors, "input": shaped(shape), "normalized_shape": normalized}
        first, *others = shapes_of(name, given)
        assert first == shape
        assert all(one == rows for one in others)


@pytest.mark.parametrize("name", WHOLE)
def test_folds_over_everything_are_numbers(name):
    for shape in SHAPES:
        assert set(shapes_of(name, {"self": shaped(shape)})) == {()}, shape


def test_distances_are_between_rows():
    given = {"x1": shaped((2, 3, 4)), "x2": shaped((2, 5, 4)), "p": 2.0}
    assert shapes_of("_cdist_forward", given) == [(2, 3, 5)]


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_results_have_the_common_shape(name):
    parameters = parameters_of(name)
    tensors = [one for one in tensors_of(parameters) if str(parameters[one].type) == "Tensor"]
    if name in CLAMPS:
        tensors = ["self", "min", "max"] if name.endswith("Tensor") else ["self"]
    integral = "bitwise" in name or "shift" in name or name.startswith(("__", "gcd", "lcm"))
    for shapes in OPERANDS:
        given = {"min": 0.5} if name in CLAMPS else {}
        for one, shape in zip(tensors, shapes, strict=False):
            element = "bool" if one in ("condition", "mask") else "float32"
            # `value` of fill and masked_fill is one number, and so has no dimensions.
            given[one] = shaped(() if one == "value" else shape, "int64" if integral else element)
        spread = [given[one][0] for one in tensors]
        rank = max(map(len, spread))
        padded = [(1,) * (rank - len(one)) + one for one in spread]
        promised = tuple(
            next((size for size in sizes if size != 1), 1) for sizes in zip(*padded, strict=True)
        )
        assert shapes_of(name, given) == [promised], spread
