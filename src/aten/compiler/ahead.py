"""Programs compiled ahead of time: one file with a program, its weights and its machine code.

    0       header: magic, version, lengths, SHA-256 of what stands before the program
    …       a description in JSON: processor, functions of the C library, kernels by hash
    page    machine code
    page    the program, as `aten.export.save` writes it, with a CRC-32 of each weight

Whoever loads such a file runs its machine code, as with any program. The checksums find damage, and
not malice.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import struct
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from aten.backends.cpu import jit, linking
from aten.compiler.functions import CompiledFunction
from aten.graph.archive import map_file
from aten.graph.errors import ArchiveError
from aten.graph.program import ExportedProgram, ProgramModule
from aten.graph.reader import load_program
from aten.graph.writing.program import save_program

MAGIC = b"ATENC\r\n\x1a"
# Goes up with every change of this format, of kernels' signature and of programs' texts.
VERSION = 1
_HEADER = struct.Struct("<8sIIQQQ32s")
_LONGEST_DESCRIPTION = 1 << 26
_DIGEST_BYTES = 32
# What LLVM may use of x86-64, as Linux calls it.
_FEATURES = frozenset(
    "sse4_1 sse4_2 ssse3 avx avx2 fma f16c bmi1 bmi2 abm popcnt movbe adx aes vaes pclmulqdq "
    "vpclmulqdq sha_ni rdseed sse4a fma4 xop avx_vnni avx512f avx512bw avx512cd avx512dq avx512vl "
    "avx512vbmi avx512ifma avx512_vnni avx512_bf16 avx512_fp16 avx512_vbmi2 avx512_bitalg "
    "avx512_vpopcntdq gfni".split()
)


class Processor(NamedTuple):
    """What machine code asks of the one that runs it."""

    machine: str
    features: frozenset[str]


def this_processor() -> Processor:
    """The processor of this process."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return Processor(platform.machine(), _FEATURES.intersection(flags))


class AheadProgram(NamedTuple):
    """A program with its machine code in memory.

    Attributes:
        program: the program.
        compiled: gives its outputs for its inputs, compiled.
    """

    program: ExportedProgram
    compiled: CompiledFunction

    def flat_call(self, inputs: list[Any]) -> Any:
        """The program's outputs for its inputs in order."""
        return self.compiled(*inputs)


def compile_program(
    program: ExportedProgram, path: str | os.PathLike[str], sizes: Iterable[int | None] = (None,)
) -> int:
    """Write a program with the machine code that it runs. Gives the number of kernels.

    The program runs with zeros, once for each of the sizes that its dynamic dimensions are to have;
    None is a size that it was exported for. It must be the first thing that its process runs: what
    was loaded before is not written.

    Raises:
        LinkError: the machine code is none that can be written: of another processor than x86-64.
        OSError: the file cannot be written.
    """
    objects = jit.keep_objects()
    for size in sizes:
        inputs = _zeros(program, size)
        program.flat_call(inputs)
        _compiled(program)(*inputs)
    kernels = {text: name for text, (name, _) in objects.items()}
    image = linking.linked(dict(objects.values()))
    processor = this_processor()
    description = json.dumps(
        {
            "machine": processor.machine,
            "features": sorted(processor.features),
            "vector_bytes": jit.vector_bytes(),
            "code": image.code,
            "functions": list(image.functions),
            "kernels": {
                jit.digest(text).hex(): image.symbols[name] for text, name in kernels.items()
            },
        }
    ).encode()
    buffer = BytesIO()
    save_program(program, buffer)
    _write(path, description, image.content, buffer.getvalue())
    return len(kernels)


def load(path: str | os.PathLike[str], verify: bool = True) -> AheadProgram:
    """A program from a file that `aten compile` wrote, its machine code in memory.

    LLVM is asked for nothing, as long as the program is called with what it was compiled for. The
    file is mapped: nobody may make it shorter meanwhile.

    Args:
        path: the file.
        verify: check the weights against their CRC-32, which reads all of them once.

    Raises:
        OSError: the file cannot be opened, or the system lets no code be loaded.
        ArchiveError: it is no such file, cut short, damaged, of another version, or for another
            processor.
    """
    name = os.fspath(path)
    buffer = map_file(name)
    description, content, program = _sections(name, buffer)
    processor = this_processor()
    wanted = Processor(description["machine"], frozenset(description["features"]))
    lacking = sorted(wanted.features - processor.features)
    if wanted.machine != processor.machine or lacking:
        raise ArchiveError(
            f"{name}: compiled for {wanted.machine} with {', '.join(lacking) or 'other features'}; "
            f"this is {processor.machine}{' without' if lacking else ''}: compile the program here"
        )
    image = linking.Image(content, description["code"], description["functions"], {})
    try:
        loaded = linking.Loaded(image)
    except linking.LinkError as error:
        raise ArchiveError(f"{name}: {error}") from None
    made = load_program(program, verify=verify)
    kernels = {
        bytes.fromhex(key): loaded.address + place for key, place in description["kernels"].items()
    }
    jit.bring(kernels, description["vector_bytes"], loaded)
    return AheadProgram(made, _compiled(made))


def is_compiled(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as one that `aten compile` wrote."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _compiled(program: ExportedProgram) -> CompiledFunction:
    module = ProgramModule(program)
    return CompiledFunction(lambda *inputs: module.program.flat_call(inputs))


def _zeros(program: ExportedProgram, size: int | None) -> list[Any]:
    from aten.graph.ir import TensorMeta, concrete
    from aten.registry import ops

    sizes = program.example_sizes(size)
    made: list[Any] = []
    for _, record in program.input_metadata:
        if isinstance(record, TensorMeta):
            shape = [int(concrete(one, sizes)) for one in record.shape]
            made.append(ops.aten.zeros(shape, dtype=record.dtype))
        else:
            made.append(concrete(record, sizes))
    return made


def _write(path: str | os.PathLike[str], description: bytes, code: bytes, program: bytes) -> None:
    """The file, which is there as a whole or not at all."""
    first = _on_page(_HEADER.size + len(description))
    lengths = len(description), len(code), len(program)
    head = _HEADER.pack(MAGIC, VERSION, 0, *lengths, bytes(_DIGEST_BYTES))
    checked = _digest(head, description, code)
    head = _HEADER.pack(MAGIC, VERSION, 0, *lengths, checked)
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            for part, place in ((head + description, 0), (code, first)):
                file.seek(place)
                file.write(part)
            file.seek(first + len(code))
            file.write(program)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _on_page(place: int) -> int:
    return -(-place // linking.PAGE) * linking.PAGE


def _digest(head: bytes, description: bytes, code: bytes) -> bytes:
    return hashlib.sha256(head[:-_DIGEST_BYTES] + description + code).digest()


def _sections(name: str, buffer: memoryview) -> tuple[dict[str, Any], bytes, memoryview]:
    """The parts of a file, the first two checked. Raises ArchiveError."""
    if len(buffer) < _HEADER.size or bytes(buffer[: len(MAGIC)]) != MAGIC:
        raise ArchiveError(f"{name}: not a file that aten compile wrote")
    _, version, flags, *lengths, checked = _HEADER.unpack_from(buffer)
    if version != VERSION or flags:
        raise ArchiveError(
            f"{name}: written in version {version} of the format, this is {VERSION}: compile it "
            f"anew"
        )
    described, code, program = lengths
    first = _on_page(_HEADER.size + described)
    if described > _LONGEST_DESCRIPTION or first + code + program != len(buffer):
        raise ArchiveError(f"{name}: cut short or damaged: its parts are not as long as it says")
    description = bytes(buffer[_HEADER.size : _HEADER.size + described])
    content = bytes(buffer[first : first + code])
    if _digest(bytes(buffer[: _HEADER.size]), description, content) != checked:
        raise ArchiveError(f"{name}: damaged: the checksum of its code does not match")
    try:
        found = json.loads(description)
        _require(found, content)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ArchiveError(f"{name}: damaged: its description is none") from None
    return found, content, buffer[first + code :]


def _require(found: Mapping[str, Any], content: bytes) -> None:
    """Raises ValueError, KeyError or TypeError where numbers would lead out of the code."""
    code, functions = found["code"], found["functions"]
    places = found["kernels"].values()
    sound = (
        type(code) is int
        and 0 <= code <= len(content)
        and code % linking.PAGE == 0
        and code + 8 * len(functions) <= len(content)
        and all(type(one) is str for one in (*functions, *found["features"], found["machine"]))
        and all(type(one) is int and 0 <= one < code for one in places)
        and all(len(bytes.fromhex(key)) == _DIGEST_BYTES for key in found["kernels"])
        and found["vector_bytes"] in (16, 32, 64)
    )
    if not sound:
        raise ValueError("numbers out of range")
