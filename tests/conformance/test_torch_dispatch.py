"""`__torch_dispatch__`: tensors' classes and modes that say what operators give, beside torch."""

import pytest
import torch
import torch.utils._python_dispatch
import torch.utils._pytree
from dispatching_programs import PROGRAMS

import aten


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_programs(program):
    ours, theirs = (
        program(library, library.utils._python_dispatch, library.utils._pytree)
        for library in (aten, torch)
    )
    assert ours == theirs


class Shell(aten.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func, types, args, kwargs


def shell(*sizes, **options):
    return aten.Tensor._make_wrapper_subclass(Shell, sizes, **options)


def test_wrappers_say_what_they_are_told():
    made = shell(2, 3, strides=(1, 2), storage_offset=4, dtype=aten.int64, device="cpu")
    assert (list(made.shape), made.stride(), made.storage_offset()) == ([2, 3], (1, 2), 4)
    assert made.dtype is aten.int64
    assert made.device == aten.device("cpu")
    assert type(made) is Shell
    assert repr(made) == "Shell(..., size=(2, 3), dtype=aten.int64)"
    leaf = shell(2, requires_grad=True)
    assert leaf.requires_grad
    assert leaf.is_leaf


def test_wrappers_without_their_class_have_no_data():
    bare = shell(2).as_subclass(aten.Tensor)
    assert repr(bare + 1) == "FakeTensor(..., size=(2,))"


def test_wrong_wrappers():
    class Marked(aten.Tensor):
        pass

    with pytest.raises(RuntimeError, match="has no __torch_dispatch__"):
        aten.Tensor._make_wrapper_subclass(Marked, (2,))
    with pytest.raises(TypeError, match="subclass of Tensor"):
        aten.Tensor._make_wrapper_subclass(int, (2,))


def test_arguments_that_say_nothing_are_left_out():
    class Seeing(aten.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen = (str(func), len(args), dict(kwargs), types)
            return func(*args, **kwargs)

    x = aten.ones(2, 3)
    with Seeing() as mode:
        x + x
        assert mode.seen == ("aten.add.Tensor", 2, {}, ())
        aten.add(x, x, alpha=2)
        assert mode.seen == ("aten.add.Tensor", 2, {"alpha": 2}, ())
        x.sum(1, keepdim=True)
        assert mode.seen == ("aten.sum.dim_IntList", 3, {}, ())


def test_modes_and_classes_are_not_asked_where_they_are_excluded():
    asked = []

    class Marked(aten.Tensor):
        __torch_function__ = aten.nn.Parameter.__torch_function__

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            with aten.utils._python_dispatch.no_dispatch():
                return func(*args, **kwargs)

    x = aten.ones(3).as_subclass(Marked)
    with aten.utils._python_dispatch.no_dispatch():
        x + x
    assert asked == []
    y = x + 1
    assert asked == [aten.ops.aten.add.Tensor]
    assert type(y) is aten.Tensor
    view = x[1:]
    y + 1, view + 1
    assert [one.name for one in asked] == ["add", "slice"]


def test_rules_for_an_operator_of_ones_own():
    @aten.library.custom_op("dispatched::doubled", mutates_args=())
    def doubled(x: aten.Tensor) -> aten.Tensor:
        return x * 2

    class Marked(Shell):
        pass

    class Mode(aten.utils._python_dispatch.BaseTorchDispatchMode):
        pass

    doubled.register_torch_dispatch(Mode, lambda mode, func, types, args, kwargs: args[0] + 5)
    with Mode():
        assert doubled(aten.ones(1)).tolist() == [6]
    assert doubled(aten.ones(1)).tolist() == [2]


def test_modes_are_left_in_order():
    first, second = (aten.utils._python_dispatch.BaseTorchDispatchMode() for _ in range(2))
    first.__enter__()
    second.__enter__()
    assert aten.utils._python_dispatch._get_current_dispatch_mode() is second
    with pytest.raises(RuntimeError, match="order of their entry"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)


def test_declining_classes_are_a_type_error():
    class Declining(aten.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    made = aten.Tensor._make_wrapper_subclass(Declining, (2,))
    with pytest.raises(TypeError, match="Declining gave NotImplemented"):
        made + 1


def test_trees():
    from aten.utils import _pytree

    tree = {"a": [1, (2, 3)], "b": aten.Size([4])}
    leaves, spec = _pytree.tree_flatten(tree)
    assert leaves == [1, 2, 3, aten.Size([4])]
    assert _pytree.tree_unflatten(leaves, spec) == tree
    assert _pytree.tree_map(lambda a, b: a + b, [1, [2]], [3, [4]]) == [4, [6]]
    assert _pytree.tree_map_only(int, str, [1, "x", 2.0]) == ["1", "x", 2.0]
    with pytest.raises(ValueError, match="3 leaves for a tree of 4"):
        _pytree.tree_unflatten(leaves[:3], spec)
