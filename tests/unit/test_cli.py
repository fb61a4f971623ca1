"""The aten command: what it prints, and one clear line for everything that is wrong."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program_files import DATA, changed, changed_json, members_of, write_archive
from test_export import keep_sizes_only

import aten
from aten.cli import main
from aten.cli.parsing import parsed
from aten.cli.run import plain_options


@pytest.fixture
def sizes(tmp_path: Path) -> str:
    """A program that needs no operator."""
    return str(changed_json(tmp_path / "sizes.pt2", "kinds.pt2", keep_sizes_only))


def save(path: Path, **arrays: Any) -> str:
    np.savez(path, **arrays)
    return str(path)


def safetensors(path: Path, header: object, data: bytes = b"") -> str:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return str(path)


def test_runs_on_named_inputs(sizes: str, tmp_path: Path, capsys: Any) -> None:
    data = save(tmp_path / "d.npz", x=np.zeros((10, 4), "f4"), table_a=np.zeros((9, 3), "f4"))
    assert main(["run", sizes, "--input", data]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:6] == [
        "input   x  float32[10, 4]",
        "input   table_a  float32[9, 3]",
        "input   factor  2",
        "input   mode  None",
        "output  floordiv  20",
        "output  sym_max  10",
    ]
    assert lines[6].startswith("time       loading ")
    assert lines[7].startswith("memory     tensors ")


@pytest.mark.parametrize("names", [("in_0", "in_1"), ("first", "second")])
def test_takes_inputs_by_number_and_in_order(
    sizes: str, tmp_path: Path, capsys: Any, names: tuple[str, str]
) -> None:
    arrays = dict(zip(names, (np.zeros((10, 4), "f4"), np.zeros((9, 3), "f4")), strict=True))
    data = save(tmp_path / "d.npz", labels=np.zeros(3), out_0=np.zeros(2), **arrays)
    assert main(["run", sizes, "--input", data]) == 0
    assert "output  floordiv  20" in capsys.readouterr().out


def test_takes_inputs_from_several_files(sizes: str, tmp_path: Path, capsys: Any) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(np.zeros((10, 4), ">f4")))
    entry = {"dtype": "F32", "shape": [9, 3], "data_offsets": [0, 108]}
    header = {"__metadata__": {"format": "pt"}, "table_a": entry}
    table = safetensors(tmp_path / "t.safetensors", header, bytes(108))
    assert main(["run", sizes, "--input", str(tmp_path / "x.npy"), "--input", table]) == 0
    assert "output  sym_max  10" in capsys.readouterr().out


def test_random_inputs_have_sizes_that_fit(sizes: str, capsys: Any) -> None:
    assert main(["run", sizes, "--random", "--repeat", "3", "--profile"]) == 0
    out = capsys.readouterr().out
    assert "input   x  float32[6, 4]\ninput   table_a  float32[8, 3]\n" in out
    assert ", median of 2 more " in out
    assert "Self CPU" in out
    assert "# of Calls" in out
    assert main(["run", sizes, "--random", "--batch", "20"]) == 0
    assert "input   x  float32[20, 4]" in capsys.readouterr().out


def test_prints_the_graph(capsys: Any) -> None:
    assert main(["run", str(DATA / "kinds.pt2"), "--graph"]) == 0
    golden = Path(__file__).parent.parent / "golden" / "kinds.graph.py.txt"
    assert capsys.readouterr().out == golden.read_text()


def test_finds_bundled_examples(capsys: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "digits_cnn.pt2", "--graph"]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    expected = Path(aten.__file__).parent / "examples/digits/digits_cnn.pt2"
    assert first == (
        f"digits_cnn.pt2: not in the current folder; using the bundled example {expected}"
    )


def error_of(capsys: Any, arguments: list[str]) -> str:
    """The one line that the command writes to standard error; its status is 2."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.endswith("\n")
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err + captured.out
    return str(captured.err)


SMALL = DATA / "kinds.pt2"

BAD_MODELS: list[tuple[str, Callable[[Path], object], str]] = [
    ("missing", lambda p: None, "No such file or directory"),
    ("folder", lambda p: p.mkdir(), "Is a directory"),
    ("empty", lambda p: p.write_bytes(b""), "the file is empty"),
    ("text", lambda p: p.write_text("hello"), "not a zip archive"),
    ("cut", lambda p: p.write_bytes(SMALL.read_bytes()[:9000]), "cut short"),
    (
        "compressed",
        lambda p: write_archive(p, members_of(SMALL), zipfile.ZIP_DEFLATED),
        "is compressed; only stored members",
    ),
    (
        "pickled",
        lambda p: changed_json(
            p,
            "kinds.pt2",
            lambda c: c["config"]["weight"].update(use_pickle=True),
            "model_weights_config.json",
        ),
        "stored as a pickle, and nothing here unpickles",
    ),
    (
        "checkpoint",
        lambda p: write_archive(p, {"x/data.pkl": b"", "x/version": b"3"}),
        "a pickled checkpoint",
    ),
    (
        "json",
        lambda p: changed(p, "kinds.pt2", lambda m: m.update({"kinds/models/model.json": b"{"})),
        "not valid JSON",
    ),
    (
        "operators",
        lambda p: changed_json(p, "kinds.pt2", name_unknown_operators),
        "2 operators that aten does not have: my_ops.one.default, my_ops.two.default",
    ),
]


def name_unknown_operators(model: Any) -> None:
    keep_sizes_only(model)
    nodes = model["graph_module"]["graph"]["nodes"]
    nodes[0]["target"] = "torch.ops.my_ops.two.default"
    nodes[1]["target"] = "torch.ops.my_ops.one.default"


@pytest.mark.parametrize(("make", "reason"), [case[1:] for case in BAD_MODELS])
def test_bad_models(
    tmp_path: Path, capsys: Any, make: Callable[[Path], object], reason: str
) -> None:
    path = tmp_path / "bad.pt2"
    make(path)
    error = error_of(capsys, ["run", str(path), "--random"])
    assert error.startswith("aten run: error: ")
    assert reason in error


def numpy_file(path: Path, **arrays: Any) -> str:
    np.savez(path, **arrays)
    return str(path)


X, TABLE = np.zeros((10, 4), "f4"), np.zeros((9, 3), "f4")

BAD_INPUTS: list[tuple[str, Callable[[Path], object], str]] = [
    ("d.npz", lambda p: None, "No such file or directory"),
    ("d.txt", lambda p: p.write_text("1"), "read from .npz, .npy and .safetensors files"),
    ("d.npz", lambda p: p.write_text("hello"), "not a readable .npz file"),
    ("d.npz", lambda p: p.write_bytes(b""), "not a readable .npz file"),
    ("d.npz", lambda p: p.write_bytes(b"PK\x03\x04" + bytes(50)), "not a readable .npz file"),
    ("d.npy", lambda p: np.save(p, np.array([{}], object)), "not a readable .npy file"),
    ("d.npz", lambda p: np.savez(p, x=np.array(["text"])), "arrays of <U4 have no tensor type"),
    (
        "d.npz",
        lambda p: np.savez(p, y=X),
        "table_a: float32[s22, 3] with s22 8..128; the files hold y",
    ),
    (
        "d.npz",
        lambda p: np.savez(p, x=X.astype("f8"), table_a=TABLE),
        "input 'x' (1 of 4): the dtype differs: expected float32[s77, 4]",
    ),
    ("d.npz", lambda p: np.savez(p, x=X[:, :3], table_a=TABLE), "dimension 1 differs"),
    ("d.npz", lambda p: np.savez(p, x=X[0], table_a=TABLE), "number of dimensions differs"),
    ("d.npz", lambda p: np.savez(p, x=X[:3], table_a=TABLE), "s77 is 3, out of range 6..64"),
    ("d.npz", lambda p: np.savez(p, x=X[:0], table_a=TABLE), "s77 is 0, out of range 6..64"),
    ("d.safetensors", lambda p: p.write_bytes(b"1234"), "not a safetensors file"),
    ("d.safetensors", lambda p: p.write_bytes(b"\xff" * 40), "not a safetensors file"),
    (
        "d.safetensors",
        lambda p: p.write_bytes(struct.pack("<Q", 4) + b"nope"),
        "not valid JSON",
    ),
    (
        "d.safetensors",
        lambda p: safetensors(p, {"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}),
        "lies outside the file's 0 bytes",
    ),
    (
        "d.safetensors",
        lambda p: safetensors(
            p, {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, bytes(4)
        ),
        "4 bytes for float32 of shape [2]",
    ),
    (
        "d.safetensors",
        lambda p: safetensors(p, {"x": {"dtype": "F3", "shape": [], "data_offsets": [0, 0]}}),
        "unknown element type 'F3'",
    ),
]


@pytest.mark.parametrize(("name", "make", "reason"), BAD_INPUTS)
def test_bad_inputs(
    sizes: str,
    tmp_path: Path,
    capsys: Any,
    name: str,
    make: Callable[[Path], object],
    reason: str,
) -> None:
    path = tmp_path / name
    make(path)
    assert reason in error_of(capsys, ["run", sizes, "--input", str(path)])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "give --input FILE or --random"),
        (["--random", "--batch", "5"], "s77 is 5, out of range 6..64"),
        (["--random", "--batch", "-1"], "negative dimension -1"),
        (["--random", "--repeat", "0"], "--repeat must be at least 1"),
    ],
)
def test_bad_options(sizes: str, capsys: Any, arguments: list[str], reason: str) -> None:
    assert reason in error_of(capsys, ["run", sizes, *arguments])


def test_two_arrays_of_one_name(sizes: str, tmp_path: Path, capsys: Any) -> None:
    data = save(tmp_path / "d.npz", x=X)
    error = error_of(capsys, ["run", sizes, "--input", data, "--input", data])
    assert "an array named 'x' was given already" in error


def test_traceback_on_request(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        main(["--traceback", "run", str(tmp_path / "nothing.pt2")])


def test_usage_errors_have_status_two(capsys: Any) -> None:
    for arguments in ([], ["fly"], ["run"], ["run", "x.pt2", "--batch", "many"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
    capsys.readouterr()


def test_lists_operators(capsys: Any) -> None:
    assert main(["ops", "gelu", "--schemas"]) == 0
    out = capsys.readouterr().out
    assert "gelu(Tensor self, *, str approximate='none') -> Tensor" in out.replace('"', "'")
    assert "gelu_(Tensor(a!) self" in out
    assert main(["ops", "gelu*", "--kind", "pointwise", "--tag", "core"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("3 of ")
    assert main(["ops", "gelu", "--kind", "reduction"]) == 0
    assert capsys.readouterr().out.startswith("0 of ")
    assert "only cpu, meta, reference" in error_of(capsys, ["ops", "--backend", "tpu"])


def test_explains_an_operator(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert main(["explain", "gelu_"]) == 0
    assert capsys.readouterr().out.startswith("aten::gelu_(Tensor(a!) self")
    assert main(["explain", "gelu"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("aten::gelu(Tensor self, *, str approximate=")
    assert "  kind        pointwise, functional\n" in out
    assert "native_functions.yaml:" in out
    assert "tests/unit/test_cli.py" in out
    assert "  prims       ndtr, mul\n" in out
    assert "aten::gelu.out(" in out
    error = error_of(capsys, ["explain", "geluu"])
    meant = "'gelu' or 'gelu_' or 'gelu.out'"
    assert error == f"aten explain: error: there is no operator geluu; did you mean {meant}?\n"


def test_doctor_says_what_is_there(capsys: Any) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for title in ("python", "numpy", "llvmlite", "processor", "features", "threads", "cache"):
        assert f"\n{title} " in f"\n{out}"


def test_the_version(capsys: Any) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["--version"])
    assert leaving.value.code == 0
    assert capsys.readouterr().out == f"aten {aten.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["ops", "--kind", "pointwize"],
            "--kind pointwize: there is no such kind; did you mean 'poin",
        ),
        (["ops", "--kind", "x"], "no such kind, only composite, copy, explicit"),
        (["ops", "--tag", "cor"], "--tag cor: there is no such tag; did you mean 'core'?"),
        (["ops", "--backend", "cpuu"], "there is no such backend; did you mean 'cpu'?"),
        (["ops", "sofmax"], "no operator's name holds 'sofmax'; did you mean 'softmax'"),
        (["explain", "sofmax"], "there is no operator sofmax; did you mean 'softmax'"),
        (["explain", "linalg.sdv"], "there is no operator linalg.sdv"),
    ],
)
def test_unknown_names_and_filters(capsys: Any, arguments: list[str], message: str) -> None:
    assert message in error_of(capsys, arguments)


def test_a_command_that_is_not_there(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(["explian", "add"])
    assert "did you mean 'explain'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["linalg.svd", "aten.linalg.svd", "nn.functional.gelu", "Tensor.view"]
)
def test_explains_operators_by_the_names_users_know(capsys: Any, name: str) -> None:
    assert main(["explain", name]) == 0
    assert f"{name.rpartition('.')[2]}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("softmax.int", ["def softmax(", "kernels", "aten::_softmax  CPU  fused loops"]),
        ("mm", ["compiled matrix product mm", "the calls of an example", ">>> aten.mm("]),
        ("transpose.int", ["compiled view transpose", ">>> aten.transpose("]),
        ("zeros", ["the calls of an example", ">>> aten.zeros(2, 3)"]),
        ("sort", ["kernels", "aten::sort"]),
        ("add.Tensor", ["Prims graph", "Loop IR", "machine code"]),
        ("add.out", ["Prims graph"]),
        ("linalg_svd", ["def linalg_svd(", "aten::_linalg_svd"]),
        ("abs_", ["Prims graph"]),
        ("_to_copy", ["def _to_copy("]),
    ],
)
def test_shows_the_code_of_every_kind(capsys: Any, name: str, shown: list[str]) -> None:
    assert main(["explain", name, "--code"]) == 0
    text = capsys.readouterr().out
    for part in shown:
        assert part in text, part


def test_every_operator_has_code_to_show() -> None:
    from aten._generated.table import OPERATORS
    from aten.cli.code import _LOOPS, code_text
    from aten.registry import operator

    others = [name for name, row in sorted(OPERATORS.items()) if row[1] not in _LOOPS]
    for name in others[::9]:
        op = operator(name)
        is_there = bool(op.entry.function or op.registrations.kernels)
        assert ("there is no code" not in code_text(op)) == is_there, name


LINES = [
    "m.pt2",
    "m.pt2 --input a.npz --input b.npz",
    "--seed 3 --random m.pt2 --batch 7 --repeat 2",
    "m.pt2 --profile --profile-trace t.json --flame-graph f.svg --trace",
    "m.pt2 --graph --plan --device reference --backend b.py",
]


@pytest.mark.parametrize("line", LINES)
def test_ordinary_lines_are_read_as_argparse_reads_them(line: str) -> None:
    words = line.split()
    plain, expected = plain_options(words), parsed(["run", *words])
    assert vars(plain) == vars(expected)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "m.pt2 other.pt2",
        "m.pt2 --input",
        "m.pt2 --input --random",
        "m.pt2 --seed x",
        "m.pt2 --seed -1",
        "m.pt2 --seed=1",
        "m.pt2 --rand",
        "m.pt2 -- --x",
        "m.pt2 --help",
        "m.pt2 --nothing",
    ],
)
def test_all_other_lines_are_argparses(line: str) -> None:
    assert plain_options(line.split()) is None
