"""The examples run, and print what they should."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"


def output_of(name, *arguments):
    """What an example prints, run as a user would: in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", FOLDER / name, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_path_of_a_call(golden):
    """Lines move as files are edited; which file a kernel comes from does not."""
    text = re.sub(r"(\.py):\d+ ", r"\1:LINE ", output_of("trace_an_op.py"))
    golden("trace_an_op", text.rstrip("\n"))


def test_a_backend_of_registered_primitives():
    lines = output_of("private_backend.py").splitlines()
    assert lines[0] == "[[2.0, 4.0, 6.0], [8.0, 10.0, 14.0]]"
    assert lines[1] == "[[1.5, 2.5, 3.5], [4.5, 5.5, 7.5]]"
    assert [sum(row) for row in eval(lines[2])] == pytest.approx([1.0, 1.0])


# What an example prints where all is well: it compares, and says whether things agree.
SAYS = {
    "tensors_and_views.py": "add_ changes the operand, and all its views: True",
    "attention.py": "largest difference below 1e-6: True",
    "point_cloud.py": "largest radius: 1.0",
    "k_means.py": "points at their center: True",
}


@pytest.mark.parametrize("name", SAYS)
def test_an_example_says_what_it_should(name):
    printed = output_of(name)
    assert SAYS[name] in printed
    assert ": False" not in printed


def test_principal_components_with_a_plot(tmp_path):
    picture = tmp_path / "components.png"
    printed = output_of("principal_components.py", str(picture))
    assert "uncorrelated: True" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_seven_programs():
    lines = output_of("run_programs.py", str(FOLDER.parent / "tests" / "data" / "programs"))
    assert lines.count(": agrees") == 14


def test_a_backend_on_memory_of_its_own():
    lines = output_of("backend_numpy.py").splitlines()
    assert lines[0] == "tensor([[14., 35.],"
    assert lines[-1] == "[10.0, 5.0]"


def test_a_backend_with_a_generator_and_streams():
    lines = output_of("backend_loops.py").splitlines()
    assert lines[-2].endswith("tasks wait")
    assert lines[-1] == "[[6.0, 2.0], [14.0, 8.0]]"


def test_a_network_learns_to_read_digits(tmp_path):
    accuracy = re.search(r"accuracy ([\d.]+)", output_of("train_digits.py", str(tmp_path)))
    assert accuracy is not None
    assert float(accuracy[1]) >= 0.97
    for name in ("digits_loss.png", "digits_confusion.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_transformer_learns_to_write():
    first, *text = output_of("train_transformer.py", "40").splitlines()
    losses = re.match(r"loss ([\d.]+) to ([\d.]+)", first)
    assert losses is not None
    assert float(losses[2]) < float(losses[1]) - 1
    assert len("\n".join(text)) > 300


def test_every_example_is_run_here():
    tests = Path(__file__).parent
    named = "".join((tests / name).read_text() for name in ("test_examples.py", "test_serving.py"))
    assert all(f'"{path.name}"' in named for path in FOLDER.glob("*.py"))
