"""Programs compiled ahead of time: one file with a program, its weights and its machine code.

    0       header: magic, version, lengths, CRC-32 of what follows in three parts
    …       a description in JSON: processor, functions of the C library, kernels by hash, and the
            program as it was captured for inputs of certain sizes (`files.frozen`), and of all
            sizes of a range (`files.frozen_sizes`)
    page    machine code
    …       constants that were computed of weights, each aligned to 64 bytes
    page    the program, as `aten.export.save` writes it, which has the other constants

Whoever loads such a file runs its machine code, as with any program. The checksums find damage, and
not malice.
"""

from __future__ import annotations

import os
import struct
import zlib

from aten._core.base.dtypes import DTYPES
from aten._core.memory.storage import Storage, storage_from_buffer
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu import brought, images
from aten.backends.cpu.widths import is_allowed
from aten.compiler.files.description import parsed
from aten.compiler.files.frozen import FrozenProgram, decoded
from aten.compiler.files.frozen_sizes import FrozenSizes
from aten.graph.errors import ArchiveError
from aten.graph.mapping import map_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from aten.compiler.functions import CompiledFunction
    from aten.graph.program import ExportedProgram

MAGIC = b"ATENC\r\n\x1a"
# Goes up with every change of this format, of kernels' signature and of programs' texts.
VERSION = 4
HEADER = struct.Struct("<8sIIQQQQIII")
# The bytes of the header that are not under a checksum: the checksums.
CHECKSUM_BYTES = 12
_LONGEST_DESCRIPTION = 1 << 28
_DIGEST_BYTES = 32
# What LLVM may use of x86-64, as Linux calls it.
_FEATURES = frozenset(
    "sse4_1 sse4_2 ssse3 avx avx2 fma f16c bmi1 bmi2 abm popcnt movbe adx aes vaes pclmulqdq "
    "vpclmulqdq sha_ni rdseed sse4a fma4 xop avx_vnni avx512f avx512bw avx512cd avx512dq avx512vl "
    "avx512vbmi avx512ifma avx512_vnni avx512_bf16 avx512_fp16 avx512_vbmi2 avx512_bitalg "
    "avx512_vpopcntdq gfni".split()
)
# What reading a description that is none may raise.
_WRONG = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError)


class Processor:
    """What machine code asks of the one that runs it."""

    __slots__ = ("features", "machine")

    def __init__(self, machine: str, features: frozenset[str]) -> None:
        self.machine = machine
        self.features = features


def this_processor() -> Processor:
    """The processor of this process, without what `ATEN_VECTOR_BYTES` leaves out."""
    flags: list[str] = []
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((one.partition(":")[2].split() for one in file if one[:5] == "flags"), [])
    except OSError:
        pass
    usable = frozenset(filter(is_allowed, _FEATURES.intersection(flags)))
    return Processor(os.uname().machine, usable)


class AheadProgram:
    """A program with its machine code in memory.

    Attributes:
        input_names: the names of its inputs.
        output_names: the names of what it gives.
        fixed_inputs: by name, the inputs that are no tensors but part of the program.
    """

    def __init__(
        self,
        saved: memoryview,
        description: Mapping[str, Any],
        plans: list[FrozenProgram | FrozenSizes],
    ) -> None:
        self.input_names: list[str] = list(description["input_names"])
        self.output_names: list[str] = list(description["output_names"])
        self.fixed_inputs: dict[str, Any] = {
            name: decoded(value) for name, value in description["fixed_inputs"].items()
        }
        self._saved = saved
        self._plans = plans
        self._program: ExportedProgram | None = None
        self._function: CompiledFunction | None = None
        self._state: list[tuple[Any, int]] = []

    @property
    def program(self) -> ExportedProgram:
        """The program, which is read when it is first asked for."""
        if self._program is None:
            from aten.grad_mode import inference_mode
            from aten.graph.reader import load_program

            # Writes to tensors of inference mode are not counted.
            with inference_mode(False):
                self._program = load_program(self._saved, verify=False)
            self._state = self._state_now()
        return self._program

    @property
    def compiled(self) -> CompiledFunction:
        """Gives its outputs for inputs of all sizes, captured when they are first met."""
        if self._function is None:
            self._function = compiled_function(self.program)
        return self._function

    def flat_call(self, inputs: list[Any]) -> Any:
        """The program's outputs for its inputs in order."""
        if self._program is None or self._is_as_saved():
            for plan in self._plans:
                made = plan(inputs)
                if made is not None:
                    return made
        return self.compiled(*inputs)

    def _is_as_saved(self) -> bool:
        """Whether nobody has written to its weights, or put others in their place."""
        now = self._state_now()
        return len(now) == len(self._state) and all(
            one is other and version == then
            for (one, version), (other, then) in zip(now, self._state, strict=True)
        )

    def _state_now(self) -> list[tuple[Any, int]]:
        assert self._program is not None
        every = (*self._program.state_dict.values(), *self._program.constants.values())
        return [(one, one._version) for one in every]


def compile_program(
    program: ExportedProgram, path: str | os.PathLike[str], sizes: Iterable[int | None] = (None,)
) -> int:
    """Write a program with the machine code that it runs. Gives the number of kernels.

    The program runs with zeros, once for each of the sizes that its dynamic dimensions are to have;
    None is a size that it was exported for. Where one size is dynamic and what follows from it are
    polynomials, the file serves all sizes. It must be the first thing that its process runs: what
    was loaded before is not written.

    Raises:
        LinkError: the machine code is none that can be written: of another processor than x86-64.
        OSError: the file cannot be written.
    """
    from aten.compiler.files.ahead_writing import write_program

    return write_program(program, path, sizes)


def load(path: str | os.PathLike[str], verify: bool = True) -> AheadProgram:
    """A program from a file that `aten compile` wrote, its machine code in memory.

    Called with inputs of sizes that it was compiled for, it captures and optimizes nothing, and
    asks LLVM for nothing. The file is mapped: nobody may make it shorter meanwhile.

    Args:
        path: the file.
        verify: check weights and program against their CRC-32, which reads all of them once.

    Raises:
        OSError: the file cannot be opened, or the system lets no code be loaded.
        ArchiveError: it is no such file, cut short, damaged, of another version, or for another
            processor.
    """
    name = os.fspath(path)
    buffer = map_file(name)
    description, content, constants, saved = _sections(name, buffer, verify)
    processor = this_processor()
    wanted = Processor(description["machine"], frozenset(description["features"]))
    lacking = sorted(wanted.features - processor.features)
    if wanted.machine != processor.machine or lacking:
        raise ArchiveError(
            f"{name}: compiled for {wanted.machine} with {', '.join(lacking) or 'other features'}; "
            f"this is {processor.machine}{' without' if lacking else ''}: compile the program here"
        )
    image = images.Image(content, description["code"], description["functions"], {})
    try:
        loaded = images.loaded(image)
    except images.LinkError as error:
        raise ArchiveError(f"{name}: {error}") from None
    kernels = {key: loaded.address + place for key, place in description["kernels"].items()}
    try:
        plans = _plans(description, kernels, loaded, constants, saved)
        made = AheadProgram(saved, description, plans)
    except _WRONG as error:
        raise ArchiveError(f"{name}: damaged: {error}") from None
    addresses = {bytes.fromhex(key): address for key, address in kernels.items()}
    brought.bring(addresses, description["vector_bytes"], loaded)
    return made


def _plans(
    description: Mapping[str, Any],
    kernels: Mapping[str, int],
    loaded: object,
    constants: memoryview,
    saved: memoryview,
) -> list[FrozenProgram | FrozenSizes]:
    storages: dict[bool, Storage] = {}
    made: list[Tensor] = []
    for is_apart, place, element, sizes, strides in description["constants"]:
        if is_apart not in storages:
            storages[is_apart] = storage_from_buffer(constants if is_apart else saved)
        storage = storages[is_apart]
        made.append(tensor_from_buffer(storage, DTYPES[element], sizes, strides, place))

    def make(written: Mapping[str, Any]) -> FrozenProgram:
        return FrozenProgram(written, made, kernels, loaded)

    plans: list[FrozenProgram | FrozenSizes] = [make(one) for one in description["plans"]]
    return [*plans, *(FrozenSizes(one, make) for one in description["sizes"])]


def is_compiled(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as one that `aten compile` wrote."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def compiled_function(program: ExportedProgram) -> CompiledFunction:
    """The program's outputs for its inputs in order, captured."""
    from aten.compiler.functions import CompiledFunction
    from aten.graph.program import ProgramModule

    module = ProgramModule(program)
    return CompiledFunction(lambda *inputs: module.program.flat_call(inputs))


def on_page(place: int) -> int:
    """The first page that begins at a place or behind it."""
    return -(-place // images.PAGE) * images.PAGE


def _sections(
    name: str, buffer: memoryview, verify: bool
) -> tuple[dict[str, Any], memoryview, memoryview, memoryview]:
    """Description, code, constants and program of a file, checked. Raises ArchiveError."""
    if len(buffer) < HEADER.size or bytes(buffer[: len(MAGIC)]) != MAGIC:
        raise ArchiveError(f"{name}: not a file that aten compile wrote")
    _, version, flags, *numbers = HEADER.unpack_from(buffer)
    if version != VERSION or flags:
        raise ArchiveError(
            f"{name}: written in version {version} of the format, this is {VERSION}: compile it "
            f"anew"
        )
    described, code, constants, program, *checksums = numbers
    first = on_page(HEADER.size + described)
    second = first + code
    third = on_page(second + constants)
    if described > _LONGEST_DESCRIPTION or third + program != len(buffer):
        raise ArchiveError(f"{name}: cut short or damaged: its parts are not as long as it says")
    head = zlib.crc32(buffer[: HEADER.size - CHECKSUM_BYTES])
    head = zlib.crc32(buffer[HEADER.size : second], head)
    if head != checksums[0]:
        raise ArchiveError(f"{name}: damaged: the checksum of its code does not match")
    if verify and [zlib.crc32(buffer[second:third]), zlib.crc32(buffer[third:])] != checksums[1:]:
        raise ArchiveError(f"{name}: damaged: the checksum of its weights does not match")
    content = buffer[first:second]
    try:
        found = parsed(bytes(buffer[HEADER.size : HEADER.size + described]))
        _require(found, content)
    except (*_WRONG, RecursionError):
        raise ArchiveError(f"{name}: damaged: its description is none") from None
    return found, content, buffer[second : second + constants], buffer[third:]


def _require(found: Mapping[str, Any], content: memoryview) -> None:
    """Raises ValueError, KeyError or TypeError where numbers would lead out of the code."""
    code, functions = found["code"], found["functions"]
    places = found["kernels"].values()
    sound = (
        type(code) is int
        and 0 <= code <= len(content)
        and code % images.PAGE == 0
        and code + 8 * len(functions) <= len(content)
        and all(type(one) is str for one in (*functions, *found["features"], found["machine"]))
        and all(type(one) is int and 0 <= one < code for one in places)
        and all(len(bytes.fromhex(key)) == _DIGEST_BYTES for key in found["kernels"])
        and found["vector_bytes"] in (16, 32, 64)
    )
    if not sound:
        raise ValueError("numbers out of range")
