"""The backend contract, on a device whose memory only its own file can address.

A backend is there for the whole process, so each test is a program of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from aten import backends, conformance
from aten.backends.contract import DeviceBackend
from aten.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "backend_numpy.py"
LOOPS = ROOT / "examples" / "backend_loops.py"
# Before programs of the device that has a code generator and no kernels.
GENERATOR = f"import runpy; space = runpy.run_path({str(LOOPS)!r}); device = space['DEVICE']\n"


def run(program: str, example: bool = True) -> str:
    """What a program prints, after the example has registered its device."""
    loaded = f"import runpy; runpy.run_path({str(EXAMPLE)!r})\n" if example else ""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import aten\n{loaded}{program}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_is_short_and_runs() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 300
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True, timeout=300
    )
    assert "device='npu'" in done.stdout
    assert done.stdout.splitlines()[-1] == "[10.0, 5.0]"


def test_the_host_never_gets_at_the_memory() -> None:
    program = """
import pickle, pytest
x = aten.ones(3, device='npu')
assert x.data_ptr() == 0
for refused in (lambda: x.numpy(), lambda: memoryview(x.untyped_storage()), lambda: x.__dlpack__()):
    with pytest.raises((TypeError, BufferError, RuntimeError)):
        refused()
with pytest.raises(TypeError, match='copy it to the CPU'):
    pickle.dumps(x.untyped_storage())
with pytest.raises(RuntimeError, match='no handle'):
    aten.ones(1).untyped_storage().handle
with pytest.raises(RuntimeError, match='same device'):
    x + aten.ones(3)
with pytest.raises(RuntimeError, match='same device'):
    aten.gather(x, 0, aten.tensor([0]))
with pytest.raises(RuntimeError, match='expected out on device'):
    aten.add(x, x, out=aten.empty(3))
assert (x + aten.tensor(2.0)).tolist() == [3, 3, 3]
assert x[1].item() == 1.0 and repr(x) == "tensor([1., 1., 1.], device='npu')"
"""
    run(program)


def test_what_makes_and_moves_tensors_runs_there() -> None:
    program = """
import copy
made = [aten.zeros(2, 3, device='npu'), aten.full((2,), 7, device='npu'), aten.eye(3, device='npu'),
        aten.ones(0, device='npu'), aten.scalar_tensor(2.0, device='npu')]
assert [one.tolist() for one in made] == [
    [[0, 0, 0], [0, 0, 0]], [7, 7], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [], 2.0]
x = aten.arange(6.0).reshape(2, 3).to('npu')
y = x.clone()
y += 1
assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and y.tolist() == [[1, 2, 3], [4, 5, 6]]
assert copy.deepcopy(x).tolist() == x.tolist()
x[:, 1] = 9
assert x.t().tolist() == [[0, 3], [9, 9], [2, 5]]
out = aten.empty(0, device='npu')
aten.add(x, y, out=out)
assert out.tolist() == (x + y).tolist()
out.resize_(3, 3)
assert out.flatten()[:6].tolist() == (x + y).flatten().tolist()
assert x.to(aten.int64).dtype is aten.int64 and x.to('cpu').device.type == 'cpu'
assert x.to('reference').to('npu').tolist() == x.tolist()
assert aten.cat([x, y]).shape == (4, 3)
assert aten.index_put(x, (aten.tensor([0]),), y[0]).shape == (2, 3)
assert x.tolist() == [[0, 9, 2], [3, 9, 5]]
"""
    run(program)


def test_a_wrong_kernel_is_named() -> None:
    program = """
from aten.conformance import check
from aten.dispatch import DispatchKey
def difference(left, right):
    return aten.ops.prims.add(left, right)
import warnings
warnings.simplefilter('ignore')
aten.registry.operator('prims::sub').register(DispatchKey.PrivateUse1, difference, 'planted')
found = {one.operator: one for one in check('npu', 'prims', ('float32',), pattern='prims::')
         if one.status != 'passed' and one.status != 'not called'}
print(*found)
"""
    assert run(program).split() == ["prims::sub"]


def test_a_generator_and_a_launch_take_the_place_of_kernels() -> None:
    assert len(LOOPS.read_text().splitlines()) < 300
    done = subprocess.run(
        [sys.executable, str(LOOPS)], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.splitlines()[-1] == "[[6.0, 2.0], [14.0, 8.0]]"
    program = (
        GENERATOR
        + """
seen = []
plain = device.launch
def launch(one, parts, stream):
    seen.append(one)
    assert len(parts) == len(one.program.operands)
    assert all(isinstance(part.handle, space['Memory']) for part in parts)
    plain(one, parts, stream)
device.launch = launch
x = aten.arange(6.0).reshape(2, 3).to('loopy')
y = aten.layer_norm(x.T @ x, (3,))
z = x.gather(1, aten.tensor([[2, 2], [0, 1]]).to('loopy')).scatter_add(
    0, aten.tensor([[0, 0]]).to('loopy'), x)
host = x.cpu()
assert aten.allclose(y.cpu(), aten.layer_norm(host.T @ host, (3,)), atol=1e-5)
assert z.tolist() == [[2, 3], [3, 4]]
labels = {one.label for one in seen}
assert {'dot_general', 'gather', 'scatter', 'sum'} <= labels, labels
before = len(seen)
(one,) = [one for one in seen if one.label == 'gather']
assert one.program.indexed == {'in0'} and one.reduced == (3, 4), one
assert 'sort' not in labels and aten.sort(x, descending=True)[0].tolist() == [[2, 1, 0], [5, 4, 3]]
"""
    )
    run(program, example=False)


def test_calls_go_to_the_current_stream_of_their_thread() -> None:
    program = (
        GENERATOR
        + """
import threading
from aten import backends
x = aten.ones(3).to('loopy')
first, second = device.default_stream(0), device.new_stream()
assert backends.current_stream(device) is first
device.synchronize(0)
with backends.use_stream(device, second):
    y = x + x
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(backends.current_stream(device)))
    thread.start(); thread.join()
    assert elsewhere == [first]
    with backends.use_stream(device, first):
        assert backends.current_stream(device) is first
    assert backends.current_stream(device) is second
waiting = len(second.tasks)
assert waiting and not first.tasks
first.wait(second)
z = y * x
assert len(first.tasks) > 1 and len(second.tasks) == waiting
third = device.new_stream()
third.wait(first)
third.finish()
assert (first.tasks, second.tasks) == ([], [])
assert z.tolist() == [2, 2, 2]
try:
    with backends.use_stream(device, second):
        raise KeyError
except KeyError:
    assert backends.current_stream(device) is first
"""
    )
    run(program, example=False)


@pytest.mark.parametrize("pattern", ["gather", "dot", "conv", "sum", "pad", "where", "svd"])
def test_loops_alone_conform(pattern: str) -> None:
    program = (
        GENERATOR
        + f"""
from aten.conformance import check
found = list(check('loopy', 'prims', pattern={pattern!r}))
assert found and any(one.status == 'passed' for one in found)
print([one for one in found if one.status in ('failed', 'missing')])
"""
    )
    assert run(program, example=False) == "[]\n"


def test_without_launch_or_code_the_error_names_what_is_missing() -> None:
    program = """
from aten import backends
class Half(backends.DeviceBackend):
    name = 'half'
    def allocate(self, nbytes, index):
        return bytearray(nbytes)
    def copy_from_host(self, target, source):
        pass
    def generator(self):
        return backends.LoopGenerator()
backends.register(Half(), 'PrivateUse2')
x = aten.ones(2).to('half')
try:
    x + x
except NotImplementedError as missing:
    print(missing)
backends.LoopGenerator.__call__ = lambda self, program: program
try:
    x + x
except NotImplementedError as missing:
    print(missing)
"""
    lines = run(program, example=False).splitlines()
    assert lines == ["LoopGenerator: makes no code", "half: no launch"]


def test_the_core_set_runs_operators_by_those_the_device_has() -> None:
    program = """
import runpy
space = runpy.run_path({path!r})
class Core(space['NumPyBackend']):
    name, opset = 'corey', 'core'
    calls = []
    def kernels(self):
        return {{}}
    def operators(self):
        wrapped = super().kernels()
        def kernel(name):
            def run(*args, **kwargs):
                self.calls.append(name)
                return wrapped[name](*args, **kwargs)
            return run
        return {{'aten::add.Tensor': lambda a, b, alpha=1: kernel('add')(a, b),
                'aten::mul.Tensor': kernel('mul'), 'aten::sqrt': kernel('sqrt')}}
backend = Core()
aten.backends.register(backend, 'PrivateUse2')
x = aten.tensor([3.0, 4.0]).to('corey')
y = aten.square(x)
assert y.tolist() == [9, 16] and backend.calls == ['mul'], backend.calls
try:
    aten.tanh(x)
except NotImplementedError as missing:
    print(missing)
"""
    out = run(program.format(path=str(EXAMPLE)), example=False)
    assert "PrivateUse2" in out


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "two words"}, "a word"),
        ({"name": "x", "opset": "most"}, "opset must be one of"),
        ({"name": "x", "kernels": lambda self: {"ad": len}}, "unknown prims::ad"),
    ],
)
def test_a_backend_that_does_not_fit_is_refused(fields: dict[str, object], message: str) -> None:
    made = type("Wrong", (DeviceBackend,), {"name": "x", **fields})
    program_refused = pytest.raises(ValueError, match=message)
    with program_refused:
        _check_only(made())


def _check_only(backend: DeviceBackend) -> None:
    """Refusals come before anything is put in place."""
    backends.register(backend, "PrivateUse3")


def test_a_component_that_is_not_free_is_refused() -> None:
    with pytest.raises(ValueError, match="component must be one of"):
        backends.register(DeviceBackend(), "CPU")


def test_conformance_of_the_reference_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = [str(tmp_path / name) for name in ("a.json", "a.xml")]
    arguments = ["conformance", "add", "--device", "reference", "--opset", "core"]
    assert main([*arguments, "--json", written[0], "--junit", written[1]]) == 0
    assert "0 failed, 0 missing" in capsys.readouterr().out
    outcomes = json.loads(Path(written[0]).read_text())["outcomes"]
    assert {"aten::add.Tensor", "aten::addmm"} <= {one["operator"] for one in outcomes}
    assert ElementTree.parse(written[1]).getroot().get("failures") == "0"


def test_conformance_says_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="opset must be"):
        list(conformance.check("cpu", "some"))
    with pytest.raises(ValueError, match="unknown dtypes float3"):
        list(conformance.check("cpu", "core", ("float3",)))
