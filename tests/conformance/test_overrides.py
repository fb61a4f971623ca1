"""`__torch_function__`: subclasses, classes like tensors, and modes, as torch has them."""

import copy
import inspect
import pickle

import pytest
import torch
import torch.overrides
from overriding_programs import outcome_of

import aten
import aten.overrides

EXPRESSIONS = (
    "s+1",
    "1+s",
    "t+s",
    "s+t",
    "s-1",
    "1-s",
    "s/2",
    "2/s",
    "s@s.t()",
    "s*s",
    "-s",
    "abs(s)",
    "s>1",
    "s==s",
    "s[0]",
    "s[0,1]",
    "s[:,1]",
    "s[s>1]",
    "s.sum()",
    "s.sum(0)",
    "s.mean()",
    "s.clone()",
    "s.to(torch.float64)",
    "s.to('cpu')",
    "s.double()",
    "torch.stack([s,s])",
    "torch.stack([t,s])",
    "torch.cat((s,t))",
    "s.T",
    "s.mT",
    "s.view(-1)",
    "s.reshape(3,2)",
    "s.max(0)",
    "s.split(1)",
    "s.unbind()",
    "torch.add(s,1)",
    "torch.sin(s)",
    "s.sin_()",
    "s.add_(1)",
    "torch.zeros_like(s)",
    "s.new_zeros(3)",
    "s.detach()",
    "s.data",
    "torch.nn.functional.relu(s)",
    "torch.nn.functional.linear(s,t)",
    "torch.nn.functional.layer_norm(s,(3,))",
    "torch.nn.functional.softmax(s,-1)",
    "torch.where(s>1,s,t)",
    "s.requires_grad_().sum()",
    "s.tolist()",
    "torch.max(s)",
    "torch.nn.Parameter(t)+1",
    "torch.nn.Parameter(t).detach()",
    "s.contiguous()",
    "s.flatten()",
    "s.cpu()",
    "torch.einsum('ij->j',s)",
    "s.norm()",
    "torch.norm(s)",
    "s.float()",
    "s.__getitem__(0)",
    "list(s)",
    "s**2",
    "2**s",
    "s//2",
    "s%2",
    "torch.tensordot(s,s.t(),1)",
    "s.type(torch.float64)",
    "s.expand(2,2,3)",
    "s.chunk(2)",
    "s.topk(1)",
    "torch.meshgrid(s[0],s[1],indexing='ij')",
    "s.unique()",
    "torch.broadcast_tensors(s,t)",
    "s.grad",
    "bool(s[0,0]>1)",
    "~(s>1)",
    "s.int()",
    "s.is_contiguous()",
    "s.shape",
    "torch.nn.functional.dropout(s)",
    "torch.nn.functional.conv1d(s[None],torch.ones(2,2,1))",
    "torch.linalg.norm(s)",
    "torch.fft.fft(s)",
    "torch.special.expit(s)",
    "s.requires_grad",
    "s.type_as(t)",
    "s.long()",
)


def test_programs():
    ours, theirs = (
        outcome_of(aten, aten.overrides, aten.DisableTorchFunctionSubclass),
        outcome_of(torch, torch.overrides, torch._C.DisableTorchFunctionSubclass),
    )
    assert len(ours) == len(theirs) > 20
    for one, other in zip(ours, theirs, strict=True):
        assert one == other


def kinds(library, expression):
    class Marked(library.Tensor):
        pass

    names = {
        "torch": library,
        "s": library.arange(6.0).reshape(2, 3).as_subclass(Marked),
        "t": library.ones(2, 3),
    }
    given = eval(expression, names)
    if isinstance(given, (tuple, list)):
        return [type(one).__name__ for one in given]
    return type(given).__name__


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_subclasses_survive_where_they_do_in_torch(expression):
    assert kinds(aten, expression) == kinds(torch, expression)


def test_modes_are_left_in_order():
    first, second = aten.overrides.BaseTorchFunctionMode(), aten.overrides.BaseTorchFunctionMode()
    first.__enter__()
    second.__enter__()
    with pytest.raises(RuntimeError, match="order of their entry"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)
    assert not aten.overrides.has_torch_function((aten.ones(1),))


def test_a_mode_of_one_thread_is_not_that_of_another():
    from threading import Thread

    class Refusing(aten.overrides.TorchFunctionMode):
        pass

    given = []
    with Refusing():
        thread = Thread(target=lambda: given.append(aten.ones(2) + 1))
        thread.start()
        thread.join()
        with pytest.raises(NotImplementedError, match="Refusing"):
            aten.ones(2)
    assert given[0].tolist() == [2, 2]


def test_errors_of_handlers_leave_modes_in_force():
    class Failing(aten.overrides.TorchFunctionMode):
        calls = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            raise ZeroDivisionError

    with Failing() as mode:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                aten.ones(2)
    assert mode.calls == 2
    assert aten.ones(2).tolist() == [1, 1]


def test_operators_below_are_asked_about_too():
    seen = []

    class Seeing(aten.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = aten.ones(2)
    with Seeing():
        aten.ops.aten.add.Tensor(x, x)
        with aten.overrides.DisableTorchFunction():
            x + x
        with aten.DisableTorchFunctionSubclass():
            x - x
    assert seen == [aten.ops.aten.add.Tensor, aten.Tensor.sub]


def test_views_of_a_subclass_made_without_asking_are_plain():
    class Marked(aten.Tensor):
        pass

    marked = aten.ones(4).as_subclass(Marked)
    with aten.DisableTorchFunctionSubclass():
        view = marked[1:]
    assert type(view) is aten.Tensor
    assert type(view + 1) is aten.Tensor
    assert type(marked.as_subclass(aten.Tensor) + 1) is aten.Tensor


def test_wrong_subclasses():
    for call in (
        lambda: aten.Tensor._make_subclass(int, aten.ones(2)),
        lambda: aten.Tensor._make_subclass(aten.Tensor, 3),
        lambda: aten.ones(2).as_subclass(3),
    ):
        with pytest.raises(TypeError):
            call()


def test_lists_of_functions():
    overridable = aten.overrides.get_overridable_functions()
    assert aten.add in overridable[aten]
    assert aten.Tensor.add in overridable[aten.Tensor]
    ignored = aten.overrides.get_ignored_functions()
    assert aten.get_default_dtype in ignored
    assert aten.add not in ignored
    assert aten.overrides.is_tensor_method_or_property(aten.Tensor.add)
    assert not aten.overrides.is_tensor_method_or_property(aten.add)
    assert aten.overrides.resolve_name(len) is None


def test_functions_wrapped_for_overriding():
    @aten.overrides.wrap_torch_function(lambda x: (x,))
    def doubled(x):
        return x * 2

    class Own:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    assert doubled(Own()) is doubled
    assert doubled(3) == 6


class Asked:
    """A class like a tensor's that tells which function it was asked for."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        assert types == (cls,)
        return func, args, kwargs or {}


def _overridable(module):
    listed = torch.overrides.get_overridable_functions()[module]
    named = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    return sorted(name for name, found in named.items() if any(found is one for one in listed))


@pytest.mark.parametrize(
    ("ours", "names"),
    [
        pytest.param(aten.nn.functional, _overridable(torch.nn.functional), id="nn.functional"),
        pytest.param(
            aten.functional,
            [one for one in _overridable(torch.functional) if one in aten.functional.__all__],
            id="functional",
        ),
    ],
)
def test_functions_of_python_ask(ours, names):
    missing = [name for name in names if not hasattr(ours, name)]
    assert not missing
    asked = Asked()
    for name in names:
        function = getattr(ours, name)
        assert function(asked) == (function, (asked,), {}), name
        assert function([aten.ones(1), asked], mode=1)[0] is function, name
        assert function(input=asked) == (function, (), {"input": asked}), name


def test_functions_of_python_do_not_ask_where_that_is_disabled():
    with aten.overrides.DisableTorchFunctionSubclass(), pytest.raises(AttributeError):
        aten.nn.functional.mse_loss(Asked(), aten.ones(1))


def test_functions_of_python_are_what_they_were():
    function = aten.nn.functional.mse_loss
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function
    assert list(inspect.signature(function).parameters)[:2] == ["input", "target"]
    assert (function.__module__, function.__qualname__) == ("aten.nn.functional", "mse_loss")

    class Layer:
        loss = function

    assert Layer.loss is function
    assert Layer().loss.__func__ is function


def test_a_mode_sees_functions_and_not_what_they_call():
    seen = []

    class Names(aten.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Names():
        aten.nn.functional.cross_entropy(aten.ones(2, 3), aten.tensor([0, 1]))
        aten.einsum("i,i->", aten.ones(2), aten.ones(2))
    functions = [one for one in seen if one not in (aten.ones, aten.tensor)]
    assert functions == [aten.nn.functional.cross_entropy, aten.einsum]


def test_operators_ask_operands_that_are_no_tensors():
    found = []
    for library in (aten, torch):

        class Named:
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return function.__name__

        one, named = library.ones(1), Named()
        found.append([one + named, one - named, one * named, one / named, one**named, one @ named])
        # Which function the other side is asked about differs: torch has one more for each.
        assert {"div", "__rdiv__"} & {named / one}
        assert {"floor_divide", "__rfloordiv__"} & {named // one}
        assert {"remainder", "__rmod__"} & {named % one}
    assert found[0] == found[1]
