"""Functions and modules recorded while they run once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import IO, Any

from aten._core.tensor.tensor import Tensor
from aten.export.exporting import exported
from aten.graph.program import ExportedProgram
from aten.graph.pytree import flattened, map_tensors
from aten.nn.modules.module import Module
from aten.registry import ops


class TracingCheckError(AssertionError):
    """What was traced does not give what the function gives."""


class TracedModule(Module):
    """A program as a callable: the operators that a function called, whatever the sizes are.

    Sizes and numbers that Python read while it was traced are part of it.

    Attributes:
        program: the program; its sizes are those of the example.
    """

    def __init__(self, program: ExportedProgram, name: str) -> None:
        super().__init__()
        own = self.__dict__
        own["program"] = program
        own["original_name"] = name
        own["_call"] = program.module()
        own["_frozen"] = False

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program on tensors of any size that its operators take.

        Raises InputError for other arguments than it was traced with.
        """
        return self._call.call_unchecked(args, kwargs)

    @property
    def graph(self) -> Any:
        """The program's graph."""
        return self.program.graph

    inlined_graph = graph

    @property
    def code(self) -> str:
        """The graph as Python."""
        text: str = self.program.graph.python_code()
        return text

    def save(self, f: str | os.PathLike[str] | IO[bytes]) -> None:
        """Writes a `.pt2` file, which `aten.jit.load` reads, and `torch.export.load`."""
        self.program.save(f)

    def state_dict(self, **options: Any) -> dict[str, Any]:
        """Parameters and buffers by name."""
        return dict(self.program.state_dict)

    def named_parameters(self, *args: Any, **options: Any) -> Iterator[tuple[str, Any]]:
        """The program's parameters; none where it is frozen."""
        return iter(()) if self._frozen else self.program.named_parameters()

    def named_buffers(self, *args: Any, **options: Any) -> Iterator[tuple[str, Tensor]]:
        """The program's buffers."""
        buffers: Iterator[tuple[str, Tensor]] = self.program.named_buffers()
        return buffers

    def _get_name(self) -> str:
        return f"{self.original_name}, traced"


def traced(
    function: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    check: bool,
    tolerance: float,
) -> TracedModule:
    """See `aten.jit.trace`."""
    program = exported(function, args, kwargs, None)
    name = getattr(function, "__name__", type(function).__name__)
    made = TracedModule(program, name)
    if check:
        _check(function, made, args, dict(kwargs or {}), tolerance)
    return made


def _check(
    function: Any,
    made: TracedModule,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    tolerance: float,
) -> None:
    """Runs both once more. Nothing is written: arguments are copies, and so is the state."""
    if made.program.graph_signature.buffers_to_mutate or _draws(made):
        return
    results = [flattened(one(*_copied(args), **_copied(kwargs)))[0] for one in (function, made)]
    for place, (expected, given) in enumerate(zip(*results, strict=True)):
        if not isinstance(expected, Tensor):
            same = expected == given
        else:
            same = expected.shape == given.shape and bool(
                ops.aten.allclose(
                    given.detach(),
                    expected.detach(),
                    rtol=tolerance,
                    atol=tolerance,
                    equal_nan=True,
                )
            )
        if not same:
            raise TracingCheckError(
                f"trace: result {place} of what was traced is not what the function gives: it "
                f"does not do the same whenever it is called"
            )


def _draws(made: TracedModule) -> bool:
    """Whether the program draws random numbers, so that no two runs are alike."""
    drawing = ("rand", "normal", "bernoulli", "dropout", "multinomial", "uniform", "exponential")
    return any(any(name in target for name in drawing) for target in made.program.graph.targets())


def _copied(value: Any) -> Any:
    return map_tensors(lambda one: one.detach().clone(), value)
