"""Functions and modules recorded while they run once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import IO, Any, Self

from aten._core.tensor.tensor import Tensor
from aten.export.widening import widest
from aten.graph.program import ExportedProgram
from aten.graph.pytree import flattened, map_tensors
from aten.graph.signature import InputKind
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter
from aten.registry import ops


class TracingCheckError(AssertionError):
    """What was traced does not give what the function gives."""


class _Holder(Module):
    """Parameters and buffers at a path of a traced module."""


class TracedModule(Module):
    """A program as a callable: the operators that a function called, whatever the sizes are.

    Its parameters and buffers are those of the module that was traced, under the same names.
    Numbers that Python read while it was traced are part of it; those made of sizes are computed
    from the sizes given, where the function does the same for other sizes.

    Attributes:
        program: the program; its sizes are those of the example.
    """

    def __init__(self, program: ExportedProgram, name: str, frozen: bool = False) -> None:
        super().__init__()
        own = self.__dict__
        own["program"] = program
        own["original_name"] = name
        own["_call"] = program.module()
        own["_frozen"] = frozen
        # Where each tensor of the program's state is held: by whom, in which dict, as what.
        own["_held"] = {} if frozen else self._hold(program)

    def _hold(self, program: ExportedProgram) -> dict[str, tuple[dict[str, Any], str]]:
        trained = set(program.graph_signature.parameters)
        transient = {
            spec.target
            for spec in program.graph_signature.input_specs
            if spec.kind is InputKind.BUFFER and spec.target in program.constants
        }
        held = {}
        for target, tensor in (*program.state_dict.items(), *program.constants.items()):
            if target not in program.state_dict and target not in transient:
                continue
            path, _, name = target.rpartition(".")
            owner = self._holder(path)
            is_parameter = target in trained or isinstance(tensor, Parameter)
            members = owner._parameters if is_parameter else owner._buffers
            members[name] = tensor
            if target in transient:
                owner._non_persistent_buffers_set.add(name)
            held[target] = (members, name)
        return held

    def _holder(self, path: str) -> Module:
        owner: Module = self
        for part in path.split(".") if path else ():
            if part not in owner._modules:
                owner._modules[part] = _Holder()
            following = owner._modules[part]
            assert following is not None
            owner = following
        return owner

    def _bring_up_to_date(self) -> None:
        """Lets the program have the tensors that are held now."""
        for target, (members, name) in self._held.items():
            state = self.program.state_dict
            state = state if target in state else self.program.constants
            if members.get(name) is not state[target]:
                state[target] = members[name]
                self.program._interpreter = None

    def _apply(self, change: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        super()._apply(change, recurse)
        self.program._interpreter = None
        return self

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program on tensors of any size that its operators take.

        Raises InputError for other arguments than it was traced with.
        """
        self._bring_up_to_date()
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
        self._bring_up_to_date()
        self.program.save(f)

    def state_dict(self, *args: Any, **options: Any) -> dict[str, Any]:
        """Parameters and buffers by name."""
        if self._frozen:
            return dict(self.program.state_dict)
        found: dict[str, Any] = super().state_dict(*args, **options)
        return found

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
    program = widest(function, args, kwargs)
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
