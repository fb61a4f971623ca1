"""Environment variables: their values, defaults, errors and table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aten import config

ROOT = Path(__file__).parents[2]


@pytest.fixture
def variables(monkeypatch):
    monkeypatch.setattr(config, "VARIABLES", {})
    return monkeypatch


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("on", True), ("TRUE", True), ("0", False), ("", False)]
)
def test_flags(variables, text, value):
    flag = config.Flag("ATEN_TEST_FLAG", "help")
    assert flag.get() is False
    variables.setenv("ATEN_TEST_FLAG", text)
    assert flag.get() is value


def test_integers_and_texts(variables):
    integer = config.Integer("ATEN_TEST_INTEGER", 4, "help", minimum=1)
    text = config.Text("ATEN_TEST_TEXT", "somewhere", "help")
    assert (integer.get(), text.get()) == (4, "somewhere")
    variables.setenv("ATEN_TEST_INTEGER", "8")
    variables.setenv("ATEN_TEST_TEXT", "elsewhere")
    assert (integer.get(), text.get()) == (8, "elsewhere")


def test_choices_and_bytes(variables):
    choice = config.Choice("ATEN_TEST_CHOICE", ("end", "start"), "help")
    byte = config.Byte("ATEN_TEST_BYTE", 0xA5, "help")
    assert (choice.get(), byte.get(), byte.default_text) == ("", 0xA5, "0xa5")
    variables.setenv("ATEN_TEST_CHOICE", "start")
    for text, value in (("0xff", 255), ("0", 0), ("17", 17)):
        variables.setenv("ATEN_TEST_BYTE", text)
        assert (choice.get(), byte.get()) == ("start", value)
    variables.setenv("ATEN_TEST_CHOICE", "middle")
    with pytest.raises(ValueError, match="ATEN_TEST_CHOICE must be end or start, got 'middle'"):
        choice.get()
    for text in ("256", "-1", "x", "1.5"):
        variables.setenv("ATEN_TEST_BYTE", text)
        with pytest.raises(ValueError, match=f"ATEN_TEST_BYTE must be a byte.* got '{text}'"):
            byte.get()


def test_wrong_values_name_the_variable(variables):
    flag = config.Flag("ATEN_TEST_FLAG", "help")
    integer = config.Integer("ATEN_TEST_INTEGER", 4, "help", minimum=1)
    variables.setenv("ATEN_TEST_FLAG", "maybe")
    variables.setenv("ATEN_TEST_INTEGER", "0")
    with pytest.raises(ValueError, match="ATEN_TEST_FLAG must be 0 or 1, got 'maybe'"):
        flag.get()
    with pytest.raises(ValueError, match="ATEN_TEST_INTEGER must be a number from 1 on, got '0'"):
        integer.get()


def test_the_table_has_every_variable_once():
    rows = config.table().splitlines()[2:]
    assert len(rows) == len(config.VARIABLES)
    assert any(row.startswith("| `ATEN_SHOW_DISPATCH_TRACE` | 0 |") for row in rows)


def test_the_documentation_is_up_to_date():
    environment = {k: v for k, v in os.environ.items() if k != "XDG_CACHE_HOME"}
    tool = [sys.executable, ROOT / "tools/project_facts.py", "environment"]
    page = subprocess.check_output(tool, text=True, env=environment)
    assert (ROOT / "docs/environment.md").read_text() == page


def _imported(**variables):
    """What a process with these variables says as it imports aten and asks for threads."""
    program = "import aten; print(aten.get_num_threads())"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("ATEN_NUM_THREADS", value) for value in ("-1", "abc", "2.5")),
        ("ATEN_CACHE_LIMIT", "abc"),
        ("ATEN_MEMORY_CACHE_LIMIT", "1G"),
        ("ATEN_SHOW_DISPATCH_TRACE", "maybe"),
    ],
)
def test_wrong_values_are_found_on_import(name, value):
    done = _imported(**{name: value})
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ValueError: {name} must be ")
    assert last.endswith(f"got {value!r}")


def test_right_values_are_taken():
    done = _imported(ATEN_NUM_THREADS="2", ATEN_CACHE_LIMIT="", ATEN_CPU_CAPABILITY="avx2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("ATEN_NUM_THREAD", "did you mean ATEN_NUM_THREADS?"),
        ("ATEN_CACHEDIR", "did you mean ATEN_CACHE_DIR?"),
        ("ATEN_XYZZY", "there are ATEN_SHOW_DISPATCH_TRACE, "),
    ],
)
def test_unknown_variables_are_warned_of(monkeypatch, name, advice):
    monkeypatch.setenv(name, "1")
    with pytest.warns(UserWarning, match=f"{name} means nothing to aten: {advice}"):
        config.check()
    assert f"UserWarning: the environment variable {name} means" in _imported().stderr


def test_values_that_became_wrong_after_import():
    program = (
        "import os, aten; os.environ['ATEN_NUM_THREADS'] = 'many'\n"
        "print((aten.ones(1 << 20) + 1).sum().item())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "2097152.0\n"
    assert "ATEN_NUM_THREADS must be a number from 0 on, got 'many'" in done.stderr


def test_paths_may_begin_with_the_users_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ATEN_CACHE_DIR", "~/kernels")
    assert config.CACHE_DIR.get() == str(tmp_path / "kernels")
    monkeypatch.setenv("ATEN_CACHE_DIR", "off")
    assert config.CACHE_DIR.get() == "off"


def test_import_does_without_what_only_warnings_need():
    program = "import sys, aten; print('difflib' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"
