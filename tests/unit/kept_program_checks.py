"""Programs that another process has captured: found, right, and given up where they are none.

Part of `test_kept_programs.py`, which runs this in a process of its own.
"""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import kept_programs
import pytest

import aten
from aten.backends.cpu import cache as disk
from aten.backends.cpu.described_plans import call_of
from aten.backends.cpu.kernels.matrix import matrix_tiles
from aten.compiler.files import frozen, kept
from aten.compiler.files.kept import LENGTH
from aten.compiler.programs import CompiledProgram
from aten.utils._pytree import tree_flatten, tree_leaves


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Exported programs, what they gave, and what the process left in its cache."""
    made = tmp_path_factory.mktemp("kept")
    environment = {**os.environ, "ATEN_CACHE_DIR": str(made / "cache")}
    command = [sys.executable, kept_programs.__file__, str(made)]
    subprocess.run(command, check=True, env=environment)
    return made


@pytest.fixture(autouse=True)
def cache(folder, monkeypatch):
    monkeypatch.setenv("ATEN_CACHE_DIR", str(folder / "cache"))
    threads = aten.get_num_threads()
    aten.set_num_threads(kept_programs.THREADS)
    yield folder / "cache"
    aten.set_num_threads(threads)


def loaded(folder, name):
    """A program, compiled, and the arguments and results of the other process."""
    module = aten.export.load(folder / f"{name}.pt2").module()
    recorded = aten.load(folder / f"{name}.pt")
    return module, aten.compile(module), recorded["args"], recorded["found"]


def called(compiled, *args):
    with aten.no_grad():
        return compiled(*args)


def in_use(compiled):
    """What its entries run."""
    return [entry.program for entry in compiled._entries.values()]


def assert_same_bits(found, expected):
    for one, other in zip(tree_leaves(found), tree_leaves(expected), strict=True):
        assert aten.equal(one, other)
        assert one.stride() == other.stride()


def program_files(cache):
    return sorted(cache.glob("*.program"))


@pytest.mark.parametrize("name", kept_programs.PROGRAMS)
def test_the_bits_are_those_of_the_process_that_captured_it(folder, name):
    _, compiled, args, expected = loaded(folder, name)
    for one in expected:
        found = called(compiled, *args)
        assert type(found) is type(one)
        assert_same_bits(found, one)
    (program,) = in_use(compiled)
    assert type(program) is kept.KeptProgram


@pytest.mark.parametrize("name", kept_programs.PROGRAMS)
def test_it_says_what_a_captured_one_says(folder, name):
    module, compiled, args, _ = loaded(folder, name)
    called(compiled, *args)
    said = aten.compiler.explain(compiled)
    (program,) = compiled.programs()
    assert type(program) is CompiledProgram
    captured = aten.compile(lambda *given: module(*given))
    called(captured, *args)
    assert said == aten.compiler.explain(captured)
    assert [str(one) for one in (program.graph, program.preparation.graph)] == [
        str(one) for one in (captured.programs()[0].graph, captured.programs()[0].preparation.graph)
    ]


@pytest.mark.parametrize("name", kept_programs.PARTED)
def test_first_parts_of_programs_that_depend_on_data(folder, name):
    module, compiled, args, expected = loaded(folder, name)
    for one in expected:
        assert_same_bits(called(compiled, *args), one)
    (part,) = compiled.parts
    (program,) = in_use(part)
    assert type(program) is kept.KeptProgram
    assert "item" in aten.compiler.explain(compiled)
    state = module.program.state_dict
    state["layer.weight"] = aten.zeros_like(state["layer.weight"])
    eager = aten.export.load(folder / f"{name}.pt2")
    eager.state_dict["layer.weight"] = aten.zeros(6, 6)
    assert_same_bits(called(compiled, *args), called(eager.module(), *args))


@pytest.mark.parametrize("name", ["normalized", "convolved", "averaged"])
def test_a_start_imports_neither_capture_nor_what_makes_kernels(folder, name):
    code = (
        f"import aten, sys; aten.set_num_threads({kept_programs.THREADS})\n"
        f"module = aten.export.load({str(folder / f'{name}.pt2')!r}).module()\n"
        f"args = aten.load({str(folder / f'{name}.pt')!r})['args']\n"
        "compiled = aten.compile(module)\n"
        "with aten.no_grad():\n"
        "    compiled(*args)\n"
        "wrong = {'aten.compiler.capture', 'aten.compiler.partition', 'llvmlite',\n"
        "         'aten.backends.cpu.codegen', 'aten.backends.plans', 'aten.loops.pipeline'}\n"
        "print(sorted(wrong & sys.modules.keys()))\n"
    )
    asked = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert asked.stdout == "[]\n"


def test_weights_that_change_are_seen(folder):
    module, compiled, args, expected = loaded(folder, "normalized")
    for _ in range(2):
        assert_same_bits(called(compiled, *args), expected[0])
    with aten.no_grad():
        module.program.state_dict["first.weight"].mul_(0.5)
        module.program.state_dict["norm.bias"].add_(1)
    captured = aten.compile(lambda *given: module(*given))
    assert_same_bits(called(compiled, *args), called(captured, *args))
    assert not aten.equal(called(compiled, *args), expected[0])


@pytest.mark.parametrize("wrapped", [False, True])
def test_tensors_put_in_the_place_of_others_are_seen(folder, wrapped):
    """By programs that were read, and by those that were captured."""
    module, compiled, args, expected = loaded(folder, "normalized")
    if wrapped:
        compiled = aten.compile(lambda *given: module(*given))
    assert_same_bits(called(compiled, *args), expected[0])
    state = module.program.state_dict
    state["second.weight"] = state["second.weight"] * -1
    assert_same_bits(called(compiled, *args), called(aten.compile(lambda x: module(x)), *args))
    assert not aten.equal(called(compiled, *args), expected[0])
    module.program = aten.export.load(folder / "normalized.pt2")
    assert_same_bits(called(compiled, *args), expected[0])


def test_weights_that_are_copies_put_off_are_told_apart(tmp_path, monkeypatch):
    class Twice(aten.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = aten.nn.Parameter(aten.randn(200, 200))
            self.second = aten.nn.Parameter(self.first.detach().clone())

        def forward(self, x):
            return x @ self.first - 3 * (x @ self.second)

    monkeypatch.setenv("ATEN_CACHE_DIR", str(tmp_path))
    x = aten.randn(4, 200)
    module = aten.export.export(Twice(), (x,)).module()
    called(aten.compile(module), x)
    with aten.no_grad():
        module.program.state_dict["first"].zero_()
    compiled = aten.compile(module)
    found = called(compiled, x)
    assert type(in_use(compiled)[0]) is kept.KeptProgram
    assert aten.allclose(found, -3 * (x @ module.program.state_dict["second"]), atol=1e-3)


def test_whoever_writes_to_results_changes_nothing(folder):
    _, compiled, args, expected = loaded(folder, "attending")
    for _ in range(3):
        found = called(compiled, *args)
        assert_same_bits(found, expected[0])
        for one in tree_leaves(found):
            one.zero_()


def name_of(module, *args):
    leaves, structure = tree_flatten((args, {}))
    return kept.name_of(module, leaves, structure, ())


@pytest.fixture
def as_before():
    width = matrix_tiles.vector_bytes()
    yield
    aten.set_default_dtype(aten.float32)
    matrix_tiles.set_vector_bytes(width)


@pytest.mark.parametrize(
    "change",
    [
        lambda: aten.set_num_threads(1),
        lambda: aten.set_default_dtype(aten.float64),
        lambda: matrix_tiles.set_vector_bytes(16),
    ],
    ids=["threads", "default", "vectors"],
)
def test_settings_that_decide_have_files_of_their_own(folder, as_before, change):
    module, _, args, _ = loaded(folder, "convolved")
    with aten.no_grad():
        before = name_of(module, *args)
        assert before is not None
        assert name_of(module, *args) == before
        change()
        assert name_of(module, *args) not in (before, None)


def test_modes_and_kinds_of_arguments_have_files_of_their_own(folder):
    module, _, (x,), _ = loaded(folder, "convolved")
    with aten.no_grad():
        names = {name_of(module, x), name_of(module, x.double()), name_of(module, x[:1])}
        names.add(name_of(module, x.permute(0, 1, 3, 2).contiguous().permute(0, 1, 3, 2)))
        names.add(name_of(module, [x]))
    with aten.inference_mode():
        names.add(name_of(module, x))
    assert len(names) == 6
    assert None not in names


def test_a_changed_graph_has_a_file_of_its_own(folder):
    module, _, args, _ = loaded(folder, "convolved")
    with aten.no_grad():
        before = name_of(module, *args)
        node = next(one for one in module.graph.nodes if "silu" in one.target)
        node.target = node.target.replace("silu", "relu")
        assert name_of(module, *args) not in (before, None)


def test_what_is_not_kept(folder):
    module, _, args, _ = loaded(folder, "normalized")
    with aten.no_grad():
        assert name_of(lambda *given: module(*given), *args) is None
        assert name_of(module, object()) is None
    trained = [one.requires_grad for one in module.parameters()]
    assert (name_of(module, *args) is None) == any(trained)
    for one in module.parameters():
        one.requires_grad_()
    assert name_of(module, *args) is None
    compiled = aten.compile(module, mode="max-autotune")
    called(compiled, *args)
    assert type(in_use(compiled)[0]) is CompiledProgram


@pytest.mark.filterwarnings("ignore:.*is overridden:UserWarning")
def test_kernels_of_others_are_called(folder):
    """A kernel registered before a program is read, and one registered after."""
    _, compiled, args, expected = loaded(folder, "normalized")
    assert_same_bits(called(compiled, *args), expected[0])
    library = aten.library.Library("aten", "IMPL")
    try:
        library.impl("_softmax", lambda x, dim, half: x * 0 + 7, "CPU")
        assert (called(compiled, *args) == 7).all()
        module, other, _, _ = loaded(folder, "normalized")
        with aten.no_grad():
            assert name_of(module, *args) is None
        assert (called(other, *args) == 7).all()
    finally:
        library._destroy()
    assert_same_bits(called(compiled, *args), expected[0])


@pytest.mark.parametrize("damage", ["bit", "cut", "empty", "long"])
def test_damaged_files_are_made_anew(folder, cache, damage):
    before = {one: one.read_bytes() for one in program_files(cache)}
    for path, content in before.items():
        made = {
            "bit": content[:90] + bytes([content[90] ^ 1]) + content[91:],
            "cut": content[:-5],
            "empty": b"",
            "long": content + b"x",
        }
        path.write_bytes(made[damage])
    try:
        _, compiled, args, expected = loaded(folder, "normalized")
        assert_same_bits(called(compiled, *args), expected[0])
        assert type(in_use(compiled)[0]) is CompiledProgram
    finally:
        for path, content in before.items():
            path.write_bytes(content)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 8, LENGTH.pack(3) + b"{}}", LENGTH.pack(1 << 40), LENGTH.pack(2) + b"{}"],
)
def test_files_that_hold_no_program_are_passed_over(folder, cache, content):
    module, compiled, args, expected = loaded(folder, "normalized")
    with aten.no_grad():
        leaves, structure = tree_flatten((args, {}))
        around = (*compiled._state(), False)
        path = cache / kept.name_of(module, leaves, structure, around)
    before = path.read_bytes()
    disk.write(path.name, content)
    try:
        assert_same_bits(called(compiled, *args), expected[0])
        assert type(in_use(compiled)[0]) is CompiledProgram
    finally:
        path.write_bytes(before)


def test_operands_of_another_layout_are_captured_anew(folder, monkeypatch):
    _, compiled, args, expected = loaded(folder, "normalized")

    def plan(group, kernel, tensors):
        raise frozen.OperandsError("of another layout")

    monkeypatch.setattr(frozen.Group, "plan", plan)
    for _ in range(2):
        assert_same_bits(called(compiled, *args), expected[0])


def test_what_a_reader_captures_is_kept_in_turn(folder, cache):
    """Its kernels come from a file, and go into the next one."""
    module, compiled, args, _ = loaded(folder, "normalized")
    called(compiled, *args)
    before = len(program_files(cache))
    with aten.inference_mode():
        first = aten.compile(module)
        expected = first(*args)
        assert type(in_use(first)[0]) is CompiledProgram
        assert len(program_files(cache)) == before + 1
        second = aten.compile(module)
        assert_same_bits(second(*args), expected)
        assert type(in_use(second)[0]) is kept.KeptProgram


def test_kernels_of_calls_that_a_file_brought_go_into_the_next_one(folder, tmp_path, monkeypatch):
    call = (
        f"import aten, sys; aten.set_num_threads({kept_programs.THREADS})\n"
        f"module = aten.export.load({str(folder / 'convolved.pt2')!r}).module()\n"
        f"args = aten.load({str(folder / 'convolved.pt')!r})['args']\n"
        "with aten.no_grad():\n"
        "    aten.compile(module)(*args)\n"
    )
    others = (
        "assert 'aten.loops.pipeline' not in sys.modules\n"
        "with aten.inference_mode():\n"
        "    aten.compile(module)(*args)\n"
    )
    monkeypatch.setenv("ATEN_CACHE_DIR", str(tmp_path))
    for code in (call, call + others):
        subprocess.run([sys.executable, "-c", code], check=True)
    first, second = map(description, sorted(program_files(tmp_path), key=os.path.getmtime))
    assert first["calls"]
    assert first["calls"].items() <= second["calls"].items()
    assert set(first["calls"].values()) <= second["kernels"].keys()


def test_plans_of_folds_that_a_file_told_go_into_the_next_one(folder, tmp_path, monkeypatch):
    path = str(folder / "averaged")
    code = (
        f"import aten, sys; aten.set_num_threads({kept_programs.THREADS})\n"
        f"module = aten.export.load({path + '.pt2'!r}).module()\n"
        f"args = aten.load({path + '.pt'!r})['args']\n"
        "with aten.no_grad():\n"
        "    aten.compile(module)(*args)\n"
        "with aten.inference_mode():\n"
        "    aten.compile(module)(*args)\n"
    )
    monkeypatch.setenv("ATEN_CACHE_DIR", str(tmp_path))
    shutil.copytree(folder / "cache", tmp_path, dirs_exist_ok=True)
    before = {file.name for file in program_files(tmp_path)}
    subprocess.run([sys.executable, "-c", code], check=True)
    (second,) = (file for file in program_files(tmp_path) if file.name not in before)
    plans = description(second)["plans"]
    assert {call.split()[0] for call in plans} == {
        "aten::amax",
        "aten::mean.dim",
        "aten::std_mean.dim",
    }
    assert sorted(len(plan["launches"]) for plan in plans.values()) == [1, 1, 3]
    kernels = description(second)["kernels"]
    assert all(one["kernel"] in kernels for plan in plans.values() for one in plan["launches"])


def test_calls_with_plans_of_their_own_have_names_of_their_own():
    tensor = aten.zeros(3, 4)
    different = [
        *((tensor, one) for one in (1, True, 1.0, None, [1], (1,), (1, 2), "1", aten.float64)),
        (tensor.double(), 1),
        (aten.zeros(4, 3).t(), 1),
        (aten.zeros(3, 8)[:, ::2], 1),
        (aten.zeros(3, 4, 1), 1),
        (tensor, tensor, 1),
        (tensor, 1, None),
    ]
    names = [call_of(name, one) for name in ("aten::sum", "aten::amax") for one in different]
    assert len({*names}) == len(names)
    assert None not in names
    assert call_of("aten::sum", (aten.ones(3, 4), 1)) == names[0]


def test_calls_with_other_arguments_are_not_known():
    assert call_of("aten::sum", [aten.zeros(3), object()]) is None
    assert call_of("aten::sum", [aten.zeros(3), [aten.zeros(3)]]) is None


def description(file):
    content = disk.read(file.name, file.stat().st_size)
    (length,) = LENGTH.unpack_from(content)
    return json.loads(content[LENGTH.size : LENGTH.size + length])


def test_a_package_without_a_folder_keeps_nothing(folder, monkeypatch):
    monkeypatch.setattr(kept, "_stamps", {})
    monkeypatch.setattr(kept, "_folders", lambda: ["/nowhere"])
    _, compiled, args, expected = loaded(folder, "normalized")
    assert_same_bits(called(compiled, *args), expected[0])
    assert type(in_use(compiled)[0]) is CompiledProgram


def test_threads_that_begin_together(folder):
    _, compiled, args, expected = loaded(folder, "wide")
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: called(compiled, *args), range(8)):
            assert_same_bits(found, expected[0])


def test_without_a_cache(folder, monkeypatch):
    monkeypatch.setenv("ATEN_CACHE_DIR", "off")
    _, compiled, args, expected = loaded(folder, "normalized")
    assert_same_bits(called(compiled, *args), expected[0])
    assert type(in_use(compiled)[0]) is CompiledProgram
