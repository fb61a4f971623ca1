"""The documents say what is: commands run, files named are there, links lead somewhere."""

import re
import runpy
import shutil
from pathlib import Path

import pytest

import aten
from aten.codegen.__main__ import generate

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(page for page in ROOT.glob("docs/*.md") if page.name != "operators.md"),
]
PACKAGE = ROOT / "src/aten"
TABLE = Path("src/aten/_generated/table.py")


def blocks(page, language):
    """The fenced blocks of a page."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_are_there(page):
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*|\w+\.(?:pyx?|yaml|toml))`", page.read_text())
    for name in named:
        inner = [PACKAGE / folder for folder in ("..", ".", "_core", "ops", "backends")]
        places = [ROOT, page.parent, *inner]
        assert any((place / name).exists() for place in places), name


def without(path, pattern):
    """Take what `pattern` matches out of a file."""
    text, count = re.subn(pattern, "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert count == 1
    path.write_text(text)


def rows_of(table, name):
    namespace = {}
    exec(table, namespace)
    return {key: row for key, row in namespace["OPERATORS"].items() if key.startswith(name)}


def test_the_page_on_adding_an_operator_adds_it(tmp_path):
    """Its operator is taken out of a copy, and added again as the page says."""
    package = tmp_path / "src/aten"
    shutil.copytree(PACKAGE / "ops", package / "ops")
    for name in ("native_functions.yaml", "tags.yaml"):
        shutil.copy(PACKAGE / name, package / name)
    registry, family = package / "native_functions.yaml", package / "ops/activation.py"
    without(registry, r"^- func: mish\(.*?\n\n")
    without(family, r"^@op\ndef mish\(.*?\n(?=\n\n|\Z)")
    assert rows_of(generate(tmp_path)[TABLE], "mish") == {}
    page = ROOT / "docs/add-an-operator.md"
    (entry,), (function, use) = blocks(page, "yaml"), blocks(page, "python")
    registry.write_text(registry.read_text() + "\n" + entry)
    family.write_text(family.read_text() + "\n\n" + function)
    added = rows_of(generate(tmp_path)[TABLE], "mish")
    expected = rows_of((ROOT / TABLE).read_text(), "mish")
    assert [row[0] for row in added.values()] == [row[0] for row in expected.values()]
    assert [row[4] for row in added.values()] == ["aten.ops.activation:mish"] * len(expected)
    assert function in (PACKAGE / "ops/activation.py").read_text()
    exec(use, {})


def test_the_lines_of_the_readme_run_in_an_empty_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(ROOT / "README.md", "python")
    names = {}
    exec(code, names)
    assert tuple(names["probabilities"].shape) == (1, 10)
    assert "aten::add.Tensor" in capsys.readouterr().out


def test_the_readme_has_both_commands():
    facts = runpy.run_path(str(ROOT / "tools/project_facts.py"))
    assert facts["readme_command"]("run-command").startswith("pip install . && aten run")
    install, _, test = facts["readme_command"]("test-command").partition(" && ")
    assert install.startswith("pip install")
    assert test == "pytest"


def test_the_version_stands_in_one_place():
    facts = runpy.run_path(str(ROOT / "tools/project_facts.py"))
    assert facts["version"]() == aten.__version__
    assert aten.__version__ not in (ROOT / "pyproject.toml").read_text()
    assert aten.__version__ not in (ROOT / "meson.build").read_text()
    assert f"## {aten.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_pages_show_the_numbers_that_were_kept(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    groups = runpy.run_path(str(ROOT / "benchmarks/run.py"))["GROUPS"]
    pages = runpy.run_path(str(ROOT / "benchmarks/pages.py"))
    how = "python benchmarks/run.py --write makes them"
    assert pages["readme_table"](groups) in (ROOT / "README.md").read_text(), how
    assert pages["performance_page"](groups) == (ROOT / "docs/performance.md").read_text(), how
