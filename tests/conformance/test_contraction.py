"""Contractions and distances against torch: equations, paths, dtypes, layouts, errors."""

from __future__ import annotations

import pytest
from comparison import compare, torch

ELEMENTS = ["float32", "float64", "bfloat16", "complex64", "int64", "uint8"]
TOLERANCE = {"bfloat16": 3e-2, "float32": 1e-4, "complex64": 1e-4}


def sample(*shape, element="float32", seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    made = torch.randn(shape, generator=generator, dtype=torch.float64) * 3
    return made.to(getattr(torch, element))


def tolerances(element):
    tolerance = TOLERANCE.get(element, 1e-10)
    return {"tolerance": tolerance, "absolute": tolerance * 30}


EQUATIONS = [
    ("i->", (4,)),
    ("ii", (4, 4)),
    ("ii->i", (4, 4)),
    ("iji->j", (3, 2, 3)),
    ("ij->ji", (2, 3)),
    ("...ij->...ji", (4, 2, 3)),
    ("b...a->...", (2, 3, 4, 5)),
    ("ba", (2, 3)),
    ("i,j->ij", (3,), (4,)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij , jk -> ki", (2, 3), (3, 4)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("ij,ij->i", (2, 3), (2, 3)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("...ij,...jk->...ik", (5, 2, 3), (6, 1, 3, 4)),
    ("aij,jk->aki", (2, 3, 4), (4, 5)),
    ("ij,jk->ik", (2, 1), (3, 4)),
    ("ij,kl->", (2, 3), (4, 5)),
    ("ij,j,jk->ik", (2, 3), (3,), (3, 4)),
    ("ij,jk,kl,lm->im", (2, 9), (9, 3), (3, 8), (8, 2)),
    ("abc,cd,bde,e->a", (2, 3, 4), (4, 5), (3, 5, 6), (6,)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    ("Ab,bC->AC", (2, 3), (3, 4)),
    ("Ab,bC", (2, 3), (3, 4)),
    ("i...,i...->...", (2, 3), (2,)),
    ("ij,jk", (2, 3), (4, 5)),
    ("ij,jk->iz", (2, 3), (3, 4)),
    ("ij,jk->ii", (2, 3), (3, 4)),
    ("ijk,jk", (2, 3), (3, 4)),
    ("i,jk", (2, 3), (3, 4)),
    ("ij", (2, 3), (3, 4)),
    ("i1,jk", (2, 3), (3, 4)),
    ("ii", (2, 3)),
]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("case", EQUATIONS, ids=str)
def test_einsum(element, case):
    equation, *shapes = case
    operands = [sample(*shape, element=element, seed=n) for n, shape in enumerate(shapes)]
    compare(
        lambda library, *operands: library.einsum(equation, *operands),
        *operands,
        strides=False,
        **tolerances(element),
    )


def test_einsum_of_sublists():
    left, right = sample(2, 3), sample(3, 4)
    for labels in ([[0, 1], [1, 2]], [[0, 30], [30, 2], [2, 0]], [[..., 1], [1, 5], [..., 5]]):
        compare(
            lambda library, a, b, labels=labels: library.einsum(a, labels[0], b, *labels[1:]),
            left,
            right,
            **tolerances("float32"),
            strides=False,
        )
    for labels in ([[0, 52], [1, 2]], [[0, -1], [1, 2]]):
        compare(lambda library, a, b, m=labels: library.einsum(a, m[0], b, m[1]), left, right)


@pytest.mark.parametrize("path", [[0, 1, 0, 1], [1, 2, 0, 1], [0, 2, 0, 1]], ids=str)
def test_einsum_contracts_along_the_path(path):
    def expression(library, *operands):
        return library.ops.aten.einsum("ij,jk,kl->il", operands, path=path)

    compare(expression, sample(2, 3), sample(3, 4), sample(4, 5), **tolerances("float32"))


@pytest.mark.parametrize("path", [[0, 1], [0, 0, 0, 1], [0, 3, 0, 1], [0, 1, 0, 2]], ids=str)
def test_einsum_refuses_a_path_that_does_not_fit(path):
    import aten

    operands = [aten.ones(2, 2)] * 3
    with pytest.raises(RuntimeError, match=r"einsum: .*path"):
        aten.einsum("ij,jk,kl->il", *operands, path=path)


CALLS = {
    "addmv": [((2,), (2, 3), (3,)), ((), (2, 3), (3,)), ((3,), (2, 3), (3,)), ((2,), (2, 3), (2,))],
    "addbmm": [
        ((2, 4), (5, 2, 3), (5, 3, 4)),
        ((1,), (1, 2, 3), (1, 3, 4)),
        ((), (5, 2, 3), (5, 4, 3)),
    ],
    "addr": [((2, 3), (2,), (3,)), ((), (2,), (3,)), ((2, 2), (2,), (3,)), ((), (2, 1), (3,))],
}


@pytest.mark.parametrize("element", [*ELEMENTS, "bool"])
@pytest.mark.parametrize(("name", "shapes"), [(n, s) for n, ss in CALLS.items() for s in ss])
def test_added_products(name, shapes, element):
    operands = [sample(*shape, element=element, seed=n) for n, shape in enumerate(shapes)]
    for beta, alpha in ((1, 1), (0, 2), (2, 3), (0.5, 1), (True, False)):
        if isinstance(beta, float) and name != "addr" and element in ("int64", "uint8"):
            continue  # torch truncates or refuses, by the operand that comes first
        compare(
            lambda library, *operands, b=beta, a=alpha: getattr(library, name)(
                *operands, beta=b, alpha=a
            ),
            *operands,
            **tolerances(element),
        )


PAIRS = [
    ("inner", (2, 3), (4, 3)),
    ("inner", (2, 3), ()),
    ("inner", (3,), (3,)),
    ("inner", (2, 3), (4, 2)),
    ("outer", (2,), (3,)),
    ("ger", (2,), (3,)),
    ("outer", (2,), (3, 1)),
    ("vdot", (3,), (3,)),
    ("vdot", (3,), (4,)),
]


@pytest.mark.parametrize("element", [e for e in ELEMENTS if e != "complex64"])
@pytest.mark.parametrize("case", PAIRS, ids=str)
def test_products_of_two(case, element):
    name, *shapes = case
    operands = [sample(*shape, element=element, seed=n) for n, shape in enumerate(shapes)]
    compare(lambda library, *two: getattr(library, name)(*two), *operands, **tolerances(element))


@pytest.mark.parametrize("dims", [0, 1, 2, 3, -1, ([1], [0]), ([0, 1], [1, 0]), ([0], [0, 1])])
def test_tensordot(dims):
    operands = sample(3, 4, 5), sample(4, 5, 3)
    for pair in (operands, (operands[0][:, :1], operands[1])):
        compare(
            lambda library, a, b: library.tensordot(a, b, dims=dims), *pair, **tolerances("float32")
        )


MODES = ["use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0, 3.5, float("inf"), -1.0])
@pytest.mark.parametrize("shapes", [((4, 3), (5, 3)), ((2, 1, 4, 3), (6, 5, 3)), ((4, 0), (5, 0))])
def test_cdist(power, shapes):
    operands = [sample(*shape, seed=n) for n, shape in enumerate(shapes)]
    for mode in MODES:
        compare(
            lambda library, a, b, mode=mode: library.cdist(a, b, power, compute_mode=mode),
            *operands,
            tolerance=1e-4,
            absolute=1e-3,
        )


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 3.5, float("inf"), -1.0])
@pytest.mark.parametrize("shape", [(5, 3), (1, 3), (0, 3), (5, 0), (5,)], ids=str)
def test_pdist(power, shape):
    compare(
        lambda library, x: library.nn.functional.pdist(x, power), sample(*shape), tolerance=1e-5
    )


@pytest.mark.parametrize("power", [0.5, 1, 2, 3.5, 0, -1])
@pytest.mark.parametrize("element", ["float32", "float16", "complex64", "int64"])
def test_renorm_and_dist(power, element):
    operand, other = sample(4, 3, 2, element=element), sample(3, 1, element=element)
    tolerance = 2e-3 if element == "float16" else 1e-4
    for dim in (0, -1, 3):
        compare(
            lambda library, x, d=dim: library.renorm(x, power, d, 5.0), operand, tolerance=tolerance
        )
    compare(lambda library, x, y: library.dist(x, y, power), operand, other, tolerance=tolerance)
