"""Matrix products against torch: ranks, types, layouts, broadcasting, empty sizes, errors."""

from __future__ import annotations

import itertools

import pytest
from comparison import compare, torch

import aten

TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-4, "complex64": 1e-4}
ELEMENTS = [
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int64",
    "uint8",
]


def sample(*shape, element="float32", seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    made = torch.randn(shape, generator=generator, dtype=torch.float64) * 3
    return made.to(getattr(torch, element))


def tolerances(element):
    tolerance = TOLERANCE.get(element, 1e-10 if element in ("float64", "complex128") else 0.0)
    return {"tolerance": tolerance, "absolute": tolerance * 10}


SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((5, 2, 3), (3, 4)),
    ((3,), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((6, 5, 2, 3), (6, 5, 3, 4)),
    ((2, 0), (0, 3)),
    ((0, 2, 3), (0, 3, 4)),
    ((4, 2, 0), (4, 0, 3)),
    ((0, 2, 3), (3,)),
    ((2, 3, 0), (0,)),
    ((0,), (0,)),
    ((70, 80), (80, 90)),
]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matmul(element, shapes):
    left, right = sample(*shapes[0], element=element), sample(*shapes[1], element=element, seed=1)
    compare(lambda library, a, b: library.matmul(a, b), left, right, **tolerances(element))


@pytest.mark.parametrize("element", ["float32", "bfloat16", "int32"])
def test_matmul_of_strided_operands(element):
    lefts = [
        sample(4, 3, 2, element=element).transpose(1, 2),
        sample(2, 3, 4, element=element).permute(2, 0, 1),
        sample(4, 4, 6, element=element)[:, ::2, ::2],
        sample(1, 2, 3, element=element).expand(4, 2, 3),
    ]
    rights = [
        sample(4, 5, 3, element=element).transpose(1, 2),
        sample(3, 5, element=element),
        sample(5, 3, element=element).t(),
        sample(3, 10, element=element)[:, ::2],
        sample(1, 3, 1, element=element).expand(4, 3, 5),
    ]
    for left, right in itertools.product(lefts, rights):
        compare(lambda library, a, b: a @ b, left, right, **tolerances(element))


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", [(4,), (1,), (2, 4), (2, 1), (), (3,), (1, 2, 4)], ids=str)
def test_addmm(element, shape):
    operands = [sample(*size, element=element) for size in (shape, (2, 3), (3, 4))]
    for beta, alpha in ((1, 1), (2, 3), (0, 1), (3, 0)):
        compare(
            lambda library, c, a, b, beta=beta, alpha=alpha: library.addmm(
                c, a, b, beta=beta, alpha=alpha
            ),
            *operands,
            **tolerances(element),
        )


@pytest.mark.parametrize("shape", [(5, 2, 4), (2, 4), (5, 1, 1), (), (5, 2, 3)], ids=str)
def test_baddbmm(shape):
    operands = [sample(*size) for size in (shape, (5, 2, 3), (5, 3, 4))]
    compare(
        lambda library, c, a, b: library.baddbmm(c, a, b, beta=0.5, alpha=2.5),
        *operands,
        tolerance=1e-4,
        absolute=1e-4,
    )


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3), (4, 3), None),
        ((2, 3), (4, 3), (4,)),
        ((3,), (4, 3), (4,)),
        ((2, 5, 3), (4, 3), (4,)),
        ((2, 3), (3,), None),
        ((0, 5, 3), (4, 3), (4,)),
        ((2, 3), (4, 5), None),
        ((2, 3), (4, 3), (5,)),
        ((2, 3), (4, 3, 1), None),
    ],
    ids=str,
)
def test_linear(shapes):
    operands = [None if shape is None else sample(*shape) for shape in shapes]

    def expression(library, *operands):
        linear = library.nn.functional.linear if library is torch else library.ops.aten.linear
        return linear(*operands)

    compare(expression, *operands, tolerance=1e-4, absolute=1e-4)


ERRORS = [
    ("mm", (2, 3), (4, 5)),
    ("mm", (3,), (3, 5)),
    ("mm", (2, 3), (3,)),
    ("bmm", (2, 3), (3, 5)),
    ("bmm", (2, 3, 4), (2, 5, 6)),
    ("bmm", (2, 3, 4), (3, 4, 6)),
    ("mv", (2, 3), (4,)),
    ("mv", (2,), (4,)),
    ("dot", (3,), (4,)),
    ("dot", (3, 1), (4,)),
    ("matmul", (), (3,)),
    ("matmul", (3,), (4, 5)),
    ("matmul", (2, 3, 4), (3, 4, 5)),
    ("matmul", (2, 3, 4), (5, 5)),
    ("matmul", (2, 3, 4), (5,)),
]


@pytest.mark.parametrize(("name", "left", "right"), ERRORS, ids=str)
def test_messages_are_torchs(name, left, right):
    import aten

    with pytest.raises(RuntimeError) as theirs:
        getattr(torch, name)(torch.zeros(left), torch.zeros(right))
    with pytest.raises(RuntimeError) as ours:
        getattr(aten, name)(aten.zeros(left), aten.zeros(right))
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("name", ["mm", "bmm", "mv", "dot"])
def test_types_must_agree(name):
    import aten

    shapes = {
        "mm": [(2, 3), (3, 4)],
        "bmm": [(1, 2, 3), (1, 3, 4)],
        "mv": [(2, 3), (3,)],
        "dot": [(3,), (3,)],
    }[name]
    with pytest.raises(RuntimeError) as theirs:
        getattr(torch, name)(torch.zeros(shapes[0]), torch.zeros(shapes[1], dtype=torch.float64))
    with pytest.raises(RuntimeError) as ours:
        getattr(aten, name)(aten.zeros(shapes[0]), aten.zeros(shapes[1], dtype=aten.float64))
    assert str(ours.value) == str(theirs.value)
    for element in ("bool", "uint16"):
        with pytest.raises(NotImplementedError, match=f'"{name}" not implemented'):
            getattr(aten, name)(
                *(aten.ones(shape, dtype=getattr(aten, element)) for shape in shapes)
            )


@pytest.mark.parametrize("name", ["complex64", "complex128"])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100])
def test_complex_vectors(name: str, length: int) -> None:
    generator = torch.Generator().manual_seed(length)
    values = torch.randn(2, 2 * length, dtype=getattr(torch, name), generator=generator)
    theirs = [values[0, :length], values[1, ::2], values[1, :1].expand(length)]
    if not length:
        theirs[2] = theirs[0]
    ours = [aten.tensor(one.tolist(), dtype=getattr(aten, name)) for one in theirs]
    ours[1] = aten.tensor(values[1].tolist(), dtype=getattr(aten, name))[::2]
    if length:
        ours[2] = ours[1][:1].expand(length)
    bound = (1e-6 if name == "complex64" else 1e-14) * max(length, 1)
    for left, expected_left in zip(ours, theirs, strict=True):
        for right, expected_right in zip(ours, theirs, strict=True):
            aten.full((2,), 7 + 7j, dtype=left.dtype)  # leaves its memory to the result
            for function in ("dot", "vdot"):
                found = getattr(aten, function)(left, right).item()
                expected = getattr(torch, function)(expected_left, expected_right).item()
                assert abs(found - expected) <= bound, (function, found, expected)
