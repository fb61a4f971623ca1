"""LLVM: text to machine code, and the cache of compiled objects.

The key of an object is the hash of its LLVM IR, the target machine and the versions of LLVM and of
the file format, so that a change anywhere before LLVM makes another key.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from aten._core.threads import forks
from aten.backends.cpu import brought, cache
from aten.backends.cpu.variants import VARIANT
from aten.backends.cpu.widths import is_allowed

# A file in a kernel's place that is larger than any kernel is none.
_MOST_BYTES = 1 << 26
_FORMAT_VERSION = "3"
# Stands in LLVM IR for the function's name, which is made from the hash of that IR.
PLACEHOLDER = "kernel_name"
# A vector store in optimized IR that has the mark of `KernelEmitter.streamed`.
_STREAMED_STORE = re.compile(
    r"(?P<store>store <(?P<count>\d+) x (?P<kind>[a-z]+)(?P<bits>\d*)> .*?, ptr %[\w.]+), align \d+"
    r"(?P<marks>.*!alias\.scope)"
)
# What keeps functions that nothing calls in a module.
_KEPT = re.compile(r"^@llvm\.compiler\.used = .*$", re.M)
_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
# The least alignment of memory that is written past the caches, and the widest store's.
_STREAM_ALIGNMENT = 64
# All that happens in LLVM happens under it, so that forks find LLVM at rest.
_lock = threading.RLock()
forks.hold(_lock)
# By the text of the program, and by the key: two programs may come to the same IR.
_loaded: dict[str, Compiled] = {}
_made: dict[str, Compiled] = {}
# By the text of a program, its kernel's name and its object, while somebody wants to know.
_objects: dict[str, tuple[str, bytes]] | None = None
_session: Session | None = None


@dataclass(slots=True)
class Compiled:
    """A kernel in memory: its address, where its code came from, and what keeps it loaded."""

    address: int
    key: str
    from_disk: bool
    library: Any


class Session:
    """The target machine and the passes; made once, on the first compilation."""

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        self.llvm = llvm
        _hold_library_lock()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._cpu = llvm.get_host_cpu_name()
        self._features = _allowed(llvm.get_host_cpu_features())
        self._linker: Any = None
        self._libraries = count()
        self.machine = self._machine()
        self.triple = llvm.get_default_triple()
        self.layout = str(self.machine.target_data)
        parts = (llvmlite.__version__, self.triple, self._cpu, self._features, _FORMAT_VERSION)
        self.identity = "|".join(parts)

    def _machine(self) -> Any:
        return self.llvm.Target.from_default_triple().create_target_machine(
            cpu=self._cpu,
            features=self._features,
            opt=3,
            reloc="pic",
            codemodel="small",
            jit=True,
        )

    @property
    def vector_bytes(self) -> int:
        """The size of the processor's vector registers."""
        if "+avx512f" in self._features:
            return 64
        return 32 if "+avx2" in self._features else 16

    @property
    def has_halves(self) -> bool:
        """Whether there are instructions from float16 to float32 and back, as on all but x86."""
        return "+f16c" in self._features or not self.triple.startswith(("x86_64", "i386", "i686"))

    @property
    def has_masks(self) -> bool:
        """Whether lanes of any width can be left out of loads and stores at no cost."""
        return "+avx512bw" in self._features and "+avx512vl" in self._features

    def optimized(self, text: str) -> Any:
        """The module for LLVM IR text, after the passes.

        Those of level 2: level 3 would only write the loops once more for each answer to whether
        there are whole vectors, and whether there is a rest.
        """
        llvm = self.llvm
        header = f'target triple = "{self.triple}"\ntarget datalayout = "{self.layout}"\n'
        module = llvm.parse_assembly(header + text)
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = True
        options.slp_vectorization = False
        options.loop_interleaving = True
        options.loop_unrolling = True
        builder = llvm.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(module, builder)
        if VARIANT in text:
            module = self.inlined(module, builder)
        if self.triple.startswith("x86_64"):
            return module
        from aten.backends.cpu.lane_folds import folded_by_halves

        return llvm.parse_assembly(folded_by_halves(str(module)))

    def inlined(self, module: Any, builder: Any) -> Any:
        """`module` with the functions inlined that were to be called until loops were vectors.

        Then, too, what the test of a block and its loop have in common is computed once.
        """
        text = _KEPT.sub("", str(module).replace("noinline", "alwaysinline"))
        module = self.llvm.parse_assembly(text)
        passes = self.llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_new_gvn_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, builder)
        return module

    def streaming(self, module: Any) -> Any:
        """`module` with the vector stores that are marked going past the caches.

        Only now: the vectorizer leaves loops alone whose scalar stores are marked so, since these
        would have to promise the alignment of vectors.
        """
        text = str(module)
        mark = 1 + max((int(number) for number in re.findall(r"^!(\d+) = ", text, re.M)), default=0)

        def marked(match: re.Match[str]) -> str:
            bits = _BITS.get(match["kind"]) or int(match["bits"])
            alignment = min(int(match["count"]) * bits // 8, _STREAM_ALIGNMENT)
            return f"{match['store']}, align {alignment}, !nontemporal !{mark}{match['marks']}"

        return self.llvm.parse_assembly(
            _STREAMED_STORE.sub(marked, text) + f"\n!{mark} = !{{i32 1}}\n"
        )

    def loaded(self, code: bytes, symbol: str) -> tuple[int, Any]:
        """The address of `symbol` in an object file, and the library that keeps it loaded.

        Each object is a library of its own: local symbols of two objects (constant pools) may have
        one name. The linker owns the target machine it is given, so it gets another one. It is
        JITLink, which asks for the memory of an object's code and constants in one piece: these
        address each other by 32 bits, and what lies between two pieces may be gigabytes of tensors.
        """
        llvm = self.llvm
        if self._linker is None:
            self._linker = llvm.create_lljit_compiler(self._machine(), use_jit_link=True)
        builder = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(symbol)
        # A name of its own for each: where linking was cut short, the name stays in use.
        name = f"{symbol}_{next(self._libraries)}"
        library = builder.add_current_process().link(self._linker, name)
        return library[symbol], library

    def check_symbols(self, code: bytes) -> None:
        """Raises NotImplementedError for an object that calls what this process does not have."""
        sections = self.llvm.object_file.ObjectFileRef.from_data(code).sections()
        names = next((one.data() for one in sections if one.name() == ".strtab"), b"")
        for name in names.decode().split("\0"):
            if not name or name.startswith((".", "kernel_", "_GLOBAL_OFFSET_TABLE_")):
                continue
            if self.llvm.address_of_symbol(name) is None:
                raise NotImplementedError(f"the machine code calls {name}, which is not there")


def _allowed(features: Mapping[str, bool]) -> str:
    """The processor's features as LLVM reads them, those that may not be used switched off."""
    return ",".join(
        f"{'+' if has and is_allowed(name) else '-'}{name}"
        for name, has in sorted(features.items())
    )


def _hold_library_lock() -> None:
    """Let forks wait for others who are in llvmlite, such as Numba in another thread, too."""
    from llvmlite.binding import ffi

    lock = getattr(getattr(ffi.lib, "_lock", None), "_lock", None)
    if lock is not None:
        forks.hold(lock)


def session() -> Session:
    """The process's session."""
    global _session
    with _lock:
        if _session is None:
            _session = Session()
        return _session


def load(text: str, ir: Callable[[], str], streams: bool = False) -> Compiled:
    """The kernel for a program's text; `ir` gives its LLVM IR, with PLACEHOLDER for its name.

    With `streams` marked stores go past the caches, to memory aligned to 64 bytes.
    """
    with _lock:
        kept = _objects is None or text in _objects
        found = _loaded.get(text)
        if found is None and brought.kernels:
            found = _from_file(brought.digest(text))
        if found is not None and kept:
            _loaded[text] = found
            return found
        current = session()
        module = ir()
        key = hashlib.sha256(f"{current.identity}\n{streams}\n{module}".encode()).hexdigest()
        made = _made.get(key)
        if made is None or not kept:
            made, code = _compile(current, key, module, streams)
            _made[key] = made
            if _objects is not None:
                _objects[text] = _symbol(key), code
        _loaded[text] = made
        return made


def keep_objects() -> dict[str, tuple[str, bytes]]:
    """Kernel's name and object file, by the text of the program, of kernels asked for from now on.

    Those that callers of `load` hold from before are not asked for again: a program that is
    compiled in a process of its own has all of its kernels here.
    """
    global _objects
    with _lock:
        if _objects is None:
            _objects = {}
        return _objects


def _from_file(key: bytes) -> Compiled | None:
    found = brought.kernels.get(key)
    if found is None:
        return None
    return Compiled(found[0], brought.objects.get(key, key.hex()), True, found[1])


class Object(NamedTuple):
    """A kernel's object file: its name in the cache, that of its function, and its bytes."""

    key: str
    symbol: str
    code: bytes


def objects_of_all(most: int) -> dict[bytes, Object]:
    """Those of all kernels in memory that the cache has, by the hashes of their programs' texts.

    They were loaded, or files brought them for calls of operators. None where more than `most` were
    loaded.
    """
    with _lock:
        if len(_loaded) > most:
            return {}
        loaded = dict(_loaded)
    names = {brought.digest(text): one.key for text, one in loaded.items()}
    for found in brought.called():
        if found in brought.objects:
            names.setdefault(found, brought.objects[found])
    read = {found: cache.read(f"{name}.o", _MOST_BYTES) for found, name in names.items()}
    return {
        found: Object(names[found], _symbol(names[found]), code)
        for found, code in read.items()
        if code is not None
    }


def vector_bytes() -> int:
    """The size of the vector registers that kernels are made for. A file that brought kernels knows
    it, and code is made for no wider ones than the session has."""
    known = brought.vector_bytes
    if known is None:
        return session().vector_bytes
    return known if _session is None else min(known, _session.vector_bytes)


def _symbol(key: str) -> str:
    return f"kernel_{key[:32]}"


def _compile(current: Session, key: str, module: str, streams: bool) -> tuple[Compiled, bytes]:
    """The kernel for LLVM IR, from the disk or made now, and its object."""
    symbol = _symbol(key)
    code = cache.read(f"{key}.o", _MOST_BYTES)
    from_disk = code is not None
    if code is None:
        optimized = current.optimized(module.replace(PLACEHOLDER, symbol))
        if streams:
            optimized = current.streaming(optimized)
        code = current.machine.emit_object(optimized)
        current.check_symbols(code)
        cache.write(f"{key}.o", code)
    address, library = current.loaded(code, symbol)
    return Compiled(address, key, from_disk, library), code


def assembly(ir: str) -> str:
    """The machine code for LLVM IR text, as assembly."""
    with _lock:
        current = session()
        return str(current.machine.emit_assembly(current.optimized(ir)))
