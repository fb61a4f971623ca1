"""`autograd.functional` beside torch's: products, Jacobians, Hessians, graphs of them, errors."""

from __future__ import annotations

import itertools

import pytest
import torch
from database_checks import to_torch

import aten

X = [[0.3, -1.2, 2.0], [0.7, 0.1, -0.4]]
Y = [1.5, -0.5, 0.25]
COMPLEX = [0.3 + 1j, -1.2 - 0.5j]


def tensors(library, *numbers, dtype="float64"):
    return tuple(library.tensor(one, dtype=getattr(library, dtype)) for one in numbers)


# Functions, and what they are called with: one tensor is given as such.
MANY = {
    "one to one": (lambda x: x.sin() * x, (Y,), 1),
    "one to several": (lambda x: (x * x, x.sum(), x.exp().t()), (X,), 1),
    "several to one": (lambda x, y: x @ y, (X, Y), 2),
    "several to several": (lambda x, y: (x * y, y.prod()), (X, Y), 2),
    "unused": (lambda x, y: (x * 2, x.sum()), (X, Y), 2),
    "constant": (lambda x: x.new_ones(2), (Y,), 1),
}
SINGLE = {
    "one": (lambda x: (x**3).sum(), (Y,), 1),
    "several": (lambda x, y: (x * x @ y.exp()).sum(), (X, Y), 2),
    "one unused": (lambda x, y: (x**3).sum(), (X, Y), 2),
    "linear": (lambda x: x.sum(), (Y,), 1),
    "an element": (lambda x: x**3, ([0.5],), 1),
}


def given(library, numbers, count):
    made = tensors(library, *numbers)
    return made if count > 1 else made[0]


def same(mine, theirs):
    if isinstance(theirs, tuple):
        assert isinstance(mine, tuple)
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            same(one, other)
        return
    # What is constant has no graph here, where torch's has one.
    assert theirs.requires_grad or not mine.requires_grad
    torch.testing.assert_close(to_torch(mine.detach()), theirs.detach(), rtol=1e-12, atol=1e-12)


def both(name, *arguments, **options):
    """Both libraries' outcomes: results, or the types of errors."""
    made = []
    for library in (aten, torch):
        function = getattr(library.autograd.functional, name)
        try:
            made.append(function(*(one(library) for one in arguments), **options))
        except Exception as error:
            made.append(type(error))
    return made


def compare(name, *arguments, **options):
    mine, theirs = both(name, *arguments, **options)
    if isinstance(theirs, type) or isinstance(mine, type):
        assert isinstance(mine, type), theirs
        assert mine is theirs
        return
    same(mine, theirs)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("case", list(MANY))
def test_jacobians(case, create, strict):
    function, numbers, count = MANY[case]
    for vectorize in (False, True):
        compare(
            "jacobian",
            lambda library: function,
            lambda library: given(library, numbers, count),
            create_graph=create,
            strict=strict,
            vectorize=vectorize and not strict,
        )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("case", [*MANY, *SINGLE])
def test_products(case, create, strict):
    function, numbers, count = {**MANY, **SINGLE}[case]

    def like_outputs(library):
        made = function(*tensors(library, *numbers))
        if isinstance(made, tuple):
            return tuple(library.full_like(one, 0.5) for one in made)
        return library.full_like(made, 0.5)

    def like_inputs(library):
        made = tuple(library.full_like(one, 0.5) for one in tensors(library, *numbers))
        return made if count > 1 else made[0]

    common = (lambda library: function, lambda library: given(library, numbers, count))
    compare("vjp", *common, like_outputs, create_graph=create, strict=strict)
    for name in ("jvp", "vhp", "hvp") if case in SINGLE else ("jvp",):
        compare(name, *common, like_inputs, create_graph=create, strict=strict)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("case", list(SINGLE))
def test_hessians(case, create, strict):
    function, numbers, count = SINGLE[case]
    compare(
        "hessian",
        lambda library: function,
        lambda library: given(library, numbers, count),
        create_graph=create,
        strict=strict,
    )


def test_vectors_may_be_left_out():
    for name, numbers in itertools.product(("vjp", "jvp", "hvp", "vhp"), ([0.5], Y)):
        compare(
            name,
            lambda library: lambda x: (x**3).sum(),
            lambda library, numbers=numbers: given(library, (numbers,), 1),
        )


def test_complex_numbers():
    compare(
        "vjp",
        lambda library: lambda z: z * z.conj() * z,
        lambda library: tensors(library, COMPLEX, dtype="complex128")[0],
        lambda library: tensors(library, COMPLEX[::-1], dtype="complex128")[0],
    )


def test_no_elements():
    for vectorize in (False, True):
        made = aten.autograd.functional.jacobian(
            lambda x: x[:0] * 2, aten.ones(2, 3), vectorize=vectorize
        )
        assert made.shape == (0, 3, 2, 3)


def test_graphs_of_results_go_on():
    made = []
    for library in (aten, torch):
        x = tensors(library, Y)[0].requires_grad_()
        functional = library.autograd.functional
        product = functional.jvp(lambda x: x**3, x, x * 2, create_graph=True)[1]
        jacobian = functional.jacobian(lambda x: x.sin(), x, create_graph=True)
        made.append(library.autograd.grad(product.sum() + (jacobian**2).sum(), x))
    same(*made)


def test_modes_are_left_as_they_were():
    with aten.no_grad():
        made = aten.autograd.functional.jacobian(lambda x: x * x, aten.tensor([2.0]))
        assert not aten.is_grad_enabled()
    assert made.tolist() == [[4]]


WRONG = {
    "no tensor": ("jacobian", lambda x: x, 3, {}),
    "no tensors": ("vjp", lambda x: x, [3, 4], {}),
    "no results": ("jvp", lambda x: 3, "x", {}),
    "too many": ("hessian", lambda x: x * 2, "x", {}),
    "a tuple": ("hessian", lambda x: (x.sum(), x.sum()), "x", {}),
    "v is too long": ("vjp", lambda x: x.sum(), "x", {"v": "x"}),
    "no v": ("vjp", lambda x: x, "x", {}),
    "no v for inputs": ("hvp", lambda x: x.sum(), "x", {}),
    "no strategy": ("jacobian", lambda x: x, "x", {"strategy": "sideways"}),
    "forward alone": ("jacobian", lambda x: x, "x", {"strategy": "forward-mode"}),
    "forward and strict": (
        "jacobian",
        lambda x: x,
        "x",
        {"strategy": "forward-mode", "strict": True},
    ),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_bad_arguments(case):
    name, function, inputs, options = WRONG[case]

    def placed(library, value):
        return tensors(library, Y)[0] if value == "x" else value

    errors = []
    for library in (aten, torch):
        named = {key: placed(library, value) for key, value in options.items()}
        with pytest.raises(Exception) as caught:
            getattr(library.autograd.functional, name)(function, placed(library, inputs), **named)
        errors.append(caught.type)
    assert errors[0] is errors[1]
