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
