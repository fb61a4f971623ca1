"""Writes what `aten.compiler.files.kept` reads: captured programs, for later processes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.backends.cpu import brought, cache, jit
from aten.backends.cpu.images import LinkError
from aten.backends.cpu.linking import linked
from aten.compiler.files.encoding import UnwritableProgramError, Written, encoded, written_group
from aten.compiler.files.kept import LENGTH, state_of
from aten.compiler.programs import CompiledProgram
from aten.graph.ir import Node

# Kernels of one file: a process that has more loaded is after something else than one program.
_MOST_KERNELS = 512


def keep_when_run(name: str, program: Any, module: Any, inputs: int) -> None:
    """Have a captured program of so many inputs of an exported one kept, once it has run."""
    if isinstance(program, CompiledProgram):
        program.when_run = partial(keep, name, program, state_of(module.program), inputs)


def keep(name: str, program: CompiledProgram, state: Mapping[str, Tensor], inputs: int) -> None:
    """Write a program of so many inputs, which has run, to a file of this name in the cache.

    Programs with something in them that files do not keep are not written.
    """
    try:
        content = _written(program, state, inputs)
    except (UnwritableProgramError, LinkError, NotImplementedError):
        return
    cache.write(name, content)


def _written(program: CompiledProgram, state: Mapping[str, Tensor], inputs: int) -> bytes:
    if program.graph.subgraphs or program.writes:
        raise UnwritableProgramError("it has programs within, or writes to what it is given")
    first = program.preparation.graph
    groups = [written_group(one) for one in program.partition.fused.values()]
    objects = jit.objects_of_all(_MOST_KERNELS)
    image = linked({one.symbol: one.code for one in objects.values()})
    kernels = {found.hex(): [image.symbols[one.symbol], one.key] for found, one in objects.items()}
    wanted = {launch["kernel"] for group in groups for launch in group["launches"]}
    if not wanted <= kernels.keys():
        raise UnwritableProgramError("kernels that the cache does not have")
    description = {
        "inputs": inputs,
        "nodes": [_node(one) for one in program.graph.nodes],
        "constant": [_node(one) for one in first.nodes if one.op != "placeholder"],
        "constants": _names(program.constants, state),
        "results": _results(program.results),
        "groups": groups,
        "operators": sorted(one.qualified_name for one in program.fused_operators),
        "kernels": kernels,
        "calls": {
            call: found.hex()
            for call, found in list(brought.calls.items())
            if found.hex() in kernels
        },
        "plans": {
            call: plan
            for call, plan in list(brought.plans.items())
            if all(launch["kernel"] in kernels for launch in plan["launches"])
        },
        "code": image.code,
        "functions": list(image.functions),
        "vector_bytes": jit.vector_bytes(),
    }
    text = json.dumps(description).encode()
    return LENGTH.pack(len(text)) + text + image.content


def _names(constants: Sequence[Tensor], state: Mapping[str, Tensor]) -> list[str]:
    """What the program calls these: each is one of its tensors, or what a detached one sees."""
    named = {_place(one): name for name, one in state.items()}
    found = [named.get(_place(one)) for one in constants]
    if None in found:
        raise UnwritableProgramError("a constant that is no tensor of the program")
    return found  # type: ignore[return-value]


def _place(tensor: Tensor) -> tuple[Any, ...]:
    meta = (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.is_inference())
    # By the storage, not its address: a copy that is put off has that of what it is a copy of.
    return (id(tensor.untyped_storage()), tensor.storage_offset(), *meta)


def _node(node: Node) -> Written | list[Any]:
    kwargs = {key: _value(one) for key, one in node.kwargs.items()}
    return [node.name, node.op, node.target, [_value(one) for one in node.args], kwargs]


def _value(value: Any) -> Any:
    if isinstance(value, Node):
        return {"node": value.name}
    if isinstance(value, list):
        return [_value(one) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [_value(one) for one in value]}
    return encoded(value)


def _results(value: Any) -> Any:
    if isinstance(value, Tensor):
        return {"tensor": None}
    if type(value) is list:
        return [_results(one) for one in value]
    if type(value) is tuple:
        return {"tuple": [_results(one) for one in value]}
    if type(value) is dict and all(type(one) is str for one in value):
        return {"dict": [[key, _results(one)] for key, one in value.items()]}
    if value is None or type(value) in (bool, int, str):
        return value
    raise UnwritableProgramError(f"a result that is a {type(value).__name__}")
