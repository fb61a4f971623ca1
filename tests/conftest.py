"""What all tests share: texts held by files, and a kernel cache of the test run's own."""

import os
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden", action="store_true", help="write the texts that golden tests hold"
    )


@pytest.fixture
def golden(request):
    """Compares a text with the file that holds it: `golden("loops/add", text)`."""

    def compare(name, text):
        path = GOLDEN / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        expected = path.read_text() if path.exists() else ""
        assert text + "\n" == expected, f"{path} differs; pytest --update-golden writes it"

    return compare


@pytest.fixture(autouse=True, scope="session")
def _kernel_cache(tmp_path_factory):
    """Kernels of the user's own cache neither help nor hide anything; subprocesses share ours."""
    if "ATEN_CACHE_DIR" not in os.environ:
        os.environ["ATEN_CACHE_DIR"] = str(tmp_path_factory.mktemp("kernels"))
