"""Type checkers and editors: stubs say what is there, right programs pass, mistakes are found."""

import ast
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import aten

ROOT = Path(__file__).parents[2]
TYPES = ROOT / "tests/types"
RIGHT = [TYPES / "correct.py", *sorted(ROOT.glob("examples/**/*.py"))]
MISTAKES = TYPES / "mistakes.py"
NAMESPACES = ("aten", "aten.fft", "aten.linalg", "aten.nn.functional", "aten.special")
PACKAGE = Path(aten.__file__).parent


def require(name):
    """The checkers belong to the extra `test`; without them nothing is known of the stubs."""
    if importlib.util.find_spec(name) is None:
        pytest.fail(
            f"{name} is not installed, and it is what this test runs: pip install '.[test]'"
        )


def run_mypy(files, folder):
    """Errors as (file, line, text). No settings are read but those given here."""
    require("mypy")
    # Examples of several folders may have one name.
    flags = ["--strict", "--config-file=", "--explicit-package-bases"]
    flags.append(f"--cache-dir={folder / 'mypy'}")
    command = [sys.executable, "-m", "mypy", *flags, *map(str, files)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found = re.findall(r"^(.+?):(\d+): error: (.*)$", run.stdout, re.MULTILINE)
    assert run.returncode == bool(found), run.stdout + run.stderr
    return [(Path(file).name, int(line), text) for file, line, text in found]


def run_pyright(files, folder):
    require("pyright")
    command = [sys.executable, "-m", "pyright", "--outputjson", f"--pythonpath={sys.executable}"]
    run = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, cwd=folder)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
        for one in json.loads(run.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    ]


CHECKERS = pytest.mark.parametrize("check", [run_mypy, run_pyright], ids=["mypy", "pyright"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the checkers run and keep what they know: nobody's settings are in it."""
    return tmp_path_factory.mktemp("checkers")


@CHECKERS
def test_right_programs_pass(check, folder):
    assert check(RIGHT, folder) == []


@CHECKERS
def test_every_mistake_is_found_and_nothing_else(check, folder):
    lines = MISTAKES.read_text().splitlines()
    planted = {place for place, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert len(planted) >= 50
    found = {line for _, line, _ in check([MISTAKES], folder)}
    assert [lines[place - 1] for place in sorted(planted ^ found)] == []


def test_the_right_program_runs():
    subprocess.run([sys.executable, "-W", "error", TYPES / "correct.py"], check=True)


def declared(stub, *classes):
    """The names a stub declares: of the module, or of some of its classes."""
    bodies = [ast.parse((PACKAGE / stub).read_text()).body]
    if classes:
        bodies = [n.body for n in bodies[0] if isinstance(n, ast.ClassDef) and n.name in classes]
    names = set()
    for node in (node for body in bodies for node in body):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            names |= {one.asname for one in node.names if one.asname}
    return names


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_stubs_declare_what_dir_shows(namespace):
    shown = {name for name in dir(importlib.import_module(namespace)) if not name.startswith("_")}
    stub = Path(*namespace.split(".")[1:], "__init__.pyi")
    assert shown - declared(stub) == set()


def public_attributes():
    """Those of tensors; what torch's have and ours refuse is shown by `dir`, and not there."""
    shown = {name for name in dir(aten.Tensor) if not name.startswith("_")}
    return {name for name in shown if hasattr(aten.Tensor, name)}


def test_the_stub_of_tensor_is_complete():
    names = declared("_core/tensor/tensor.pyi", "Tensor")
    names |= declared("_core/tensor/tensor_impl.pyi", "TensorImpl")
    names |= declared("_generated/methods.pyi", "TensorMethods")
    names |= declared("_generated/installed.pyi", "InstalledMethods")
    assert public_attributes() - names == set()


def test_dir_shows_what_is_made_when_first_asked_for():
    shown = dir(aten)
    assert {"finfo", "FloatTensor", "fft", "linalg", "nn", "unique", "softmax"} <= set(shown)
    assert not {"import_module", "Any", "registry"} & set(shown)
    for namespace in NAMESPACES:
        module = importlib.import_module(namespace)
        assert all(hasattr(module, name) for name in dir(module))


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_editors_know_every_function_and_its_documentation(namespace):
    require("jedi")
    import jedi

    module = importlib.import_module(namespace)
    source = f"import {namespace}\n{namespace}."
    known = {one.name: one for one in jedi.Script(source).complete(2, len(namespace) + 1)}
    shown = {name for name in dir(module) if not name.startswith("_")}
    assert shown - set(known) == set()
    kinds = ("function", "OpOverloadPacket")
    functions = [n for n in sorted(shown) if type(getattr(module, n)).__name__ in kinds]
    assert len(functions) > 20
    assert [n for n in functions if ">>>" not in known[n].docstring()] == []


def test_editors_know_the_methods_of_tensors():
    require("jedi")
    import jedi

    source = "import aten\naten.tensor([1.0])."
    known = {one.name: one for one in jedi.Script(source).complete(2, 19)}
    assert public_attributes() - set(known) == set()
    assert ">>>" in known["softmax"].docstring()
