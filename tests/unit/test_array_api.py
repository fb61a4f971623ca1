"""The standard's namespace by itself: when it is imported, what the page on it says, adapters."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import aten
from aten import adapters

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/array-api.md"


def test_it_is_imported_when_asked_for():
    program = """
import sys, aten
before = "aten.array_api" in sys.modules, "numpy" in sys.modules
aten.ones(2).__array_namespace__().sum(aten.ones(2))
print(*before, "aten.array_api" in sys.modules, "numpy" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ}
    )
    assert done.stdout.split() == ["False", "False", "True", "False"], done.stderr


def test_the_page_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(code, {})
    (first, second) = eval(capsys.readouterr().out)
    assert first == pytest.approx([-(0.5**0.5)] * 2)
    assert second == pytest.approx([0.5**0.5] * 2)


def test_what_the_page_says_of_arrays():
    xp = aten.array_api
    inf = float("inf")
    x, y = aten.ones(2), aten.ones((), dtype=aten.float64)
    assert (x + y).dtype is aten.float32
    assert (xp.asarray(x) + y).dtype is aten.float64
    mixed = xp.ones(1, dtype=xp.uint16) + xp.ones(1, dtype=xp.int8)
    assert mixed.dtype is xp.int32
    assert (xp.asarray(inf) // 2).item() == inf
    assert str((xp.asarray(1.0) // -inf).item()) == "-0.0"
    assert str((xp.asarray(0.0) % -2.0).item()) == "-0.0"
    assert xp.arange(3)[::-1].tolist() == [2, 1, 0]
    assert xp.arange(3)[xp.asarray([2], dtype=xp.uint8)].tolist() == [2]
    assert (xp.ones((2, 3)).size, xp.ones((2, 3)).size(1)) == (6, 3)
    assert xp.sum(xp.ones(2, dtype=xp.uint8)).dtype is xp.uint64
    assert xp.var(xp.asarray([0.0, 2.0])).item() == 1
    with pytest.raises(OverflowError):
        xp.ones(1, dtype=xp.uint8) + 256
    narrow = xp.ones(1, dtype=xp.float32)
    with pytest.raises(TypeError):
        narrow += xp.ones(1, dtype=xp.float64)
    assert type(xp.ones(1).as_subclass(aten.Tensor)) is aten.Tensor


def test_indices_change_nothing_while_they_are_read():
    """What a key's own code does to the array is noticed, and never reaches past its memory."""
    x = aten.array_api.arange(8)

    class Stop:
        def __index__(self):
            x.resize_(0)
            return 8

    try:
        found = x[0 : Stop() : -1]
    except (IndexError, RuntimeError, ValueError):
        return
    assert found.shape == (0,)


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A library that an adapter waits for."""
    (tmp_path / "waited_for_library.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(adapters._WAITED_FOR, "waited_for_library", "its_adapter")
    yield "waited_for_library"
    for name in ("waited_for_library", "its_adapter"):
        sys.modules.pop(name, None)


def test_adapters_come_after_their_library(library, tmp_path):
    (tmp_path / "its_adapter.py").write_text("import waited_for_library as w\nw.value += 1\n")
    module = __import__(library)
    assert module.value == 2
    assert type(module.__loader__).__module__ != "aten.adapters"
    assert module.__spec__.loader is module.__loader__


def test_libraries_that_are_there_are_told_at_once(monkeypatch, tmp_path):
    (tmp_path / "another_adapter.py").write_text("told = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "another_library", ModuleType("another_library"))
    monkeypatch.setitem(adapters._WAITED_FOR, "another_library", "another_adapter")
    adapters.install()
    assert sys.modules.pop("another_adapter").told
    assert sys.meta_path.count(adapters._finder) == 1


def test_modules_that_are_missing_stay_missing(monkeypatch):
    monkeypatch.setitem(adapters._WAITED_FOR, "no_such_library", "no_such_adapter")
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        __import__("no_such_library")


def test_dlpack_without_copies():
    frozen = aten.tensor([1, 2, 3]).numpy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="copy is false"):
        aten.from_dlpack(frozen, copy=False)
    assert aten.from_dlpack(frozen).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="copy is false"):
        aten.from_dlpack(aten.ones(2), device="meta", copy=False)
    x = aten.ones(2)
    assert aten.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
    assert aten.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()


def test_dlpack_of_other_devices():
    x = aten.arange(3, device="reference")
    assert aten.from_dlpack(x.__dlpack__(dl_device=(1, 0), max_version=(1, 3))).tolist() == [
        0,
        1,
        2,
    ]
    for keywords in ({}, {"dl_device": (1, 0), "copy": False}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            x.__dlpack__(**keywords)
    with pytest.raises(BufferError):
        aten.ones(2, device="meta").__dlpack__(dl_device=(1, 0))
    conjugate = aten.tensor([1j]).conj()
    assert aten.from_dlpack(conjugate.__dlpack__(copy=True)).tolist() == [-1j]


def test_dlpack_streams():
    for stream in (None, -1):
        assert aten.from_dlpack(aten.ones(1).__dlpack__(stream=stream)).tolist() == [1]
    for stream in (0, 1, "a"):
        with pytest.raises(BufferError, match="no streams"):
            aten.ones(1).__dlpack__(stream=stream)


def test_dlpack_of_exporters_that_know_less():
    class Old:
        def __init__(self, tensor, known):
            self.tensor = tensor
            self.known = known

        def __dlpack__(self, **keywords):
            if not {*keywords} <= self.known:
                raise TypeError("unknown argument")
            return self.tensor.__dlpack__(**keywords)

    for known in (set(), {"max_version"}, {"max_version", "copy"}):
        assert aten.from_dlpack(Old(aten.arange(2), known)).tolist() == [0, 1]


def test_hypot_of_infinity_and_nan():
    nan, inf = float("nan"), float("inf")
    for name in ("float16", "bfloat16", "float32", "float64"):
        element = getattr(aten, name)
        left = aten.tensor([nan, inf, -inf, 1.0, nan] * 20, dtype=element)
        right = aten.tensor([-inf, nan, 2.0, inf, 1.0] * 20, dtype=element)
        found = aten.hypot(left, right).tolist()
        assert found[:4] == [inf] * 4
        assert found[4] != found[4]
