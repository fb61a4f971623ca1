"""What all distributions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES, get_default_dtype
from aten._core.base.sizes import Size
from aten._core.tensor.tensor import Tensor
from aten.construction import tensor
from aten.distributions.constraints import Constraint
from aten.registry import ops

Number = float | Tensor


def broadcast(*given: Any) -> tuple[Tensor, ...]:
    """Tensors of one shape from tensors and numbers; these get the tensors' dtype and device.

    Raises ValueError for what is neither.
    """
    tensors = [one for one in given if isinstance(one, Tensor)]
    for one in given:
        if not isinstance(one, (Tensor, int, float)):
            raise ValueError("Input arguments must all be instances of Number or aten.Tensor.")
    element = tensors[0].dtype if tensors else get_default_dtype()
    place = tensors[0].device if tensors else device("cpu")
    made = [
        one if isinstance(one, Tensor) else tensor(one, dtype=element, device=place)
        for one in given
    ]
    return tuple(ops.aten.broadcast_tensors(made))


class Distribution:
    """Draws, densities and moments of a batch of random variables.

    Raises ValueError for parameters, and for values of `log_prob` and `cdf`, that do not fulfil
    the constraints; `validate_args=False` takes them as they are.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    support: Any = None
    has_rsample: ClassVar[bool] = False
    has_enumerate_support: ClassVar[bool] = False
    _validates: ClassVar[bool] = True

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether arguments are checked where nothing is said; they are at first."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected a bool, got {value!r}")
        Distribution._validates = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self.batch_shape = Size(batch_shape)
        self.event_shape = Size(event_shape)
        self._checks = Distribution._validates if validate_args is None else validate_args
        if self._checks:
            for name, constraint in self.arg_constraints.items():
                self._check(f"parameter {name}", self.__dict__.get(name), constraint)

    def _check(self, what: str, value: Any, constraint: Constraint) -> None:
        # What follows from another parameter is not looked at.
        if not isinstance(value, Tensor):
            return
        if not bool(constraint(value).all()):
            raise ValueError(
                f"{type(self).__name__}: expected {what} of shape {tuple(value.shape)} to satisfy "
                f"the constraint {constraint!r}, but found invalid values:\n{value}"
            )

    def _check_value(self, value: Any) -> Tensor:
        """A value of `log_prob`: raises ValueError for what is none of this distribution."""
        if not self._checks:
            return value if isinstance(value, Tensor) else broadcast(value)[0]
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        inner = len(self.event_shape)
        if inner and tuple(value.shape[-inner:]) != tuple(self.event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {tuple(value.shape)} vs "
                f"{tuple(self.event_shape)}."
            )
        ops.aten.broadcast_tensors(
            [
                ops.aten.empty(tuple(shape), device="meta")
                for shape in (value.shape, self.batch_shape + self.event_shape)
            ]
        )
        if self.support is not None:
            self._check("value argument", value, self.support)
        return value

    def _extended(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    def expand(self, batch_shape: Sequence[int]) -> Any:
        """The distribution with parameters broadcast to another batch shape."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        batch = Size(tuple(batch_shape))
        for name in self._parameters():
            value = self.__dict__[name]
            inner = value.shape[len(self.batch_shape) :]
            made.__dict__[name] = value.expand((*batch, *inner))
        for name, value in self.__dict__.items():
            if isinstance(value, Distribution):
                made.__dict__[name] = value.expand(
                    (*batch, *value.batch_shape[len(self.batch_shape) :])
                )
        made.batch_shape = batch
        return made

    def _parameters(self) -> list[str]:
        return [
            name
            for name, value in self.__dict__.items()
            if isinstance(value, Tensor) and not name.startswith("_")
        ]

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws: (*sample_shape, *batch_shape, *event_shape)."""
        return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """`n` draws."""
        return self.sample((n,))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws that are a smooth function of the parameters; NotImplementedError for others."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample")

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """Up to where the probability is `value`."""
        raise NotImplementedError(f"{type(self).__name__} has no icdf")

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along a new first dimension."""
        raise NotImplementedError(f"{type(self).__name__} has no enumerate_support")

    @property
    def mean(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @property
    def mode(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no mode")

    @property
    def variance(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has no variance")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def perplexity(self) -> Tensor:
        """exp of the entropy."""
        return self.entropy().exp()

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                shown.append(f"{name}: {value if value.numel() == 1 else value.shape}")
        return f"{type(self).__name__}({', '.join(shown)})"


def uniform(shape: Sequence[int], like: Tensor) -> Tensor:
    """Evenly from [0, 1), of the type of `like`."""
    return ops.aten.rand(tuple(shape), dtype=like.dtype, device=like.device)


def normal(shape: Sequence[int], like: Tensor) -> Tensor:
    """Of the standard normal distribution, of the type of `like`."""
    return ops.aten.randn(tuple(shape), dtype=like.dtype, device=like.device)


def smallest(like: Tensor) -> float:
    """The least positive normal number of the type of `like`."""
    from aten.type_info import finfo

    return finfo(like.dtype).tiny


def epsilon(like: Tensor) -> float:
    """The distance from 1 to the next number of the type of `like`."""
    from aten.type_info import finfo

    return finfo(like.dtype).eps


def as_float(value: Tensor) -> Tensor:
    """Whole numbers as the default dtype."""
    return value if value.is_floating_point() else value.to(dtype=DTYPES["float32"])
