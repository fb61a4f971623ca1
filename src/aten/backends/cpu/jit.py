"""LLVM: text to machine code, and the cache of compiled objects.

The key of an object is the hash of the program's text, the target machine and the versions of
LLVM and of this package. Files are written under another name and moved into place, so that
processes may share the folder; a file that does not carry its own checksum is dropped and made
anew. The folder is bounded: past the bound, the files used longest ago go.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aten import config

_MAGIC = b"ATENOBJ1"
_CODE_VERSION = "2"
_lock = threading.Lock()
_loaded: dict[str, Compiled] = {}
_session: Session | None = None


@dataclass(slots=True)
class Compiled:
    """A kernel in memory: its address, and the engine that owns the code."""

    address: int
    key: str
    engine: Any
    from_disk: bool


class Session:
    """The target machine and the passes; made once, on the first compilation."""

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        self.llvm = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple()
        features = llvm.get_host_cpu_features().flatten()
        cpu = llvm.get_host_cpu_name()
        self.machine = target.create_target_machine(
            cpu=cpu, features=features, opt=3, reloc="pic", codemodel="jitdefault", jit=True
        )
        self.triple = llvm.get_default_triple()
        self.layout = str(self.machine.target_data)
        parts = (llvmlite.__version__, self.triple, cpu, features, _CODE_VERSION)
        self.identity = "|".join(parts)

    def optimized(self, text: str) -> Any:
        """The module for LLVM IR text, after the passes."""
        llvm = self.llvm
        header = f'target triple = "{self.triple}"\ntarget datalayout = "{self.layout}"\n'
        module = llvm.parse_assembly(header + text)
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = True
        options.slp_vectorization = False
        options.loop_interleaving = True
        options.loop_unrolling = True
        builder = llvm.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(module, builder)
        return module

    def engine(self) -> Any:
        """An empty engine to load an object into."""
        return self.llvm.create_mcjit_compiler(self.llvm.parse_assembly(""), self.machine)

    def loaded(self, code: bytes) -> tuple[int, Any]:
        """The address of `kernel` in an object file, and the engine that keeps it."""
        engine = self.engine()
        engine.add_object_file(self.llvm.object_file.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return engine.get_function_address("kernel"), engine


    def check_symbols(self, code: bytes) -> None:
        """Raises NotImplementedError for an object that calls what this process does not have."""
        sections = self.llvm.object_file.ObjectFileRef.from_data(code).sections()
        names = next((one.data() for one in sections if one.name() == ".strtab"), b"")
        for name in names.decode().split("\0"):
            if not name or name in _OWN_SYMBOLS or name.startswith("."):
                continue
            if self.llvm.address_of_symbol(name) is None:
                raise NotImplementedError(f"the machine code calls {name}, which is not there")


_OWN_SYMBOLS = frozenset({"kernel", "_GLOBAL_OFFSET_TABLE_"})


def session() -> Session:
    """The process's session."""
    global _session
    if _session is None:
        _session = Session()
    return _session


def load(text: str, ir: Callable[[], str]) -> Compiled:
    """The kernel for a program's text; `ir` gives its LLVM IR where it must be compiled."""
    with _lock:
        found = _loaded.get(text)
        if found is not None:
            return found
        current = session()
        key = hashlib.sha256(f"{current.identity}\n{text}".encode()).hexdigest()
        code = _read(key)
        from_disk = code is not None
        if code is None:
            code = current.machine.emit_object(current.optimized(ir()))
            current.check_symbols(code)
            _write(key, code)
        address, engine = current.loaded(code)
        made = Compiled(address, key, engine, from_disk)
        _loaded[text] = made
        return made


def assembly(ir: str) -> str:
    """The machine code for LLVM IR text, as assembly."""
    current = session()
    return str(current.machine.emit_assembly(current.optimized(ir)))


def forget_loaded() -> None:
    """Let later loads go to the disk again; code already handed out stays valid."""
    with _lock:
        _retired.extend(_loaded.values())
        _loaded.clear()


_retired: list[Compiled] = []


def cache_directory() -> Path | None:
    """Where compiled objects are kept; None where the cache is switched off."""
    chosen = config.CACHE_DIR.get()
    return None if chosen == "off" else Path(chosen)


def _read(key: str) -> bytes | None:
    folder = cache_directory()
    if folder is None:
        return None
    path = folder / f"{key}.o"
    try:
        content = path.read_bytes()
    except OSError:
        return None
    code = content[40:]
    if content[:8] != _MAGIC or hashlib.sha256(code).digest() != content[8:40]:
        path.unlink(missing_ok=True)
        return None
    return code


def _write(key: str, code: bytes) -> None:
    folder = cache_directory()
    if folder is None:
        return
    temporary = folder / f"{key}.{os.getpid()}.{threading.get_ident()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(_MAGIC + hashlib.sha256(code).digest() + code)
        os.replace(temporary, folder / f"{key}.o")
    except OSError:
        temporary.unlink(missing_ok=True)
        return
    _trim(folder)


_writes_since_trim = 0


def _trim(folder: Path) -> None:
    """Every so many writes, remove the files used longest ago beyond the bound."""
    global _writes_since_trim
    _writes_since_trim += 1
    if _writes_since_trim % 64:
        return
    files = []
    for path in folder.glob("*.o"):
        try:
            status = path.stat()
        except OSError:
            continue
        files.append((max(status.st_atime, status.st_mtime), status.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= config.CACHE_LIMIT.get():
            return
        path.unlink(missing_ok=True)
        total -= size
