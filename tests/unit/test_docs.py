"""The documents say what is: commands run, files named are there, links lead somewhere."""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
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
        folders = ("_core/**", "ops", "prims", "backends", "backends/cpu/kernels/**")
        inner = [place for folder in folders for place in PACKAGE.glob(folder)]
        places = [ROOT, page.parent, PACKAGE.parent, PACKAGE, *inner]
        assert any((place / name).exists() for place in places), name


# What their code does is tested by other means, below.
RUN_OTHERWISE = ("README.md", "CONTRIBUTING.md", "add-an-operator.md")


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in RUN_OTHERWISE], ids=lambda page: page.name
)
def test_the_code_of_pages_runs(page, tmp_path):
    """All blocks of a page, one after the other, in an empty folder; then its commands.

    Commands find the examples there.
    """
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    code = "\n".join(blocks(page, "python"))
    if code:
        run(tmp_path, "-W", "error", "-c", code)
    for line in "".join(blocks(page, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "aten", line
        run(tmp_path, "-m", "aten.cli", *words[1:])


def run(folder, *arguments):
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_pictures_are_those_of_the_package():
    pictures = runpy.run_path(str(ROOT / "tools/pictures.py"))
    for name, draw in pictures["PICTURES"].items():
        how = "python tools/pictures.py draws it"
        assert (ROOT / f"docs/pictures/{name}.svg").read_text() == draw(), how


def test_the_site_has_all_pages(tmp_path):
    site = runpy.run_path(str(ROOT / "tools/documentation_site.py"))
    site["stage"](tmp_path)
    listed = {page for pages in site["PAGES"].values() for page in pages}
    for name in listed:
        assert (tmp_path / f"{name}.md").exists(), name
    assert "aten.softmax(input" in (tmp_path / "reference/aten.md").read_text()
    assert "](../" not in "".join(page.read_text() for page in tmp_path.glob("*.md"))


def test_links_of_the_site_are_looked_at(tmp_path):
    site = runpy.run_path(str(ROOT / "tools/documentation_site.py"))
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here"><a href="#gone"><a href="b.html"><a href="https://x.y">'
        '<script src="https://x.y/z.js">'
    )
    assert site["broken_links"](tmp_path) == [
        "a.html: #gone has no such place",
        "a.html: b.html is not there",
        "a.html: https://x.y/z.js is loaded from elsewhere",
    ]


def without(path, pattern):
    """Take what `pattern` matches out of a file."""
    text, count = re.subn(pattern, "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert count == 1
    path.write_text(text)


def rows_of(table, name):
    namespace = {}
    exec(table, namespace)
    own = re.compile(rf"{name}_?(\..*)?")
    return {key: row for key, row in namespace["OPERATORS"].items() if own.fullmatch(key)}


def test_the_page_on_adding_an_operator_adds_it(tmp_path):
    """Its operator is taken out of a copy, and added again as the page says."""
    package = tmp_path / "src/aten"
    shutil.copytree(PACKAGE / "ops", package / "ops")
    for name in ("native_functions.yaml", "tags.yaml"):
        shutil.copy(PACKAGE / name, package / name)
    registry, family = package / "native_functions.yaml", package / "ops/pointwise/activation.py"
    without(registry, r"^- func: mish\(.*?\n\n")
    without(family, r"^@op\ndef mish\(.*?\n(?=\n\n|\Z)")
    assert rows_of(generate(tmp_path)[TABLE], "mish") == {}
    page = ROOT / "docs/add-an-operator.md"
    entry, (function, use) = blocks(page, "yaml")[0], blocks(page, "python")[:2]
    registry.write_text(registry.read_text() + "\n" + entry)
    family.write_text(family.read_text() + "\n\n" + function)
    added = rows_of(generate(tmp_path)[TABLE], "mish")
    expected = rows_of((ROOT / TABLE).read_text(), "mish")
    assert [row[0] for row in added.values()] == [row[0] for row in expected.values()]
    assert {row[4] for row in added.values()} == {"aten.ops.pointwise.activation:mish"}
    assert function in (PACKAGE / "ops/pointwise/activation.py").read_text()
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
    assert pages["folder_of"]("Intel(R) Xeon(R) CPU @ 2.20GHz") == "intel_xeon"
    first, _ = pages["kept"]("models")
    own, other = (pages["path_of"]("models", one) for one in (first["processor"], "another one"))
    assert (own.name, other.parent) == (other.name, own.parent / "another_one")


def test_the_readme_says_how_fast_models_are_on_the_other_processor():
    kept = json.loads((ROOT / "benchmarks/results/intel_xeon/models.json").read_text())["results"]
    means = {one["name"]: one["ratio"] for one in kept if one["name"].endswith("mean")}
    readme = (ROOT / "README.md").read_text()
    for name, said in (
        ("torch", "{:.2f} times torch's speed"),
        ("ONNX Runtime", "{:.2f} times ONNX Runtime's"),
        ("OpenVINO", "{:.2f} times OpenVINO's"),
    ):
        assert said.format(means[f"models: aten compiled and {name}, mean"]) in readme


def test_the_readme_says_what_the_installed_size_is_made_of():
    kept = json.loads((ROOT / "benchmarks/results/installed_size.json").read_text())["results"]
    sizes = {result["name"].rpartition(": ")[2]: result["aten"] for result in kept}
    plain, full = sizes["installed size"], sizes["installed size, with the extra numpy"]
    readme = (ROOT / "README.md").read_text()
    for part in (
        f"LLVM ({sizes['llvmlite']:.0f} MiB)",
        f"OpenBLAS ({sizes['scipy_openblas64']:.0f} MiB)",
        f"aten itself ({sizes['aten']:.0f} MiB)",
        f"adds {full - plain:.0f} MiB",
    ):
        assert part in readme, part
    assert plain * 2**20 <= 240e6
    runtime = sizes["what runs compiled files"]
    assert f"aten alone, and {runtime:.0f} MiB" in (ROOT / "docs/packages.md").read_text()
    assert runtime * 2**20 <= 20e6
