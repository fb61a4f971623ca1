"""docs/add-an-operator.md, followed: one operator of each kind, in a copy of the package."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from package_copies import copied, run, run_codegen

from aten.documentation.kinds import KINDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/add-an-operator.md").read_text()
KINDS_SECTION = PAGE.partition("## 4.")[2].partition("## 5.")[0]
# Rows, and the file of the function.
ADDITION = re.compile(r"```yaml\n(.*?)```\n\n```python\n# (src/\S+)\n(.*?)```", re.DOTALL)
# What adding operators changes. Methods are those of tensors, functions those of the package.
CHANGED = {
    *(f"src/aten/_generated/{name}" for name in ("table.py", "names.py", "operators.pyi")),
    *(f"src/aten/_generated/{name}" for name in ("functions.pyi", "methods.pyi")),
    *("src/aten/__init__.pyi", "docs/operators.md"),
}


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """The copy with all operators of the page, and what the code generator said."""
    root = tmp_path_factory.mktemp("copy")
    package = copied(root)
    shutil.copytree(ROOT / "docs", root / "docs")
    registry = package / "native_functions.yaml"
    additions = ADDITION.findall(KINDS_SECTION)
    for rows, place, code in additions:
        assert not (root / place).exists()
        (root / place).write_text(f'"""From the page."""\n\n{code}')
        registry.write_text(f"{registry.read_text()}\n{rows}")
    return root, additions, run_codegen(root)


def test_there_is_one_of_every_kind(extended):
    _, additions, _ = extended
    kinds = set(re.findall(r"kind: (\w+)", "".join(rows for rows, _, _ in additions)))
    assert kinds | {"foreach"} == set(KINDS)


def test_the_generator_writes_what_changes_and_no_more(extended):
    root, _, done = extended
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"^wrote (.*)", done.stdout, re.MULTILINE)) == CHANGED
    again = run_codegen(root, "--check")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_what_was_added_runs(extended):
    root, _, _ = extended
    use = re.findall(r"```python\n(.*?)```", KINDS_SECTION, re.DOTALL)[-1]
    done = run(root, use)
    assert done.returncode == 0, done.stderr


def test_rows_of_other_operators_stay_as_they_are(extended):
    root, _, _ = extended
    place = "src/aten/_generated/table.py"
    before, after = ((one / place).read_text().splitlines() for one in (ROOT, root))
    assert len(set(after) - set(before)) < 60


def test_operators_of_a_programs_own():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.partition("## Without")[2], re.DOTALL)
    exec(code, {})


def test_a_float_that_compiles_a_kernel_for_each_value_is_told(tmp_path):
    package = copied(tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    registry = package / "native_functions.yaml"
    registry.write_text(
        registry.read_text()
        + "\n- func: tilt(Tensor self, float by) -> Tensor\n  kind: pointwise\n"
    )
    (package / "ops/pointwise/tilt.py").write_text(
        "from aten.ops.definition import op\n\n\n@op\ndef tilt(self, by):\n    return self * by\n"
    )
    told = run_codegen(tmp_path)
    assert told.returncode == 0, told.stderr
    assert "tilt: for each value of 'by' a kernel is compiled" in told.stdout
    assert "a kernel is compiled" not in run_codegen(tmp_path).stdout
