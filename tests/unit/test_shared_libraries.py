"""Programs as shared libraries, linked and run from C."""

from __future__ import annotations

import platform
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import aten
from aten.backends.cpu import images, shared_objects
from aten.compiler.shared import SharedLibraryError, write_library
from aten.nn import functional

DIGITS = Path(aten.__file__).parent / "examples" / "digits" / "digits_cnn.pt2"
COMPILER = shutil.which("cc")
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "{name}.h"

int main(void) {{
    void *workspace = aligned_alloc(64, ({upper}_WORKSPACE_BYTES + 63) / 64 * 64);
    memset(workspace, 0xff, {upper}_WORKSPACE_BYTES);
    {declarations}
    {reads}
    {name}_run({arguments}, workspace);
    {name}_run({arguments}, workspace);
    {writes}
    return 0;
}}
"""
pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="libraries are for x86-64"),
    pytest.mark.skipif(COMPILER is None, reason="there is no C compiler to link with"),
]


def called_from_c(
    folder: Path, name: str, inputs: dict[str, tuple[str, bytes]], outputs: dict[str, str]
) -> bytes:
    """What the outputs are for the inputs' bytes, from a C program that is linked with `name`."""
    every = {**{key: kind for key, (kind, _) in inputs.items()}, **outputs}
    upper = name.upper()
    declarations = [
        f"{kind} *{key} = malloc({upper}_{key.upper()}_COUNT * sizeof(*{key}) + 1);"
        for key, kind in every.items()
    ]
    read = "if (fread({0}, sizeof(*{0}), {1}_{2}_COUNT, stdin) != {1}_{2}_COUNT) return 1;"
    write = "fwrite({0}, sizeof(*{0}), {1}_{2}_COUNT, stdout);"
    text = MAIN.format(
        name=name,
        upper=upper,
        declarations="\n    ".join(declarations),
        reads="\n    ".join(read.format(key, upper, key.upper()) for key in inputs),
        writes="\n    ".join(write.format(key, upper, key.upper()) for key in outputs),
        arguments=", ".join(every),
    )
    (folder / "main.c").write_text(text)
    assert COMPILER is not None
    command = [COMPILER, "-std=c11", "-Wall", "-Werror", "-o", "main", "main.c", "-L."]
    command += [f"-l{name}", "-Wl,-rpath,$ORIGIN"]
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    given = b"".join(content for _, content in inputs.values())
    done = subprocess.run(["./main"], cwd=folder, input=given, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def bytes_of(tensor: aten.Tensor) -> bytes:
    return b"".join(struct.pack("<f", one) for one in tensor.flatten().tolist())


def numbers(content: bytes) -> aten.Tensor:
    return aten.frombuffer(bytearray(content), dtype=aten.float32)


def test_the_command_writes_a_library_that_c_links_with(tmp_path: Path) -> None:
    output = tmp_path / "libdigits.so"
    command = [sys.executable, "-m", "aten.cli", "compile", str(DIGITS), "--shared"]
    command += ["-o", str(output), "--batch", "5"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    assert "bytes of workspace" in said.stdout
    x = aten.randn(5, 1, 8, 8)
    made = called_from_c(tmp_path, "digits", {"x": ("float", bytes_of(x))}, {"softmax": "float"})
    expected = aten.export.load(DIGITS).module()(x)
    aten.testing.assert_close(numbers(made).view(5, 10), expected, rtol=1e-4, atol=1e-6)


class Mixed(aten.nn.Module):
    """Products, folds, views, gelu, an input that is returned, and one that nothing reads."""

    def __init__(self) -> None:
        super().__init__()
        self.first = aten.nn.Linear(6, 8)
        self.second = aten.nn.Linear(8, 6, bias=False)

    def forward(
        self, x: aten.Tensor, other: aten.Tensor, unread: aten.Tensor
    ) -> tuple[aten.Tensor, ...]:
        hidden = self.second(functional.gelu(self.first(x)))
        scores = functional.softmax(hidden @ other.transpose(-1, -2), -1)
        normal = functional.layer_norm(scores @ other, (6,))
        return normal.transpose(0, 1), x.sum(-1), x, aten.cat([x, normal * 2], 1)


def test_several_inputs_and_outputs(tmp_path: Path) -> None:
    model = Mixed().eval()
    given = [aten.randn(3, 4, 6), aten.randn(3, 4, 6), aten.randn(2)]
    with aten.no_grad():
        program = aten.export.export(model, tuple(given))
        expected = model(*given)
    made = write_library(program, tmp_path / "libmixed.so")
    assert made.kernels
    assert made.launches
    assert made.workspace
    header = (tmp_path / "mixed.h").read_text()
    names = program.output_names
    assert [f"float *{name}" in header for name in names]
    inputs = dict(
        zip(("x", "other", "unread"), [("float", bytes_of(one)) for one in given], strict=True)
    )
    words = [line for line in header.splitlines() if line.startswith(" * writes ")]
    outputs = {line.split()[2].rstrip(":"): "float" for line in words}
    found = numbers(called_from_c(tmp_path, "mixed", inputs, outputs))
    begin = 0
    for one in expected:
        part = found[begin : begin + one.numel()].view(one.shape)
        aten.testing.assert_close(part, one.contiguous(), rtol=1e-4, atol=1e-5)
        begin += one.numel()
    assert begin == found.numel()


class Convolutions(aten.nn.Module):
    """With steps, holes, groups, a residual, one dimension, and turned around."""

    def __init__(self) -> None:
        super().__init__()
        self.first = aten.nn.Conv2d(4, 8, (3, 2), stride=2, padding=(2, 1), dilation=(2, 1))
        self.second = aten.nn.Conv2d(8, 8, 3, padding=1, groups=4, bias=False)
        self.turned = aten.nn.ConvTranspose2d(8, 2, 3, stride=2)
        self.line = aten.nn.Conv1d(2, 3, 4)

    def forward(self, x: aten.Tensor) -> aten.Tensor:
        x = self.first(x)
        x = functional.relu(self.second(x) + x)
        return self.line(functional.max_pool2d(self.turned(x), 2).flatten(2))


def test_convolutions(tmp_path: Path) -> None:
    model, x = Convolutions().eval(), aten.randn(2, 4, 9, 8)
    with aten.no_grad():
        program = aten.export.export(model, (x,))
        expected = model(x)
    write_library(program, tmp_path / "libconvolutions.so")
    name = program.output_names[0]
    made = called_from_c(tmp_path, "convolutions", {"x": ("float", bytes_of(x))}, {name: "float"})
    aten.testing.assert_close(numbers(made).view(expected.shape), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "arguments", "word"),
    [
        (lambda x: aten.linalg.svd(x)[1], (aten.ones(3, 3),), "svd"),
        (lambda x, at: functional.embedding(at, x), (aten.ones(3, 3), aten.tensor([1])), "index"),
        (lambda x: x.sort()[0], (aten.ones(3, 3),), "sort"),
    ],
)
def test_what_is_more_than_kernels_is_refused_by_name(
    tmp_path: Path, function: object, arguments: tuple[aten.Tensor, ...], word: str
) -> None:
    class Called(aten.nn.Module):
        def forward(self, *given: aten.Tensor) -> aten.Tensor:
            return function(*given)  # type: ignore[operator,no-any-return]

    program = aten.export.export(Called(), arguments)
    with pytest.raises(SharedLibraryError, match=f"{word}|embedding"):
        write_library(program, tmp_path / "librefused.so")
    assert not list(tmp_path.iterdir())


def test_a_program_that_writes_to_its_buffers_is_refused(tmp_path: Path) -> None:
    class Counting(aten.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", aten.zeros(1))

        def forward(self, x: aten.Tensor) -> aten.Tensor:
            self.count.add_(1)
            return x + self.count

    program = aten.export.export(Counting(), (aten.ones(2),))
    with pytest.raises(SharedLibraryError, match="writes"):
        write_library(program, tmp_path / "libcounting.so")


def test_a_library_without_functions_of_others_or_weights() -> None:
    content = bytes([0xC3]) + bytes(images.PAGE - 1)
    image = images.Image(content, images.PAGE, [], {"nothing_run": 0})
    made = shared_objects.shared_object("libnothing.so", image, image.symbols, b"")
    assert made[:4] == b"\x7fELF"
    assert b"nothing_run\0" in made
    assert b"libnothing.so\0" in made
