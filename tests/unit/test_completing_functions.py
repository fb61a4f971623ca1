"""Functions that say which operator they call do what they do without saying so."""

from __future__ import annotations

import itertools
import pickle
import warnings
from typing import Any

import pytest

import aten
from aten._core.dispatch.functions import CompletingFunction, OverridableFunction, forwards
from aten.dispatch import DispatchKey
from aten.nn import functional
from aten.overrides import TorchFunctionMode
from aten.utils._python_dispatch import TorchDispatchMode

X = aten.randn(3, 4, generator=aten.Generator().manual_seed(0))
WHOLE = aten.tensor([0, 2, 1])
# Two samples of three channels: of several pixels, of one, of none; and one of one pixel.
IMAGES = aten.randn(2, 3, 2, 2, generator=aten.Generator().manual_seed(1))
INPUTS = (IMAGES, IMAGES[..., :1, :1], IMAGES[..., :0], IMAGES[:1, ..., :1, :1], IMAGES[0, 0], X[0])
STATISTICS = {
    "running_mean": (X[:, 0], None, X[0]),
    "running_var": (X[:, 1].abs(), None, X[0]),
    "weight": (None, X[:, 2], X[0]),
    "bias": (None, X[:, 3]),
}
MODES = {"inplace": (False, True, 1, None)}
# By function, what its parameters are given: the first is for all of them, others one by one.
GIVEN: dict[str, dict[str, tuple[Any, ...]]] = {
    **{name: {"input": (X,), **MODES} for name in ("relu", "relu6", "selu", "silu", "mish")},
    **{name: {"input": (X,), **MODES} for name in ("hardsigmoid", "hardswish")},
    "celu": {"input": (X,), "alpha": (1.0, 0.5, 2, "1"), **MODES},
    "elu": {"input": (X,), "alpha": (1.0, 0.5, 2, "1"), **MODES},
    "leaky_relu": {"input": (X,), "negative_slope": (0.01, 0.5, -1, None), **MODES},
    "threshold": {"input": (X,), "threshold": (0.1, 1), "value": (20, -0.5, "x"), **MODES},
    "glu": {"input": (X,), "dim": (-1, 0, 1, 5)},
    "softmax": {
        "input": (X,),
        "dim": (1, 0, None, 7),
        "_stacklevel": (3, 5),
        "dtype": (None, aten.float64),
    },
    "log_softmax": {
        "input": (X,),
        "dim": (1, 0, None, 7),
        "_stacklevel": (3, 5),
        "dtype": (None, aten.float64),
    },
    "layer_norm": {
        "input": (X,),
        "normalized_shape": ((4,), [4], (3, 4), (3,)),
        "weight": (None, X[0]),
        "bias": (None, X[1]),
        "eps": (1e-5, 0.1),
    },
    "batch_norm": {
        "input": INPUTS,
        **STATISTICS,
        "training": (True, False, None),
        "momentum": (0.1, 1, "1"),
        "eps": (1e-5, 0.1),
    },
    "instance_norm": {
        "input": INPUTS,
        **STATISTICS,
        "use_input_stats": (True, False, None),
        "momentum": (0.1, 1, "1"),
        "eps": (1e-5, 0.1),
    },
    "group_norm": {
        "input": INPUTS,
        "num_groups": (3, 1, 2, 0, 99),
        "weight": (None, X[:, 2], X[0]),
        "bias": (None, X[:, 3]),
        "eps": (1e-5, 0.1),
    },
    "rms_norm": {
        "input": (X,),
        "normalized_shape": ((4,), [4], (3,)),
        "weight": (None, X[0]),
        "eps": (None, 0.1),
    },
    "embedding": {
        "input": (WHOLE, WHOLE + 9),
        "weight": (X,),
        "padding_idx": (None, 1, 7),
        "max_norm": (None, 0.5),
        "norm_type": (2.0, 1.0),
        "scale_grad_by_freq": (False, True),
        "sparse": (False,),
    },
    "one_hot": {"tensor": (WHOLE, X), "num_classes": (-1, 5, 1)},
    "cross_entropy": {
        "input": (X, X.double(), X[0]),
        "target": (WHOLE, WHOLE + 9, X.softmax(1)),
        "weight": (None, X[0].abs()),
        "size_average": (None, False),
        "ignore_index": (-100, 1),
        "reduce": (None, False),
        "reduction": ("mean", "sum", "none", "other"),
        "label_smoothing": (0.0, 0.1, 2.0),
    },
    **{
        name: {
            "input": (X, X[0], X.double(), 2.0),
            "target": (X + 1, X[:1], X.double(), WHOLE),
            "size_average": (None, False),
            "reduce": (None, False),
            "reduction": ("mean", "sum", "none", "other"),
            **others,
        }
        for name, others in {
            "mse_loss": {"weight": (None, X.abs(), X[0])},
            "l1_loss": {"weight": (None, X.abs(), X[0])},
            "smooth_l1_loss": {"beta": (1.0, 0.5, -1.0, "1")},
        }.items()
    },
    "huber_loss": {
        "input": (X, X[0]),
        "target": (X + 1, X[:1]),
        "reduction": ("mean", "sum", "none", "other"),
        "delta": (1.0, 0.5, 0.0, "1"),
        "weight": (None, X.abs(), X[0]),
    },
    "norm": {
        "input": (X, X.to(aten.complex64), WHOLE),
        "p": ("fro", "nuc", 1, 2.0),
        "dim": (None, 0, (0, 1)),
        "keepdim": (False, True),
        "out": (None,),
        "dtype": (None, aten.float64),
    },
}


def forwarding() -> dict[str, OverridableFunction]:
    places = [(functional, name) for name in dir(functional)] + [(aten, name) for name in dir(aten)]
    found = {}
    for module, name in places:
        function = getattr(module, name, None)
        if isinstance(function, OverridableFunction) and hasattr(function.__wrapped__, "forwarded"):
            found[function.__name__] = function
    return found


FUNCTIONS = forwarding()


def calls(name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Arguments: each value with the first ones of all others, by place and by name."""
    given = GIVEN[name]
    first = [values[0] for values in given.values()]
    rows = [first]
    for place, values in enumerate(given.values()):
        rows += [[*first[:place], value, *first[place + 1 :]] for value in values[1:]]
    made: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    for row, count in itertools.product(rows, range(len(first) + 1)):
        made.append((tuple(row[:count]), dict(zip(list(given)[count:], row[count:], strict=True))))
        made.append((tuple(row[:count]), {}))
    return [*made, ((*first, 1), {}), (tuple(first[:1]), {"nothing": 1}), ((), {}), ((None,), {})]


def outcome(function: Any, args: Any, kwargs: Any) -> Any:
    """Type, bits and gradients of the result, or the error's type and text."""

    def own(value: Any) -> Any:
        if not isinstance(value, aten.Tensor):
            return value
        copied = value.detach().clone()
        return copied.requires_grad_() * 1 if copied.is_floating_point() else copied

    positional, named = [own(one) for one in args], {key: own(one) for key, one in kwargs.items()}
    aten.manual_seed(0)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            made = function(*positional, **named)
        except Exception as error:
            return type(error), str(error)
    after = [repr(one.tolist()) for one in positional if isinstance(one, aten.Tensor)]
    words = [str(one.message) for one in warned]
    node = type(made.grad_fn).__name__ if made.requires_grad else None
    return made.dtype, made.stride(), repr(made.tolist()), node, after, words


def test_every_function_that_says_so_is_called_here() -> None:
    assert FUNCTIONS.keys() == GIVEN.keys()


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_calls_are_what_the_function_gives(name: str) -> None:
    function = FUNCTIONS[name]
    for args, kwargs in calls(name):
        found = outcome(function, args, kwargs)
        expected = outcome(function.__wrapped__, args, kwargs)
        assert found == expected, (args, kwargs)


class Log(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_modes_see_the_function(name: str) -> None:
    args = [values[0] for values in GIVEN[name].values()]
    with Log() as log:
        FUNCTIONS[name](*args)
    assert log.seen[0] == name


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_the_same_operators_are_called(name: str) -> None:
    args = [values[0] for values in GIVEN[name].values()]

    class Operators(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    seen = []
    for function in (FUNCTIONS[name], FUNCTIONS[name].__wrapped__):
        with Operators() as log:
            function(*args)
        seen.append(log.seen)
    assert seen[0] == seen[1] != []


def test_subclasses_are_asked() -> None:
    class Own(aten.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func.__name__

    assert functional.relu(X.as_subclass(Own)) == "relu"
    assert functional.softmax(input=X.as_subclass(Own), dim=1) == "softmax"


def test_what_cannot_be_forwarded_is_refused() -> None:
    def many(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q):  # noqa: E741
        """More parameters than there is room for."""

    with pytest.raises(ValueError, match="cannot be forwarded"):
        OverridableFunction(forwards("relu(a)")(many))(X)


def test_what_is_not_handed_on_is_for_the_function() -> None:
    x = X.clone()
    assert functional.relu(x, inplace=True) is x
    assert functional.relu(x, True) is x
    with pytest.warns(UserWarning, match="dim should be given"):
        functional.softmax(X)
    table = aten.ones(2, 4)
    functional.embedding(WHOLE % 2, table, max_norm=1.0)
    assert table.norm(dim=1).max().item() == pytest.approx(1)


def test_norm_as_a_method_and_as_a_function() -> None:
    for given in (X.norm(), aten.norm(X), aten.Tensor.norm(X), X.norm(2), X.norm(p=2.0)):
        assert given.item() == pytest.approx((X * X).sum().sqrt().item())
    assert X.norm(dim=1).shape == (3,)
    assert X.norm(dim=1, keepdim=True).shape == (3, 1)
    assert X.norm(dtype=aten.float64).dtype is aten.float64
    method = X.norm
    assert method().item() == X.norm().item()
    with pytest.raises(RuntimeError):
        aten.tensor([1, 2]).norm()
    x = X.clone().requires_grad_()
    x.norm().backward()
    assert aten.allclose(x.grad, X / X.norm())


def test_functions_and_methods_are_pickled_by_name() -> None:
    for function in (functional.relu, aten.norm, aten.Tensor.norm):
        assert pickle.loads(pickle.dumps(function)) is function
    assert aten.Tensor.norm.__qualname__ == "Tensor.norm"


def test_a_kernel_that_is_registered_is_met() -> None:
    with pytest.warns(UserWarning, match="overridden"):
        handle = aten.ops.aten.relu.default.register(DispatchKey.CPU, lambda self: self + 1)
    try:
        assert aten.equal(functional.relu(X), X + 1)
    finally:
        handle.destroy()
    assert aten.equal(functional.relu(X), X.clamp_min(0))


def test_constants_and_parameters_that_have_to_be_given() -> None:
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


def test_parameters_by_keyword_only_are_not_forwarded() -> None:
    @forwards("relu(input)")
    def function(input, *, other=1):
        return input

    with pytest.raises(ValueError, match="cannot be forwarded"):
        CompletingFunction(function)(X)
