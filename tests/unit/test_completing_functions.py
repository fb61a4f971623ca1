"""Functions that complete their arguments: the compiled call is the one that is written."""

import pickle
from typing import Any

import pytest

import aten
from aten._core.dispatch.functions import CompletingFunction, OverridableFunction, forwards
from aten.dispatch import DispatchKey

F = aten.nn.functional
X = aten.tensor([[-2.0, -0.5, 0.5, 3.0], [1.0, -1.0, 4.0, 0.0]])
WIDE = aten.tensor([1.0, 2.0, 3.0, 4.0])
INDEX = aten.tensor([[1, 0], [1, 1]])
CLASSES = aten.tensor([3, 0])
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("relu", (X,), {}),
    ("relu", (), {"input": X}),
    ("relu", (X, False), {}),
    ("relu6", (X,), {}),
    ("elu", (X, 0.5), {}),
    ("elu", (X,), {"alpha": 2.0}),
    ("selu", (X,), {}),
    ("celu", (X,), {"alpha": 2.0}),
    ("leaky_relu", (X,), {"negative_slope": 0.5}),
    ("hardswish", (X,), {}),
    ("hardsigmoid", (X,), {}),
    ("silu", (X,), {}),
    ("mish", (X,), {}),
    ("threshold", (X, 0.5, 20.0), {}),
    ("glu", (X,), {}),
    ("glu", (X, 0), {}),
    ("softmax", (X, 1), {}),
    ("softmax", (X,), {"dim": -1}),
    ("softmax", (X,), {"dtype": aten.float64, "dim": 0}),
    ("softmax", (X, 1, 7), {}),
    ("log_softmax", (X,), {"dim": -1}),
    ("layer_norm", (X, (4,)), {}),
    ("layer_norm", (X, [4], WIDE), {"bias": WIDE}),
    ("layer_norm", (X, (4,), None, WIDE, 0.5), {}),
    ("rms_norm", (X, (4,)), {"weight": WIDE}),
    ("one_hot", (CLASSES,), {}),
    ("one_hot", (CLASSES,), {"num_classes": 5}),
    ("embedding", (INDEX, X), {}),
    ("embedding", (INDEX, X, 1), {}),
    ("embedding", (INDEX, X), {"padding_idx": 0, "scale_grad_by_freq": True}),
    ("cross_entropy", (X, CLASSES), {}),
    ("cross_entropy", (X, CLASSES), {"weight": WIDE}),
    ("cross_entropy", (X, CLASSES), {"reduction": "sum", "ignore_index": 3}),
    ("cross_entropy", (X, CLASSES), {"ignore_index": 0, "label_smoothing": 0.5}),
    ("cross_entropy", (X, CLASSES), {"reduce": False}),
]
REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("relu", (), {}),
    ("relu", (X, False, 1), {}),
    ("relu", (X,), {"input": X}),
    ("relu", (X,), {"inplacee": True}),
    ("relu", ("x",), {}),
    ("softmax", (X,), {"dim": "x"}),
    ("softmax", (X, 5), {}),
    ("layer_norm", (X, (3,)), {}),
    ("layer_norm", (X,), {}),
    ("layer_norm", (X, 4), {}),
    ("embedding", (INDEX + 7, X), {}),
    ("embedding", (INDEX, X, 4), {}),
    ("cross_entropy", (X, CLASSES + 3), {}),
    ("cross_entropy", (X, CLASSES), {"reduction": "none at all"}),
]


def _name(call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> str:
    return f"{call[0]}-{len(call[1])}-{'-'.join(call[2])}"


@pytest.mark.parametrize("call", CALLS, ids=map(_name, CALLS))
def test_a_call_gives_what_the_function_gives(call):
    name, args, keywords = call
    function = getattr(F, name)
    given, expected = function(*args, **keywords), function.__wrapped__(*args, **keywords)
    assert given.dtype is expected.dtype
    assert given.stride() == expected.stride()
    assert aten.equal(given, expected)


@pytest.mark.parametrize("call", REFUSED, ids=map(_name, REFUSED))
def test_a_call_is_refused_as_the_function_refuses_it(call):
    name, args, keywords = call
    function = getattr(F, name)
    with pytest.raises(Exception) as expected:
        function.__wrapped__(*args, **keywords)
    with pytest.raises(expected.type) as given:
        function(*args, **keywords)
    assert str(given.value) == str(expected.value)


def test_what_is_not_handed_on_is_for_the_function():
    x = X.clone()
    assert F.relu(x, inplace=True) is x
    assert F.relu(x, True) is x
    with pytest.warns(UserWarning, match="dim should be given"):
        F.softmax(X)
    table = aten.ones(2, 4)
    F.embedding(INDEX, table, max_norm=1.0)
    assert table.norm(dim=1).max().item() == pytest.approx(1)


def test_norm_as_a_method_and_as_a_function():
    for given in (X.norm(), aten.norm(X), aten.Tensor.norm(X), X.norm(2), X.norm(p=2.0)):
        assert given.item() == pytest.approx((X * X).sum().sqrt().item())
    assert X.norm(dim=1).shape == (2,)
    assert X.norm(dim=1, keepdim=True).shape == (2, 1)
    assert X.norm(dtype=aten.float64).dtype is aten.float64
    method = X.norm
    assert method().item() == X.norm().item()
    with pytest.raises(RuntimeError):
        aten.tensor([1, 2]).norm()
    x = X.clone().requires_grad_()
    x.norm().backward()
    assert aten.allclose(x.grad, X / X.norm())


def test_functions_and_methods_are_pickled_by_name():
    for function in (F.relu, aten.norm, aten.Tensor.norm):
        assert pickle.loads(pickle.dumps(function)) is function
    assert aten.Tensor.norm.__qualname__ == "Tensor.norm"


def test_modes_are_asked_for_the_function_and_then_for_nothing():
    seen = []

    class Mode(aten.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    with Mode():
        F.relu(X)
    assert seen == [F.relu]


def test_a_kernel_that_is_registered_is_met():
    with pytest.warns(UserWarning, match="overridden"):
        handle = aten.ops.aten.relu.default.register(DispatchKey.CPU, lambda self: self + 1)
    try:
        assert aten.equal(F.relu(X), X + 1)
    finally:
        handle.destroy()
    assert aten.equal(F.relu(X), X.clamp_min(0))


def test_gradients_are_recorded():
    x = X.clone().requires_grad_()
    F.cross_entropy(F.layer_norm(F.relu(x), (4,)), CLASSES).backward()
    y = X.clone().requires_grad_()
    F.cross_entropy.__wrapped__(
        F.layer_norm.__wrapped__(F.relu.__wrapped__(y), (4,)), CLASSES
    ).backward()
    assert aten.equal(x.grad, y.grad)


def test_constants_and_parameters_that_have_to_be_given():
    @forwards("add(first, second)", "second")
    def added(first, second=None, unused=3):
        return "by hand"

    completing = OverridableFunction(added)
    assert isinstance(completing, CompletingFunction)
    assert aten.equal(completing(X, X), X + X)
    assert aten.equal(completing(X, second=X, unused=3), X + X)
    assert completing(X) == "by hand"
    assert completing(X, X, 4) == "by hand"

    @forwards("clamp(given, 0, None)")
    def clamped(given):
        return "by hand"

    assert aten.equal(CompletingFunction(clamped)(X), X.clamp(0))


def test_parameters_by_keyword_only_are_not_forwarded():
    @forwards("relu(input)")
    def function(input, *, other=1):
        return input

    with pytest.raises(ValueError, match="cannot be forwarded"):
        CompletingFunction(function)(X)
