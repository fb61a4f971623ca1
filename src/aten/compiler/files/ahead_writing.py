"""Writes the files that `aten.compiler.ahead` loads."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

from aten._core.base.dtypes import DTYPES
from aten.backends.cpu import brought, jit, linking
from aten.compiler import ahead
from aten.compiler.files.encoding import UnwritableProgramError, Written, encoded
from aten.compiler.files.freezing import Constants, frozen
from aten.compiler.files.freezing_sizes import frozen_sizes, is_covered
from aten.graph.ir import TensorMeta, concrete
from aten.graph.program import ExportedProgram, ProgramModule
from aten.graph.symbolic import ValueRange
from aten.graph.writing.program import save_program
from aten.registry import ops


def write_program(
    program: ExportedProgram, path: str | os.PathLike[str], sizes: Iterable[int | None]
) -> int:
    """See `aten.compiler.ahead.compile_program`."""
    objects = jit.keep_objects()
    buffer = BytesIO()
    save_program(program, buffer)
    saved = buffer.getvalue()
    constants = Constants(saved)
    module = ProgramModule(program)

    def call(*inputs: Any) -> Any:
        return module.program.flat_call(inputs)

    general = _of_all_sizes(program, call, constants)
    plans: list[Written] = []
    for size in _with_one(program, sizes, general):
        inputs = zeros(program, size)
        program.flat_call(inputs)
        ahead.compiled_function(program)(*inputs)
        try:
            # What files do not keep is captured when it is loaded.
            made = frozen(call, inputs, constants)
        except UnwritableProgramError:
            continue
        known = next(iter(program.example_sizes(size).values()), 0)
        if made not in plans and not any(is_covered(one, made, int(known)) for one in general):
            plans.append(made)
    kernels = {text: name for text, (name, _) in objects.items()}
    image = linking.linked(dict(objects.values()))
    processor = ahead.this_processor()
    fixed = [(name, one) for name, one in program.input_metadata if not isinstance(one, TensorMeta)]
    description = {
        "machine": processor.machine,
        "features": sorted(processor.features),
        "vector_bytes": jit.vector_bytes(),
        "code": image.code,
        "functions": list(image.functions),
        "kernels": {
            brought.digest(text).hex(): image.symbols[name] for text, name in kernels.items()
        },
        "input_names": [name for name, _ in program.input_metadata],
        "output_names": program.output_names,
        "fixed_inputs": {name: encoded(concrete(one, {})) for name, one in fixed if _is_plain(one)},
        "constants": constants.written,
        "plans": plans,
        "sizes": general,
    }
    _write(
        path,
        json.dumps(description).encode(),
        bytes(image.content),
        bytes(constants.content),
        saved,
    )
    return len(kernels)


def _of_all_sizes(
    program: ExportedProgram, call: Callable[..., Any], constants: Constants
) -> list[Written]:
    """The program for inputs of all sizes, where it has one size and files keep it."""
    symbols = list(program.example_sizes())
    if len(symbols) != 1:
        return []
    allowed = program.range_constraints.get(symbols[0], ValueRange(None, None))
    try:
        return [frozen_sizes(call, lambda size: zeros(program, size), allowed, constants)]
    except UnwritableProgramError:
        return []


def _with_one(
    program: ExportedProgram, sizes: Iterable[int | None], general: list[Written]
) -> list[int | None]:
    """The sizes to run with. No symbol stands for one, so that a size of one is among them."""
    given = list(sizes)
    allowed = map(program.range_constraints.get, program.example_sizes())
    if general and 1 not in given and all(one is None or 1 in one for one in allowed):
        given.append(1)
    return given


def zeros(program: ExportedProgram, size: int | None) -> list[Any]:
    """Inputs of the recorded types, and of the size in the place of each symbol."""
    sizes = program.example_sizes(size)
    made: list[Any] = []
    for _, record in program.input_metadata:
        if isinstance(record, TensorMeta):
            shape = [int(concrete(one, sizes)) for one in record.shape]
            made.append(ops.aten.zeros(shape, dtype=DTYPES[record.dtype.name]))
        else:
            made.append(concrete(record, sizes))
    return made


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _write(
    path: str | os.PathLike[str],
    description: bytes,
    code: bytes,
    constants: bytes,
    program: bytes,
) -> None:
    """The file, which is there as a whole or not at all."""
    header = ahead.HEADER
    first = ahead.on_page(header.size + len(description))
    second = first + len(code)
    third = ahead.on_page(second + len(constants))
    lengths = len(description), len(code), len(constants), len(program)
    middle = description + bytes(first - header.size - len(description)) + code
    padded = constants + bytes(third - second - len(constants))
    fields = ahead.MAGIC, ahead.VERSION, 0, *lengths
    unchecked = header.pack(*fields, 0, 0, 0)[: -ahead.CHECKSUM_BYTES]
    checksums = zlib.crc32(unchecked + middle), zlib.crc32(padded), zlib.crc32(program)
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            for part in (header.pack(*fields, *checksums), middle, padded, program):
                file.write(part)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
