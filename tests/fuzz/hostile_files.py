"""Damaged and hostile files, opened one after the other, each in a process of its own.

    python tests/fuzz/hostile_files.py --seconds 600 [--seed N] [--kind pt2]

Programs, programs compiled ahead of time, safetensors, checkpoints, scripts, compiled kernels and
programs that earlier processes captured are cut, changed, spliced, packed with bombs, given names
that lead elsewhere, and numbers and texts that mean too much. Each must be read, or refused with an
error that its reader documents, within some seconds and some memory, with nothing started,
connected to or written on the way. What is otherwise is kept in the folder that the last line
names, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import aten
from aten.compiler import ahead
from aten.export import ExportError

DATA = Path(__file__).parents[1] / "data" / "programs"
DIGITS = Path(aten.__file__).parent / "examples" / "digits" / "digits_cnn.pt2"
# What running a program that could be read may raise.
CALL_ERRORS = (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError)
# Seconds for a file, and bytes for it besides some for each of its own.
PATIENCE = 20
MEMORY = 400 << 20
MEMORY_OF_A_BYTE = 16
# How a process ends; whatever else is a crash.
READ, REFUSED, RAISED, FORBIDDEN, GREW = 0, 10, 11, 12, 13
FORBIDDEN_EVENTS = {
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.fork",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "pty.spawn",
    "shutil.rmtree",
    "socket.connect",
    "socket.bind",
    "subprocess.Popen",
    "urllib.Request",
}
NUMBERS = [0, -1, 1, 7, 255, 2**31 - 1, 2**31, 2**63 - 1, -(2**63), 2**64, 10**40]
TEXTS = [
    "",
    "\0",
    "x" * 70000,
    "../../evil",
    "/etc/passwd",
    "__import__('os').system('false')",
    "2**2**2**2**40",
    "(" * 3000 + "1" + ")" * 3000,
    "9" * 6000,
    "Mod(" * 400 + "s0" + ", 3)" * 400,
    "s0*" * 4000 + "s0",
    "torch.ops.aten.add.Tensor",
    "NaN",
]
TREES = [[], {}, None, True, 1e308, float("nan"), {"as_int": -1}, [[[[[]]]]]]
NAMES = ["../evil", "/tmp/evil", "a/../../evil", "x" * 60000, "", "data.pkl", "a\0b", "é" * 200]


def read_program(path: Path) -> None:
    program = aten.export.load(path)
    str(program.graph)
    example = program.example_inputs
    if example:
        try:
            program.module()(*example[0], **example[1])
        except CALL_ERRORS:
            return


def read_ahead(path: Path) -> None:
    ahead.load(path).flat_call([aten.ones(4, 1, 8, 8)])


def read_script(path: Path) -> None:
    loaded = aten.jit.load(path)
    try:
        loaded(aten.ones(3))
    except CALL_ERRORS:
        return


def read_kernels(path: Path) -> None:
    """Whatever lies in the place of a kernel, results are right."""
    os.environ["ATEN_CACHE_DIR"] = str(path)
    x = aten.tensor([1.0, 2.0, 3.0])
    made = aten.ops.aten.logaddexp(x, x).tolist()
    expected = [1.6931471805599454, 2.6931471805599454, 3.6931471805599454]
    if max(abs(one - other) for one, other in zip(made, expected, strict=True)) > 1e-6:
        raise AssertionError(f"a kernel of a damaged file gave {made}")


def read_kept(path: Path) -> None:
    """Whatever lies in the place of a captured program, results are right."""
    os.environ["ATEN_CACHE_DIR"] = str(path)
    module = aten.export.load(DIGITS).module()
    images = aten.ones(4, 1, 8, 8)
    with aten.no_grad():
        made, expected = aten.compile(module)(images), module(images)
    if not aten.allclose(made, expected, atol=1e-5):
        raise AssertionError("a captured program of a damaged file gave something else")


READERS: dict[str, tuple[Callable[[Path], object], tuple[type[BaseException], ...]]] = {
    "pt2": (read_program, (ExportError,)),
    "atenc": (read_ahead, (ExportError,)),
    "safetensors": (aten.safetensors.load_file, (ExportError,)),
    "checkpoint": (aten.load, (RuntimeError, pickle.UnpicklingError)),
    "script": (read_script, (ExportError,)),
    "kernel": (read_kernels, ()),
    "kept": (read_kept, ()),
}

# Those that lie in a folder under names of their own.
IN_CACHES = ("kernel", "kept")


def originals(folder: Path) -> dict[str, list[bytes]]:
    """Whole files of each kind."""
    compiled = folder / "digits.atenc"
    _compile(compiled)
    tensors = {"a": aten.arange(12.0).view(3, 4), "b": aten.ones(5, dtype=aten.int8)}
    aten.safetensors.save_file(tensors, folder / "made.safetensors", {"by": "a test"})
    aten.save({"nested": [tensors, 3, "text"], **tensors}, folder / "made.pt")
    aten.jit.save(aten.jit.script(_looped), folder / "script.pt")
    kernels = folder / "kernels"
    code = "import aten; x = aten.ones(3); aten.ops.aten.logaddexp(x, x)"
    environment = {**os.environ, "ATEN_CACHE_DIR": str(kernels)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    found = sorted(kernels.glob("*.o"))
    captured = folder / "captured"
    code = (
        "import aten; aten.set_num_threads(1)\n"
        f"module = aten.export.load({str(DIGITS)!r}).module()\n"
        "with aten.no_grad(): aten.compile(module)(aten.ones(4, 1, 8, 8))"
    )
    environment["ATEN_CACHE_DIR"] = str(captured)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    programs = sorted(captured.glob("*.program"))
    return {
        "pt2": [DIGITS.read_bytes()]
        + [(DATA / f"{name}.pt2").read_bytes() for name in ("kinds", "control_flow", "llama")],
        "atenc": [compiled.read_bytes()],
        "safetensors": [(folder / "made.safetensors").read_bytes()],
        "checkpoint": [(folder / "made.pt").read_bytes()],
        "script": [(folder / "script.pt").read_bytes()],
        "kernel": [one.name.encode() + b"\n" + one.read_bytes() for one in found],
        "kept": [one.name.encode() + b"\n" + one.read_bytes() for one in programs],
    }


def _compile(path: Path) -> None:
    command = [sys.executable, "-m", "aten.cli", "compile", str(DIGITS), "-o", str(path)]
    subprocess.run(command, check=True, capture_output=True)


def _looped(x: aten.Tensor) -> aten.Tensor:
    for step in range(3):
        if step > 1:
            x = x + step
    return x


def changed_bytes(drawn: random.Random, content: bytes) -> bytes:
    """Cut, changed, lengthened or spliced."""
    made = bytearray(content)
    for _ in range(drawn.choice([1, 1, 2, 6])):
        place = drawn.randrange(len(made) + 1)
        if drawn.random() < 0.4:
            # Where formats have their headers and directories.
            place = min(place % 512, len(made)) if drawn.random() < 0.5 else len(made) - place % 512
        place = max(0, min(place, len(made)))
        way = drawn.randrange(7)
        if way == 0:
            del made[place:]
        elif way == 1:
            made[place : place + 1] = bytes([drawn.randrange(256)])
        elif way == 2:
            number = drawn.choice(NUMBERS) % 2**64
            size = drawn.choice([2, 4, 8])
            made[place : place + size] = number.to_bytes(8, "little")[:size]
        elif way == 3:
            other = drawn.randrange(len(made) + 1)
            made[place:place] = made[other : other + drawn.randrange(1, 4000)]
        elif way == 4:
            del made[place : place + drawn.randrange(1, 4000)]
        elif way == 5:
            made[place : place + 64] = drawn.randbytes(64)
        else:
            made += bytes(drawn.choice([1, 4096, 1 << 20]))
        if not made:
            return b""
    return bytes(made)


def changed_tree(drawn: random.Random, value: object) -> object:
    """A JSON value with another one somewhere in it."""
    if drawn.random() < 0.12 or not isinstance(value, dict | list) or not value:
        return odd_value(drawn)
    if isinstance(value, list):
        place = drawn.randrange(len(value))
        if drawn.random() < 0.1:
            return value + [value[place]] * drawn.choice([1, 50])
        return [*value[:place], changed_tree(drawn, value[place]), *value[place + 1 :]]
    key = drawn.choice(list(value))
    made = dict(value)
    if drawn.random() < 0.15:
        made[drawn.choice(TEXTS)] = made.pop(key)
    else:
        made[key] = changed_tree(drawn, value[key])
    return made


def odd_value(drawn: random.Random) -> object:
    if drawn.random() < 0.4:
        return drawn.choice(NUMBERS)
    return drawn.choice(TEXTS) if drawn.random() < 0.7 else drawn.choice(TREES)


def changed_json(drawn: random.Random, text: bytes) -> bytes:
    way = drawn.randrange(8)
    if way == 0:
        return b"[" * drawn.choice([900, 100_000]) + text
    if way == 1:
        return text.replace(b"1", b"1" * drawn.choice([2, 30, 9000]), 1)
    value = json.loads(text)
    for _ in range(drawn.choice([1, 1, 3])):
        value = changed_tree(drawn, value)
    return json.dumps(value).encode()


def changed_archive(drawn: random.Random, content: bytes) -> bytes:
    """A zip archive with other members, names or texts."""
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        members = [(name, source.read(name)) for name in source.namelist()]
    place = drawn.randrange(len(members))
    texts = [count for count, (name, _) in enumerate(members) if name.endswith(".json")]
    way = drawn.randrange(8)
    stored = zipfile.ZIP_STORED
    if texts and way < 4:
        place = drawn.choice(texts)
        members[place] = (members[place][0], changed_json(drawn, members[place][1]))
    elif way == 4:
        stem = members[place][0].rpartition("/")[0] if drawn.random() < 0.5 else ""
        members[place] = (f"{stem}/{drawn.choice(NAMES)}"[:65000], members[place][1])
    elif way == 5:
        members.append(members[place])
    elif way == 6:
        stored = zipfile.ZIP_DEFLATED
        members[place] = (members[place][0], bytes(drawn.choice([1 << 20, 1 << 29])))
    else:
        members[place] = (members[place][0], changed_bytes(drawn, members[place][1]))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", stored) as target, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # members of one name are on purpose
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = stored
            target.writestr(info, data)
    return buffer.getvalue()


def changed_safetensors(drawn: random.Random, content: bytes) -> bytes:
    length = int.from_bytes(content[:8], "little")
    header = changed_json(drawn, content[8 : 8 + length])
    return len(header).to_bytes(8, "little") + header + content[8 + length :]


def damaged(drawn: random.Random, kind: str, content: bytes) -> bytes:
    """A file that differs from a whole one."""
    structured = drawn.random() < 0.6
    if structured and kind == "safetensors":
        return changed_safetensors(drawn, content)
    if structured and kind in ("pt2", "checkpoint", "script"):
        return changed_archive(drawn, content)
    return changed_bytes(drawn, content)


def outcome(kind: str, path: Path, size: int, said: Path) -> int:
    """What becomes of reading a file, in a process that is only for this."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    signal.alarm(PATIENCE)
    os.environ["ATEN_CACHE_DIR"] = "off"
    sys.dont_write_bytecode = True
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    watching = True

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        writes = (
            event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        )
        outside = writes and not str(arguments[0]).startswith(str(path.parent))
        # A cache writes kernels anew, under another name first.
        own = event in ("os.remove", "os.rename") and str(arguments[0]).startswith(str(path.parent))
        if watching and (outside or (event in FORBIDDEN_EVENTS and not own)):
            said.write_text(f"{event} {arguments}")
            os._exit(FORBIDDEN)

    sys.addaudithook(audit)
    read, expected = READERS[kind]
    try:
        read(path)
        ended = READ
    except expected:
        ended = REFUSED
    except BaseException:
        watching = False
        said.write_text(traceback.format_exc())
        os._exit(RAISED)
    watching = False
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    if grown > MEMORY + MEMORY_OF_A_BYTE * size:
        said.write_text(f"took {grown >> 20} MiB for a file of {size} bytes")
        os._exit(GREW)
    os._exit(ended)


def placed(kind: str, content: bytes, folder: Path) -> Path:
    """The file, or the folder of one in a cache."""
    if kind not in IN_CACHES:
        path = folder / f"file.{kind}"
        path.write_bytes(content)
        return path
    name, _, code = content.partition(b"\n")
    kernels = folder / "kernel"
    kernels.mkdir(exist_ok=True)
    for one in kernels.iterdir():
        one.unlink()
    (kernels / os.fsdecode(name)).write_bytes(code)
    return kernels


def cases(
    seed: int, kinds: list[str], whole: dict[str, list[bytes]]
) -> Iterator[tuple[str, bytes]]:
    drawn = random.Random(seed)
    while True:
        kind = drawn.choice(kinds)
        content = drawn.choice(whole[kind])
        if kind in IN_CACHES:
            name, _, code = content.partition(b"\n")
            yield kind, name + b"\n" + changed_bytes(drawn, code)
        else:
            yield kind, damaged(drawn, kind, content)


def said_in(folder: Path) -> str:
    """What the process said that opened the last file."""
    said = folder / "said"
    return said.read_text() if said.exists() else "nothing"


def run(
    seconds: float, seed: int, kinds: list[str], most: int = sys.maxsize
) -> tuple[Counter[str], Path | None]:
    """How often each kind was read or refused, and the folder of what went wrong."""
    counts: Counter[str] = Counter()
    kept = None
    aten.set_num_threads(1)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        whole = originals(folder)
        for kind in kinds:
            for content in whole[kind]:
                code = outcome(kind, placed(kind, content, folder), len(content), folder / "said")
                assert code == READ, f"a whole file of kind {kind}: {code}, {said_in(folder)}"
        end = time.monotonic() + seconds
        for number, (kind, content) in enumerate(cases(seed, kinds, whole)):
            if number == most or time.monotonic() > end:
                break
            said = folder / "said"
            said.unlink(missing_ok=True)
            status = outcome(kind, placed(kind, content, folder), len(content), said)
            code = os.waitstatus_to_exitcode(status)
            word = {READ: "read", REFUSED: "refused"}.get(code)
            counts[f"{kind} {word or 'wrong'}"] += 1
            if word is None:
                kept = kept or Path(tempfile.mkdtemp(prefix="hostile-files-"))
                (kept / f"{number}.{kind}").write_bytes(content)
                (kept / f"{number}.txt").write_text(f"ended with {code}: {said_in(folder)}")
    return counts, kept


def main() -> None:
    parser = argparse.ArgumentParser(description="Open damaged and hostile files.")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=sorted(READERS), action="append")
    given = parser.parse_args()
    counts, kept = run(given.seconds, given.seed, given.kind or sorted(READERS))
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")
    if kept:
        print(f"what went wrong: {kept}")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
