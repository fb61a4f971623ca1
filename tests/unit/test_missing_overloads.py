"""The page says which of torch's overloads are not here, as the tables have it."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools/missing_overloads.py"))


def test_the_page_is_up_to_date():
    assert TOOL["main"](["--check"]) == 0


def test_every_family_has_members():
    families = {TOOL["family_of"](schema) for schema in TOOL["missing"]()}
    assert families == {TOOL["REST"], *(family for family, _, _ in TOOL["FAMILIES"])}


def test_a_stale_page_is_told(tmp_path, monkeypatch, capsys):
    page = tmp_path / "conformance.md"
    page.write_text(f"# Conformance\n\n{TOOL['HEADING']}\n\nnothing\n")
    monkeypatch.setitem(TOOL["main"].__globals__, "PAGE", page)
    assert TOOL["main"](["--check"]) == 1
    assert "stale" in capsys.readouterr().out
    assert TOOL["main"](["--write"]) == 0
    assert TOOL["main"](["--check"]) == 0
