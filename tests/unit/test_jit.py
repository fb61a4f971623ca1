"""The kernel cache: keys, files, corruption, bounds, processes; and code that really runs."""

import ctypes
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from aten._core.base.dtypes import DTYPES
from aten.backends.cpu import cache, jit
from aten.backends.cpu.codegen import compile_program, llvm_ir
from aten.loops.pipeline import lower
from aten.prims import Graph, GraphInterpreter

FLOAT = DTYPES["float32"]


def program_adding(number):
    """A map that adds a constant: every number is a program of its own."""
    interpreter = GraphInterpreter()
    x = interpreter.input(0, FLOAT, ())
    graph = Graph("plus", [x.payload], [(x + number).payload])
    return lower(graph, accesses=("unit", "unit"))


def run(address, values):
    count = len(values)
    x, y = (ctypes.c_float * count)(*values), (ctypes.c_float * count)()
    data = (ctypes.c_void_p * 2)(ctypes.addressof(x), ctypes.addressof(y))
    inner, outer = (ctypes.c_int64 * 2)(4, 4), (ctypes.c_int64 * 2)(0, 0)
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_int64] * 2, *[ctypes.c_void_p] * 2)
    kernel(address)(data, count, ctypes.addressof(inner), 1, ctypes.addressof(outer), None)
    return list(y)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder, and nothing loaded."""
    monkeypatch.setenv("ATEN_CACHE_DIR", str(tmp_path / "cache"))
    forget(monkeypatch)
    return tmp_path / "cache"


def forget(monkeypatch):
    """Begin anew, as a fresh process would."""
    monkeypatch.setattr(jit, "_loaded", {})
    monkeypatch.setattr(jit, "_made", {})
    monkeypatch.setattr(jit, "_session", None)
    monkeypatch.setattr(jit, "_objects", None)


def test_compiled_code_runs(folder):
    compiled = compile_program(program_adding(2.0))
    assert not compiled.from_disk
    assert run(compiled.address, [1.0, 2.0, 3.0]) == [3.0, 4.0, 5.0]


def test_a_program_is_compiled_once(folder):
    first = compile_program(program_adding(2.0))
    assert compile_program(program_adding(2.0)) is first
    assert compile_program(program_adding(3.0)) is not first
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("cache", ["a folder", "off"])
def test_objects_of_kernels_that_were_loaded_before_are_kept(folder, monkeypatch, cache):
    if cache == "off":
        monkeypatch.setenv("ATEN_CACHE_DIR", cache)
    first, other = program_adding(2.0), program_adding(3.0)
    compile_program(first)
    objects = jit.keep_objects()
    compile_program(other)
    assert set(objects) == {str(other)}
    again = compile_program(first)
    assert set(objects) == {str(first), str(other)}
    symbol, code = objects[str(first)]
    assert symbol.encode() in code
    assert run(again.address, [1.0]) == [3.0]
    assert compile_program(first) is again


def test_objects_come_back_from_disk(folder, monkeypatch):
    compile_program(program_adding(2.0))
    forget(monkeypatch)
    again = compile_program(program_adding(2.0))
    assert again.from_disk
    assert run(again.address, [1.0]) == [3.0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:50],
        lambda content: b"ELF" + content,
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    ],
    ids=["empty", "truncated", "other magic", "one bit"],
)
def test_damaged_files_are_made_anew(folder, monkeypatch, damage):
    compile_program(program_adding(2.0))
    (path,) = folder.iterdir()
    content = path.read_bytes()
    path.write_bytes(damage(content))
    forget(monkeypatch)
    again = compile_program(program_adding(2.0))
    assert not again.from_disk
    assert run(again.address, [1.0]) == [3.0]
    assert path.read_bytes() == content


def test_the_cache_can_be_off(folder, monkeypatch):
    monkeypatch.setenv("ATEN_CACHE_DIR", "off")
    assert cache.directory() is None
    assert run(compile_program(program_adding(2.0)).address, [1.0]) == [3.0]
    assert not folder.exists()


def test_a_folder_that_cannot_be_is_no_error(folder, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("ATEN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert run(compile_program(program_adding(2.0)).address, [1.0]) == [3.0]


def test_the_folder_is_bounded(folder, monkeypatch):
    folder.mkdir()
    now = time.time()
    for age in range(10):
        (folder / f"{age}.o").write_bytes(bytes(100))
        os.utime(folder / f"{age}.o", (now - age, now - age))
    monkeypatch.setenv("ATEN_CACHE_LIMIT", "450")
    cache.trim(str(folder))
    assert sorted(path.name for path in folder.iterdir()) == ["0.o", "1.o", "2.o", "3.o"]


def test_reading_an_object_keeps_it_young(folder, monkeypatch):
    compile_program(program_adding(2.0))
    (path,) = folder.iterdir()
    os.utime(path, (0, 0))
    forget(monkeypatch)
    assert compile_program(program_adding(2.0)).from_disk
    assert path.stat().st_mtime > 0


def test_what_dead_processes_left_goes(folder):
    folder.mkdir()
    for name in ("old.tmp", "new.tmp"):
        (folder / name).write_bytes(b"half")
    os.utime(folder / "old.tmp", (0, 0))
    cache.trim(str(folder))
    assert [path.name for path in folder.iterdir()] == ["new.tmp"]


def test_every_sixty_fourth_write_trims(folder, monkeypatch):
    trimmed = []
    monkeypatch.setattr(cache, "trim", trimmed.append)
    cache.write(f"{63:08x}" + "0" * 56 + ".o", b"code")
    assert trimmed == []
    cache.write(f"{64:08x}" + "0" * 56 + ".o", b"code")
    assert trimmed == [str(folder)]


def test_the_key_follows_the_code(folder):
    program = program_adding(2.0)
    made = compile_program(program)
    assert jit.load("other loops, same code", lambda: llvm_ir(program)) is made
    changed = jit.load("same loops, other code", lambda: llvm_ir(program) + "\n; changed")
    assert changed.key != made.key


def test_threads_share_one_compilation(folder):
    programs = [program_adding(float(number % 3)) for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        compiled = list(pool.map(compile_program, programs))
    assert len({one.key for one in compiled}) == 3
    for number, one in enumerate(compiled):
        assert run(one.address, [1.0]) == [1.0 + number % 3]


def test_processes_share_a_folder(folder):
    code = (
        "from test_jit import compile_program, program_adding, run\n"
        "for number in range(4):\n"
        "    address = compile_program(program_adding(float(number))).address\n"
        "    assert run(address, [1.0]) == [1.0 + number]\n"
    )
    environment = {**os.environ, "ATEN_CACHE_DIR": str(folder)}
    processes = [
        subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent, env=environment)
        for _ in range(4)
    ]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert len(list(folder.glob("*.o"))) == 4
    assert not list(folder.glob("*.tmp"))


def test_code_and_constants_stay_near_beside_gigabytes():
    """Ten thousand kernels in one process, with all holes between large blocks filled up."""
    code = """
import mmap
from aten.backends.cpu import cache, jit
from aten.backends.cpu.codegen import llvm_ir
from test_jit import program_adding, run
from pathlib import Path
import os
kept = [mmap.mmap(-1, 3 << 30, prot=mmap.PROT_READ) for _ in range(2)]
made = jit.load("program", lambda: llvm_ir(program_adding(2.0)))
symbol = f"kernel_{made.key[:32]}"
(path,) = Path(os.environ["ATEN_CACHE_DIR"]).glob("*.o")
content = path.read_bytes()[40:]
libraries = []
for number in range(10_000):
    name = f"kernel_{number:032}"
    renamed = content.replace(symbol.encode(), name.encode())
    address, library = jit.session().loaded(renamed, name)
    libraries.append(library)
    if number % 100 == 0:
        assert run(address, [1.0, 2.0]) == [3.0, 4.0]
print(len(libraries))
"""
    with TemporaryDirectory() as cache:
        environment = {**os.environ, "ATEN_CACHE_DIR": cache}
        arguments = [sys.executable, "-c", code]
        printed = subprocess.run(
            arguments, cwd=Path(__file__).parent, env=environment, capture_output=True, text=True
        )
    assert printed.stdout == "10000\n", printed.stderr[-1000:]


def test_kernels_are_linked_again_where_that_was_cut_short(monkeypatch):
    loaded = jit.Session.loaded

    def interrupted(*arguments):
        loaded(*arguments)
        raise KeyboardInterrupt

    program = program_adding(7.25)
    monkeypatch.setattr(jit.Session, "loaded", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compile_program(program)
    monkeypatch.undo()
    assert run(compile_program(program).address, [1.0, 2.0]) == [8.25, 9.25]
