"""Recurrent layers over sequences, and their single steps."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

from aten._core.tensor.tensor import Tensor
from aten.nn import init
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter
from aten.nn.utils.rnn import PackedSequence
from aten.registry import ops

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

# Gates that a step computes, by operator.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _draw(module: Module, width: int) -> None:
    """Every parameter evenly from ±1/√width."""
    bound = 1 / math.sqrt(width) if width > 0 else 0
    for one in module.parameters():
        init.uniform_(one, -bound, bound)


class RNNBase(Module):
    """Layers of one kind of recurrence, `mode`, over (L, N, input_size), (L, input_size) or a
    `PackedSequence`; with `batch_first`, (N, L, input_size).

    Raises ValueError for sizes and shares that cannot be.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = dropout, bidirectional, proj_size
        self._check_settings()
        self._all_weights: list[list[str]] = []
        made = {"device": device, "dtype": dtype}
        gates, width = _GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            entering = width * (1 + bidirectional) if layer else input_size
            for suffix in (f"_l{layer}", f"_l{layer}_reverse")[: 1 + bidirectional]:
                sizes: dict[str, tuple[int, ...]]
                sizes = {"weight_ih": (gates, entering), "weight_hh": (gates, width)}
                if bias:
                    sizes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    sizes["weight_hr"] = (proj_size, hidden_size)
                self._all_weights.append([name + suffix for name in sizes])
                for name, one in sizes.items():
                    self.register_parameter(name + suffix, Parameter(ops.aten.empty(one, **made)))
        self.reset_parameters()

    def _check_settings(self) -> None:
        name = type(self).__name__
        if self.mode not in _GATES:
            raise ValueError(f"{name}: mode must be one of {', '.join(_GATES)}, got {self.mode!r}")
        if not isinstance(self.hidden_size, int):
            raise TypeError(
                f"{name}: hidden_size must be an int, not {type(self.hidden_size).__name__}"
            )
        for setting in ("hidden_size", "num_layers"):
            if getattr(self, setting) <= 0:
                raise ValueError(f"{name}: {setting} must be at least 1")
        number = isinstance(self.dropout, (int, float)) and not isinstance(self.dropout, bool)
        if not number or not 0 <= self.dropout <= 1:
            raise ValueError(f"{name}: dropout must be a number in [0, 1], got {self.dropout!r}")
        if self.proj_size and self.mode != "LSTM":
            raise ValueError(f"{name}: only LSTM takes a proj_size")
        if not 0 <= self.proj_size < self.hidden_size:
            raise ValueError(f"{name}: proj_size must be from 0 to less than hidden_size")
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                f"{name}: dropout is between layers, and there is but one: it does nothing",
                stacklevel=4,
            )

    def reset_parameters(self) -> None:
        """Draw evenly from ±1/√hidden_size."""
        _draw(self, self.hidden_size)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for names in self._all_weights for name in names]

    def flatten_parameters(self) -> None:
        """Nothing to do: weights are used where they are."""

    def _state_widths(self) -> tuple[int, ...]:
        return (self.hidden_size,)

    def _check_input(self, input: Tensor, ranks: tuple[int, ...]) -> None:
        name = type(self).__name__
        if input.dim() not in ranks:
            wanted = " or ".join(f"{rank}-D" for rank in ranks)
            raise ValueError(f"{name}: expected input of {wanted}, got {input.dim()}-D")
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype:
            raise ValueError(f"{name}: input is {input.dtype}, the weights are {weight.dtype}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{name}: input.size(-1) must be {self.input_size}, got {input.shape[-1]}"
            )

    def _states(self, input: Tensor, batch: int, given: Any, single: bool) -> list[Tensor]:
        """First states (layers, N, width): those given, checked, or zeros."""
        name = type(self).__name__
        layers = self.num_layers * (1 + self.bidirectional)
        shapes = [(layers, batch, width) for width in self._state_widths()]
        if given is None:
            return [input.new_zeros(shape) for shape in shapes]
        listed = [given] if isinstance(given, Tensor) else list(given)
        if len(listed) != len(shapes):
            raise RuntimeError(f"{name}: expected {len(shapes)} states, got {len(listed)}")
        rank = 2 if single else 3
        if any(one.dim() != rank for one in listed):
            raise RuntimeError(
                f"{name}: for this input hx must be {rank}-D, got {listed[0].dim()}-D"
            )
        listed = [one.unsqueeze(1) for one in listed] if single else listed
        for one, shape in zip(listed, shapes, strict=True):
            if tuple(one.shape) != shape:
                raise RuntimeError(
                    f"{name}: expected a hidden state of {shape}, got {tuple(one.shape)}"
                )
        return listed

    def _run(self, operands: tuple[Any, ...], states: list[Tensor], *ending: Any) -> Any:
        operator = getattr(ops.aten, self.mode.lower())
        layout = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        first = states if self.mode == "LSTM" else states[0]
        return operator(*operands, first, self._flat_weights, *layout, *ending)

    def _state(self, states: list[Tensor]) -> Any:
        return tuple(states) if self.mode == "LSTM" else states[0]

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        self._check_input(input, (2, 3))
        single = input.dim() == 2
        place = 0 if self.batch_first else 1
        rows = input.unsqueeze(place) if single else input
        states = self._states(rows, rows.shape[place], hx, single)
        result, *last = self._run((rows,), states, self.batch_first)
        if single:
            result, last = result.squeeze(place), [one.squeeze(1) for one in last]
        return result, self._state(last)

    def _forward_packed(self, input: PackedSequence, hx: Any) -> Any:
        data, batch_sizes, order, back = input
        self._check_input(data, (2,))
        states = self._states(data, int(batch_sizes[0]), hx, single=False)
        if hx is not None and order is not None:
            states = [one.index_select(1, order) for one in states]
        result, *last = self._run((data, batch_sizes), states)
        if back is not None:
            last = [one.index_select(1, back) for one in last]
        return PackedSequence(result, batch_sizes, order, back), self._state(last)

    def extra_repr(self) -> str:
        ordinary = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, value in ordinary.items():
            if getattr(self, name) != value:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


class RNN(RNNBase):
    """h' = tanh(W·x + b + V·h + c), or relu with nonlinearity="relu" (Elman 1990)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be tanh or relu, got {nonlinearity!r}")
        shape = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(f"RNN_{nonlinearity.upper()}", *shape, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014), the reset gate after the product."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        shape = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__("GRU", *shape, device=device, dtype=dtype)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter & Schmidhuber 1997); states are pairs (h, c)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        shape = (input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__("LSTM", *shape, proj_size, device=device, dtype=dtype)

    def _state_widths(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size, self.hidden_size)


class RNNCellBase(Module):
    """One step of a recurrence over (N, input_size) or (input_size,)."""

    _state_count: ClassVar[int] = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        sizes: dict[str, tuple[int, ...]] = {
            "weight_ih": (gates, input_size),
            "weight_hh": (gates, hidden_size),
            "bias_ih": (gates,),
            "bias_hh": (gates,),
        }
        for name, shape in sizes.items():
            wanted = bias or name.startswith("weight")
            made = ops.aten.empty(shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if made is None else Parameter(made))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw evenly from ±1/√hidden_size."""
        _draw(self, self.hidden_size)

    def _operator(self) -> Any:
        raise NotImplementedError

    def _step(self, input: Tensor, hx: Any) -> tuple[Tensor, ...]:
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: expected input of 1-D or 2-D, got {input.dim()}-D")
        states = () if hx is None else (hx,) if isinstance(hx, Tensor) else tuple(hx)
        if any(one.dim() not in (1, 2) for one in states):
            raise ValueError(f"{name}: expected hx of 1-D or 2-D")
        single = input.dim() == 1
        rows = input.unsqueeze(0) if single else input
        if hx is None:
            states = (rows.new_zeros((rows.shape[0], self.hidden_size)),) * self._state_count
        elif single:
            states = tuple(one.unsqueeze(0) for one in states)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        first = list(states) if self._state_count > 1 else states[0]
        found = self._operator()(rows, first, *weights)
        listed = (found,) if isinstance(found, Tensor) else tuple(found)
        return tuple(one.squeeze(0) for one in listed) if single else listed

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        return self._step(input, hx)[0]

    def extra_repr(self) -> str:
        shown = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            shown += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            shown += f", nonlinearity={self.nonlinearity}"
        return shown


class RNNCell(RNNCellBase):
    """One step of `RNN`: the hidden state after it."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _operator(self) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(
                f"RNNCell: nonlinearity must be tanh or relu, got {self.nonlinearity!r}"
            )
        return ops.aten.rnn_tanh_cell if self.nonlinearity == "tanh" else ops.aten.rnn_relu_cell


class GRUCell(RNNCellBase):
    """One step of `GRU`: the hidden state after it."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def _operator(self) -> Any:
        return ops.aten.gru_cell


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: hidden state and cell after it."""

    _state_count: ClassVar[int] = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def _operator(self) -> Any:
        return ops.aten.lstm_cell

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        return self._step(input, hx)
