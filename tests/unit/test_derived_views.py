"""Composites of views: what is compiled gives what the composite's own function gives."""

import gc
import itertools
from importlib import import_module

import pytest

import aten
from aten._core.base.keys import DispatchKey
from aten._core.views.derived_views import NAMES
from aten.dispatch import trace_dispatch
from aten.registry import operator, ops

view, splitting = (import_module(f"aten.ops.{name}") for name in ("shape.view", "shape.splitting"))

_BASE = aten.arange(120)
_TENSORS = {
    "0-d": _BASE[5],
    "1-d": _BASE[3:15],
    "matrix": _BASE.view(10, 12)[1:5],
    "columns": _BASE.view(10, 12)[:, 2:8].t(),
    "deep": _BASE.view(2, 3, 4, 5).transpose(1, 2),
    "deeper": _BASE.view(1, 2, 3, 1, 4, 5),
    "steps": _BASE[::2].view(3, 4, 5),
    "broadcast": _BASE[:4].expand(3, 4),
    "empty": _BASE[:0].view(3, 0, 2),
    "conjugate": aten.ones(4, 6, dtype=aten.complex64).conj(),
}
_DIMS = (-3, -1, 0, 1, 2)
_CALLS = [
    *[("reshape", view.reshape, (shape,)) for shape in [(-1,), (2, -1), (12,), (), (0, 3)]],
    *[("flatten.using_ints", view.flatten, dims) for dims in itertools.product(_DIMS, _DIMS)],
    *[
        ("unflatten.int", view.unflatten, (dim, sizes))
        for dim in _DIMS
        for sizes in [(-1,), (2, -1), (-1, 3), (2, 2), (), (-1, -1), (0, -1), (1, 12)]
    ],
    *[
        ("narrow", view.narrow, (dim, start, length))
        for dim in (-1, 0, 1)
        for start, length in [(0, 2), (1, 1), (-1, 1), (-2, 2), (3, 0), (1, -1), (99, 1), (2, 5)]
    ],
    *[("movedim.int", view.movedim, dims) for dims in itertools.product(_DIMS, _DIMS)],
    *[
        ("movedim.intlist", view.movedims, dims)
        for dims in [((0, 1), (1, 0)), ((0,), (-1,)), ((0, 0), (1, 2)), ((0,), (0, 1)), ((), ())]
    ],
    ("ravel", view.ravel, ()),
    ("mT", view.mT, ()),
    ("mH", view.adjoint, ()),
    ("matrix_H", view.matrix_H, ()),
    ("atleast_1d", view.atleast_1d, ()),
    ("atleast_2d", view.atleast_2d, ()),
    ("atleast_3d", view.atleast_3d, ()),
    *[("broadcast_to", view.broadcast_to, (sizes,)) for sizes in [(2, 4, 12), (3, -1, 4), (12,)]],
    *[("view_as", view.view_as, (other,)) for other in (_BASE[:12].view(3, 4), _BASE[:4])],
    *[("expand_as", view.expand_as, (other,)) for other in (_BASE.view(10, 12), _BASE[:4])],
    *[
        ("split.Tensor", splitting.split, (size, dim))
        for size in (-1, 0, 1, 4, 7, 99)
        for dim in _DIMS
    ],
    *[("chunk", splitting.chunk, (count, dim)) for count in (0, 1, 3, 7, 99) for dim in _DIMS],
    *[
        ("split_with_sizes", splitting.split_with_sizes, (sizes, dim))
        for sizes in [(4, 8), (4, 0), (2, 1), (13, -1), (), (1 << 62, 1 << 62), (12,)]
        for dim in _DIMS
    ],
    *[("unbind.int", splitting.unbind, (dim,)) for dim in _DIMS],
    *[
        ("tensor_split.sections", splitting.tensor_split, (count, dim))
        for count in (0, 1, 5, 99)
        for dim in _DIMS
    ],
    *[
        ("tensor_split.indices", splitting.tensor_split_at, (indices, dim))
        for indices in [(), (1, 3), (3, 1), (-1, 99), (0, 0)]
        for dim in _DIMS
    ],
    *[("hsplit.int", splitting.hsplit, (count,)) for count in (0, 1, 2, 5)],
    ("hsplit.array", splitting.hsplit_at, ((1, 2),)),
    *[("vsplit.int", splitting.vsplit, (count,)) for count in (0, 1, 2)],
    ("vsplit.array", splitting.vsplit_at, ((1, 2),)),
    *[("dsplit.int", splitting.dsplit, (count,)) for count in (0, 1, 2)],
    ("dsplit.array", splitting.dsplit_at, ((1, 2),)),
]


def _outcome(call, base, arguments):
    """What a call gives, in comparable words: a place in memory where it is a view."""
    try:
        made = call(base, *arguments)
    except Exception as error:
        return type(error), str(error)
    pieces = made if isinstance(made, tuple) else (made,)
    return type(made), [
        (
            piece is base,
            tuple(piece.shape),
            piece.stride(),
            piece.is_conj(),
            piece.storage_offset() if _same_memory(piece, base) else piece.tolist(),
        )
        for piece in pieces
    ]


def _same_memory(piece, base) -> bool:
    return piece.untyped_storage() is base.untyped_storage()


@pytest.mark.parametrize("name", _TENSORS)
def test_compiled_composites_give_what_their_functions_give(name) -> None:
    base = _TENSORS[name]
    for operator_name, function, arguments in _CALLS:
        compiled = operator(f"aten::{operator_name}")
        expected = _outcome(function, base, arguments)
        assert _outcome(compiled, base, arguments) == expected, (operator_name, arguments)


def test_every_compiled_composite_is_compared() -> None:
    compared = {operator(f"aten::{name}").entry.options["fast_path"][0] for name, _, _ in _CALLS}
    assert set(NAMES) - {"reversed_dims"} == compared


def test_a_kernel_in_the_place_of_a_compiled_view_is_called() -> None:
    base = aten.arange(6)
    called = []

    def cut(self, dim=0, start=None, end=None, step=1):
        called.append((dim, start, end, step))
        return self.clone()

    assert base.narrow(0, 1, 2).tolist() == [1, 2]
    handle = operator("aten::slice.Tensor").register(DispatchKey.CPU, cut)
    try:
        assert base.narrow(0, 1, 2).tolist() == base.tolist()
        assert called == [(0, 1, 3, 1)]
        base.chunk(2)
        assert len(called) == 3
    finally:
        handle.destroy()
    assert base.narrow(0, 1, 2).tolist() == [1, 2]


def test_traces_show_the_views_a_composite_calls(capsys) -> None:
    with trace_dispatch():
        aten.arange(6).narrow(0, 1, 2)
    text = "".join(capsys.readouterr())
    assert "narrow" in text
    assert "slice" in text


def test_numpy_t_is_a_view_and_warns_beside_matrices() -> None:
    matrix = _TENSORS["matrix"]
    assert matrix.T.stride() == (1, 12)
    with pytest.warns(UserWarning, match="reversing 3 dimensions"):
        assert _TENSORS["steps"].T.shape == (5, 4, 3)


@pytest.mark.parametrize("sizes", [(2,), (2, 3, 1, 1, 2), (1, 2, 1, 2, 1, 3), (1,) * 40])
def test_tensors_of_any_depth_come_and_go(sizes) -> None:
    """Dead tensors are kept for the next ones, whose geometry must be their own."""
    for _ in range(3):
        made = [aten.zeros(sizes).transpose(0, -1) for _ in range(100)]
        expected = sizes if len(sizes) == 1 else (sizes[-1], *sizes[1:-1], sizes[0])
        assert all(tuple(one.shape) == expected for one in made)
        del made


def test_a_tensor_made_in_the_place_of_a_dead_one_has_none_of_its_attributes() -> None:
    first = aten.zeros(2)
    first.label = "first"
    first.itself = [first]
    del first
    gc.collect()
    assert all(vars(aten.zeros(2)) == {} for _ in range(100))
    assert ops.aten.alias(aten.zeros(2)).shape == (2,)
