"""Run a program saved by torch.export.save, or compiled by `aten compile`.

Inputs come from files, matched by name (`x`, or `in_0`, `in_1`, ... in order), or at random from
what the program records of them. An array named `labels` gives an accuracy; `expected`, or `out_0`,
`out_1`, ..., an agreement. A bare file name that is not in the current folder is looked up among
the bundled examples.
"""

from __future__ import annotations

import os
import sys
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from aten._core.tensor.tensor import Tensor
    from aten.graph.program import ExportedProgram
    from aten.profiler import profile

NAME = "run"
SUMMARY = "run a program saved by torch.export.save"

_SHOWN_WHOLE = 16  # elements: outputs up to this size are printed
_LISTED = 1 << 14  # elements: up to so many, outputs are looked at as lists
_NOT_INPUTS = ("labels", "expected")


# What may be given beside MODEL, as argparse takes it.
_OPTIONS: dict[str, dict[str, Any]] = {
    "--input": {
        "metavar": "FILE",
        "action": "append",
        "default": [],
        "help": ".npz, .npy or .safetensors; may be given several times",
    },
    "--device": {"metavar": "NAME", "help": "where to run: cpu, reference, your own"},
    "--backend": {"metavar": "FILE", "help": "a Python file that registers a device"},
    "--random": {"action": "store_true", "help": "make the inputs up"},
    "--batch": {
        "metavar": "N",
        "type": int,
        "help": "with --random, --plan: the size of dynamic dimensions",
    },
    "--seed": {"type": int, "default": 0, "help": "with --random: where to start"},
    "--repeat": {"metavar": "N", "type": int, "default": 1, "help": "run N times, for the timings"},
    "--profile": {
        "action": "store_true",
        "help": "a table of the last run's time by operator",
    },
    "--profile-trace": {
        "metavar": "FILE",
        "help": "write the last run for chrome://tracing, Perfetto",
    },
    "--flame-graph": {
        "metavar": "FILE",
        "help": "draw who called what in the last run, as SVG",
    },
    "--trace": {"action": "store_true", "help": "print the path of every call"},
    "--plan": {
        "action": "store_true",
        "help": "print FLOPs, bytes and memory by operator, and compute nothing",
    },
    "--graph": {"action": "store_true", "help": "print the program, and do not run it"},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a .pt2 or .atenc file")
    for name, described in _OPTIONS.items():
        parser.add_argument(name, **described)


class _PlainOptions:
    """The options of a command line, as argparse would give them."""

    def __init__(self, values: dict[str, Any]) -> None:
        vars(self).update(values)


def plain_options(given: list[str]) -> Any:
    """The options of a command line of whole words, without argparse. None for all others: what is
    wrong, abbreviated or asks for help is argparse's to answer."""
    values: dict[str, Any] = {
        _attribute(name): one.get("default", False if "action" in one else None)
        for name, one in _OPTIONS.items()
    }
    values |= {"command": "run", "traceback": False, "execute": execute, "input": []}
    words = iter(given)
    for word in words:
        if not word.startswith("-") and "model" not in values:
            values["model"] = word
            continue
        described = _OPTIONS.get(word)
        if described is None:
            return None
        if described.get("action") == "store_true":
            values[_attribute(word)] = True
            continue
        value = next(words, "-")
        is_number = "type" in described
        if value.startswith("-") or (is_number and not (value.isascii() and value.isdecimal())):
            return None
        if described.get("action") == "append":
            values[_attribute(word)].append(value)
        else:
            values[_attribute(word)] = int(value) if is_number else value
    return _PlainOptions(values) if "model" in values else None


def _attribute(name: str) -> str:
    return name.removeprefix("--").replace("-", "_")


def execute(options: argparse.Namespace) -> None:
    from aten.graph import bundled

    if options.repeat < 1:
        raise ValueError("--repeat must be at least 1")
    started = perf_counter()
    # A plan never looks at the weights.
    path = bundled.find(options.model, sys.stdout)
    model: _Program | _Compiled
    if _is_compiled(path):
        model = _Compiled(path, verify=not options.plan)
    else:
        model = _Program(path, verify=not options.plan)
    if options.graph:
        print(model.program.graph, end="")
        return
    if options.plan:
        _report_plan(model.program, options.batch)
        return
    if options.backend:
        import runpy

        runpy.run_path(options.backend)
    if options.device:
        model.program = model.program.to(options.device)
    call = model.prepared()
    loaded = perf_counter() - started
    data = _read_files(options.input)
    inputs = _random_inputs(model.program, options) if options.random else _pick_inputs(model, data)
    if options.device:
        inputs = [_moved(value, options.device) for value in inputs]
    for name, value in zip(model.input_names, inputs, strict=True):
        print(f"input   {name}  {_describe(value)}")
    outputs, seconds, profiled = _run(call, inputs, options)
    if options.device:
        outputs = [_moved(value, "cpu") for value in outputs]
    named = list(zip(model.output_names, outputs, strict=True))
    for name, output in named:
        print(f"output  {name}  {_describe(output)}{_contents(output)}")
    _report_accuracy(data, named)
    _report_agreement(data, named)
    _report_costs(loaded, seconds)
    if profiled is not None:
        _report_profile(profiled, options)


class _Program:
    """A program from a .pt2 file, as commands ask for it.

    Attributes:
        program: the program itself.
        fixed_inputs: by name, the inputs that are no tensors but part of the program.
    """

    def __init__(self, path: Any, verify: bool) -> None:
        from aten.export import load

        self.program = load(path, verify=verify)

    @property
    def input_names(self) -> list[str]:
        return [name for name, _ in self.program.input_metadata]

    @property
    def fixed_inputs(self) -> dict[str, Any]:
        from aten.graph.ir import TensorMeta

        metadata = self.program.input_metadata
        return {name: one for name, one in metadata if not isinstance(one, TensorMeta)}

    @property
    def output_names(self) -> list[str]:
        return self.program.output_names

    def prepared(self) -> Callable[..., Any]:
        """What gives its outputs for a list of inputs, with every operator there."""
        self.program.prepare()
        return self.program.flat_call


class _Compiled:
    """A program that `aten compile` wrote, as commands ask for it; see `_Program`."""

    def __init__(self, path: Any, verify: bool) -> None:
        from aten.compiler import ahead

        self.made = ahead.load(path, verify=verify)
        self.input_names = self.made.input_names
        self.fixed_inputs = self.made.fixed_inputs
        self.output_names = self.made.output_names
        # On another device.
        self._moved: ExportedProgram | None = None

    @property
    def program(self) -> ExportedProgram:
        return self._moved or self.made.program

    @program.setter
    def program(self, moved: ExportedProgram) -> None:
        self._moved = moved

    def prepared(self) -> Callable[..., Any]:
        if self._moved is None:
            return self.made.flat_call
        self._moved.prepare()
        return self._moved.flat_call


def _is_compiled(path: Any) -> bool:
    with open(path, "rb") as file:
        return file.read(8) == b"ATENC\r\n\x1a"


def _moved(value: Any, place: str) -> Any:
    from aten._core.tensor.tensor import Tensor

    return value.to(place) if isinstance(value, Tensor) else value


def _report_plan(program: ExportedProgram, size: int | None) -> None:
    from aten.profiler.planning import plan_program

    print(plan_program(program, size).table())


def _read_files(paths: list[str]) -> dict[str, Tensor]:
    from aten.graph import bundled
    from aten.graph.tensor_files import read_tensors

    data: dict[str, Tensor] = {}
    for path in paths:
        for name, value in read_tensors(os.fspath(bundled.find(path, sys.stdout))).items():
            if name in data:
                raise ValueError(f"{path}: an array named {name!r} was given already")
            data[name] = value
    return data


def _pick_inputs(model: _Program | _Compiled, data: dict[str, Tensor]) -> list[Any]:
    """One value for each user input: by its name, by its number, or in order."""
    from aten.graph.errors import InputError

    fixed = model.fixed_inputs
    names = [name for name in model.input_names if name not in fixed]
    numbers = [f"in_{position}" for position in range(len(names))]
    others = [name for name in data if name not in _NOT_INPUTS and not _is_output(name)]
    for candidates in (names, numbers, others):
        if len(candidates) == len(names) and all(name in data for name in candidates):
            chosen = dict(zip(names, candidates, strict=True))
            return [
                data[chosen[name]] if name in chosen else fixed[name] for name in model.input_names
            ]
    program = model.program
    wanted = "; ".join(f"{name}: {program.describe_input(name)}" for name in names)
    given = f"the files hold {', '.join(data)}" if data else "give --input FILE or --random"
    raise InputError(f"the program takes {wanted}; {given}")


def _is_output(name: str) -> bool:
    return name.startswith("out_") and name[4:].isdigit()


def _random_inputs(program: ExportedProgram, options: argparse.Namespace) -> list[Any]:
    """Inputs of the recorded sizes and types: normal numbers, and zeros and ones for integers."""
    from aten._core.base.dtypes import DTYPES
    from aten._core.random.generator import Generator
    from aten.graph.ir import TensorMeta, concrete
    from aten.registry import ops

    sizes = program.example_sizes(options.batch)
    generator = Generator().manual_seed(options.seed)
    inputs: list[Any] = []
    for name, record in program.input_metadata:
        if not isinstance(record, TensorMeta):
            inputs.append(concrete(record, sizes))
            continue
        shape = [int(concrete(size, sizes)) for size in record.shape]
        if record.dtype.is_floating_point or record.dtype.is_complex:
            values = ops.aten.randn(shape, generator=generator, dtype=DTYPES["float64"])
        else:
            values = ops.aten.randint.low(0, 2, shape, generator=generator)
        try:
            inputs.append(values.to(record.dtype))
        except (TypeError, RuntimeError):
            raise ValueError(
                f"input {name!r}: random {record.dtype.name} values are not supported; "
                "give --input FILE"
            ) from None
    return inputs


def _run(
    call: Callable[..., Any], inputs: list[Any], options: argparse.Namespace
) -> tuple[list[Any], list[float], profile | None]:
    """The first run's outputs, the seconds of every run, and the last run's profile."""
    from contextlib import nullcontext

    from aten import memory
    from aten.dispatch import trace_dispatch

    memory.reset_peak()
    outputs: list[Any] = []
    seconds: list[float] = []
    profiled = _profile_of_last_run(options)
    with profiled or nullcontext():
        for position in range(options.repeat):
            tracing = options.trace and position == 0
            with trace_dispatch() if tracing else nullcontext():
                started = perf_counter()
                results = call(inputs)
                seconds.append(perf_counter() - started)
            outputs = outputs or results
            if profiled is not None:
                profiled.step()
    return outputs, seconds, profiled


def _profile_of_last_run(options: argparse.Namespace) -> profile | None:
    """One that drops the run before the last, in which operators find their kernels."""
    if not (options.profile or options.profile_trace or options.flame_graph):
        return None
    from aten.profiler import profile, schedule

    warmup = min(options.repeat - 1, 1)
    wait = options.repeat - 1 - warmup
    return profile(schedule=schedule(wait=wait, warmup=warmup, active=1, repeat=1))


def _describe(value: Any) -> str:
    from aten._core.tensor.tensor import Tensor

    if not isinstance(value, Tensor):
        return repr(value)
    return f"{value.dtype.name}[{', '.join(map(str, value.shape))}]"


def _contents(value: Any) -> str:
    """The values of a small tensor, or a summary of a larger one."""
    from aten._core.tensor.tensor import Tensor

    if not isinstance(value, Tensor):
        return ""
    if value.numel() <= _SHOWN_WHOLE:
        return f"  {_text(value.tolist())}"
    listed = _flat(value.tolist()) if _is_listed(value) else None
    if value.dtype.kind == "bool":
        true = int(value.sum()) if listed is None else sum(listed)
        return f"  {true} of {value.numel()} true"
    if value.is_complex():
        sizes = value.abs().flatten().tolist() if listed is None else list(map(abs, listed))
        return f"  |values| {min(sizes):.6g}..{max(sizes):.6g}"
    if listed is not None:
        return _contents_of_list(listed)
    wide = _widened(value)
    missing = int(wide.isnan().sum()) if wide.is_floating_point() else 0
    nans = f", {missing} NaN" if missing else ""
    low, high, mean = wide.min().item(), wide.max().item(), _float64(wide).mean().item()
    return f"  min {low:.6g}, max {high:.6g}, mean {mean:.6g}{nans}"


def _is_listed(value: Tensor) -> bool:
    """Whether its elements are looked at as numbers of Python's: for so few real ones no kernel
    has to be there, and for none where kernels cannot be made."""
    count = 1
    for size in value.shape:
        count *= size
    if 0 < count <= _LISTED and value.dtype.is_floating_point:
        return True
    return count > 0 and not _makes_kernels()


def _makes_kernels() -> bool:
    from importlib.util import find_spec

    return find_spec("llvmlite") is not None


def _flat(values: Any) -> list[Any]:
    while values and isinstance(values[0], list):
        values = [one for inner in values for one in inner]
    return values if isinstance(values, list) else [values]


def _contents_of_list(listed: list[Any]) -> str:
    import math

    missing = sum(map(math.isnan, listed))
    nans = f", {missing} NaN" if missing else ""
    low, high = (math.nan, math.nan) if missing else (min(listed), max(listed))
    mean = math.nan if missing else _mean(listed)
    return f"  min {low:.6g}, max {high:.6g}, mean {mean:.6g}{nans}"


def _mean(numbers: list[float]) -> float:
    import math

    if {-math.inf, math.inf} & set(numbers):
        return sum(numbers)
    return math.fsum(numbers) / len(numbers)


def _text(values: Any) -> str:
    if isinstance(values, list):
        return f"[{', '.join(map(_text, values))}]"
    return f"{values:.8g}" if isinstance(values, float | complex) else str(values)


def _widened(value: Tensor) -> Tensor:
    """Types of few bits as float32."""
    is_narrow = value.is_floating_point() and value.itemsize < 4
    return value.float() if is_narrow else value


def _float64(value: Tensor) -> Tensor:
    from aten._core.base.dtypes import DTYPES

    return value.to(DTYPES["complex128" if value.is_complex() else "float64"])


def _report_accuracy(data: dict[str, Tensor], named: list[tuple[str, Any]]) -> None:
    from aten._core.tensor.tensor import Tensor

    labels = data.get("labels")
    if labels is None:
        return
    for name, output in named:
        if not isinstance(output, Tensor):
            continue
        if output.dim() > 1 and output.shape[:-1] == labels.shape:
            right = _right(output, labels)
            share = 100 * right / max(labels.numel(), 1)
            print(f"accuracy   {right} of {labels.numel()} right ({share:.1f} %), by {name}")
            return
    print(f"accuracy   no output fits the {labels.numel()} labels")


def _right(output: Tensor, labels: Tensor) -> int:
    """How many rows have their largest element, or their first NaN, where the label says."""
    if not _is_listed(output):
        return int((_widened(output).argmax(-1) == labels).sum())
    listed, size = _flat(output.tolist()), output.shape[-1]
    rows = [listed[place : place + size] for place in range(0, len(listed), size)]
    return sum(map(_is_largest, rows, _flat(labels.tolist())))


def _is_largest(row: list[float], label: float) -> bool:
    missing = [place for place, one in enumerate(row) if one != one]
    return (missing[0] if missing else row.index(max(row))) == label


def _report_agreement(data: dict[str, Tensor], named: list[tuple[str, Any]]) -> None:
    from aten._core.tensor.tensor import Tensor

    for position, (name, found) in enumerate(named):
        keys = [f"out_{position}"] + (["expected"] if position == 0 else [])
        key = next((key for key in keys if key in data), None)
        if key is None or not isinstance(found, Tensor):
            continue
        expected = data[key]
        if found.shape != expected.shape:
            shapes = tuple(found.shape), tuple(expected.shape)
            print(f"agreement  {name}: shape {shapes[0]}, but {key} has {shapes[1]}")
            continue
        largest = _largest_difference(found, expected)
        print(f"agreement  {name}: largest difference to {key} {largest:.3g}")


def _largest_difference(found: Tensor, expected: Tensor) -> float:
    """Of elements that are not the same; NaN is the same as NaN."""
    if _is_listed(found):
        pairs = zip(_flat(found.tolist()), _flat(expected.tolist()), strict=True)
        apart = [
            abs(one - other)
            for one, other in pairs
            if one != other and (one == one or other == other)
        ]
        # A NaN beside a number is the largest difference.
        return next((one for one in apart if one != one), max(apart, default=0.0))
    left, right = _float64(found), _float64(expected)
    same = (left == right) | ((left != left) & (right != right))
    difference = (left - right).abs().masked_fill(same, 0.0)
    return difference.max().item() if difference.numel() else 0.0


def _report_costs(loaded: float, seconds: list[float]) -> None:
    from aten.memory import stats

    times = f"first run {_milliseconds(seconds[0])}"
    if len(seconds) > 1:
        later = sorted(seconds[1:])
        times += f", median of {len(later)} more {_milliseconds(later[len(later) // 2])}"
    print(f"time       loading {_milliseconds(loaded)}, {times}")
    memory = stats()
    print(
        f"memory     tensors {_mebibytes(memory['peak_bytes'])} at most, "
        f"process {_mebibytes(_peak_resident_bytes())}"
    )


def _peak_resident_bytes() -> int:
    import resource

    unit = 1 if sys.platform == "darwin" else 1024  # what getrusage counts in
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms"


def _mebibytes(count: int) -> str:
    return f"{count / 2**20:.1f} MiB"


def _report_profile(profiled: profile, options: argparse.Namespace) -> None:
    if options.profile:
        print()
        print(profiled.key_averages().table(row_limit=-1))
    if options.profile_trace:
        profiled.export_chrome_trace(options.profile_trace)
    if options.flame_graph:
        profiled.export_flame_graph(options.flame_graph, os.path.basename(options.model))
