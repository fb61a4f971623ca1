"""What is done without NumPy: run in a process, or an environment, that does not have it."""

from __future__ import annotations

import importlib.abc
import os
import sys
import tempfile
from importlib.machinery import ModuleSpec

BLOCKED = ("numpy", "ml_dtypes")


class Absent(importlib.abc.MetaPathFinder):
    """Finds that the packages are not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


sys.meta_path.insert(0, Absent())

import aten  # noqa: E402


def close(given, expected, tolerance=1e-5):
    assert float((given - expected).abs().max()) <= tolerance, (given, expected)


def refused(message, function, *arguments):
    said = ""
    try:
        function(*arguments)
    except ImportError as error:
        said = str(error)
    assert message in said
    assert "pip install 'aten[numpy]'" in said


def elements():
    x = aten.tensor([[1, 2], [3, 4]])
    assert str(x) == "tensor([[1, 2],\n        [3, 4]])"
    assert x.tolist() == [[1, 2], [3, 4]]
    assert x[1, 0].item() == 3
    assert x[x > 2].tolist() == [3, 4]
    assert x[[1, 0]].tolist() == [[3, 4], [1, 2]]
    assert aten.tensor([1.5]).to(aten.bfloat16).tobytes() == b"\xc0\x3f"
    assert "1.5000" in str(aten.tensor([1.5], dtype=aten.float8_e5m2))
    for value in (True, 2, 2.5, 3j, [[1.0], [2.0]], (1, 2)):
        assert aten.asarray(value) is not None
    assert float(x.float().mean()) == 2.5
    assert x.sum().item() == 10
    assert x.cumsum(0).tolist() == [[1, 2], [4, 6]]
    assert aten.logcumsumexp(aten.tensor([1j, 2j]), 0).shape == (2,)
    assert aten.unique_consecutive(aten.tensor([1, 1, 2])).tolist() == [1, 2]
    assert aten.unique(x, dim=0).tolist() == [[1, 2], [3, 4]]
    assert aten.histc(x.float(), 2).tolist() == [2.0, 2.0]
    assert aten.histogram(x.float().reshape(-1), 2).hist.tolist() == [2.0, 2.0]
    image = x.float()[None, None]
    for mode in ("nearest", "bilinear", "bicubic"):
        assert aten.nn.functional.interpolate(image, scale_factor=2, mode=mode).shape[-1] == 4
    padded = aten.nn.functional.pad(image, (1, 1, 1, 1), mode="reflect")
    assert padded.shape == (1, 1, 4, 4)


def draws():
    aten.manual_seed(1)
    for one in (aten.rand(3), aten.randn(3), aten.randperm(5), aten.randint(0, 9, (3,))):
        assert one.numel() >= 3
    weights = aten.tensor([0.0, 1.0, 2.0])
    assert 0 not in aten.multinomial(weights, 9, replacement=True).tolist()
    assert sorted(aten.multinomial(weights, 2).tolist()) == [1, 2]


def matrices():
    a = aten.tensor([[4.0, 1.0], [1.0, 3.0]])
    close(aten.linalg.inv(a) @ a, aten.eye(2))
    close(a @ aten.linalg.solve(a, aten.ones(2)), aten.ones(2))
    close(aten.linalg.det(a), aten.tensor(11.0))
    close(aten.linalg.cholesky(a) @ aten.linalg.cholesky(a).mT, a)
    values, vectors = aten.linalg.eigh(a)
    close(vectors @ aten.diag(values) @ vectors.mT, a)
    assert aten.linalg.eigvals(a).is_complex()
    u, s, vh = aten.linalg.svd(a)
    close(u @ aten.diag(s) @ vh, a)
    q, r = aten.linalg.qr(a)
    close(q @ r, a)
    close(aten.linalg.lstsq(a, aten.ones(2, 1)).solution, aten.linalg.solve(a, aten.ones(2, 1)))
    close(aten.linalg.pinv(a), aten.linalg.inv(a))


def transforms():
    for count in (1, 8, 12, 37, 67, 4096):
        x = aten.sin(aten.arange(count).double())
        close(aten.fft.irfft(aten.fft.rfft(x), count), x)
        close(aten.fft.ifft(aten.fft.fft(x)).real, x)
    assert aten.fft.fft2(aten.ones(4, 6)).real.sum().item() == 24


def files():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.safetensors")
        aten.safetensors.save_file({"x": aten.arange(3), "h": aten.ones(2).bfloat16()}, path)
        found = aten.safetensors.load_file(path)
    assert found["x"].tolist() == [0, 1, 2]
    assert found["h"].tolist() == [1.0, 1.0]


def refusals():
    refused("Tensor.numpy needs NumPy", aten.ones(2).numpy)
    refused("Tensor.numpy needs NumPy", aten.ones(2).__array__)
    reference = aten.ones(2).to("reference")
    refused("prims.exp on the reference device needs NumPy", reference.exp)


def main_job(capture):
    from aten.cli import main

    with capture:
        assert main(["run", "digits_cnn.pt2", "--input", "digits_test.npz"]) == 0
        assert main(["run", "digits_cnn.pt2", "--random", "--batch", "3"]) == 0


if __name__ == "__main__":
    import contextlib
    import io

    text = io.StringIO()
    elements()
    draws()
    matrices()
    transforms()
    files()
    refusals()
    main_job(contextlib.redirect_stdout(text))
    assert "351 of 360 right" in text.getvalue(), text.getvalue()
    assert not set(BLOCKED) & set(sys.modules)
    print("all done without NumPy")
