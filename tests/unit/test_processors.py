"""The code for other processors of this machine's kind, which it can run, too."""

import numpy as np
import pytest
from loop_programs import program_of, run

from aten.backends.cpu import brought, jit
from aten.backends.cpu.codegen import lacking, llvm_ir
from aten.prims import elementwise as p

# Names of processors, and the bytes of their vectors.
OLDER = {"haswell": 32, "x86-64": 16}
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, -1e-40, 300.0, -300.0, 2e5, 1e30]
EDGES += [float("inf"), float("-inf"), float("nan")]
FUNCTIONS = "acos asin atan cos erf erfc exp exp2 expm1 log log10 log1p log2 rsqrt sigmoid sin sqrt"
FUNCTIONS = [*FUNCTIONS.split(), "tan", "tanh"]


@pytest.fixture(params=sorted(OLDER))
def older(request, monkeypatch):
    """Compile for a processor that has less than this one."""
    import llvmlite.binding as llvm

    native = jit.session()
    if not native.triple.startswith("x86_64") or native.vector_bytes <= OLDER[request.param]:
        pytest.skip("this processor is no newer, or another kind")
    without = ("avx", "fma", "f16c") if request.param == "x86-64" else ("avx512", "avx10", "amx")
    features = llvm.get_host_cpu_features()
    for name in features:
        if name.startswith(without):
            features[name] = False
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: request.param)
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: features)
    return jit.Session()


def switch(monkeypatch, session):
    monkeypatch.setattr(jit, "_session", session)
    monkeypatch.setattr(jit, "_loaded", {})
    monkeypatch.setattr(jit, "_made", {})
    # Files that were loaded before brought kernels for this processor.
    monkeypatch.setattr(brought, "kernels", {})


def program_for(name):
    return program_of(getattr(p, name), lacking=lacking())


def arguments():
    """Usual ones, a length that leaves some over, and unusual ones here and there."""
    x = np.random.default_rng(0).uniform(-0.99, 0.99, 1237).astype(np.float32)
    x[::2] = np.abs(x[::2]) * 9
    x[100 : 100 + 37 * len(EDGES) : 37] = EDGES
    return x


def test_registers_are_those_of_the_processor(older, monkeypatch):
    switch(monkeypatch, older)
    text = jit.assembly(llvm_ir(program_for("log")))
    widest = {32: "ymm", 16: "xmm"}[older.vector_bytes]
    wider = {"ymm": ("zmm",), "xmm": ("ymm", "zmm")}[widest]
    assert widest in text
    assert not any(register in text for register in wider)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_the_same_to_the_last_bits(name, older, monkeypatch):
    x = arguments()
    expected = run(program_for(name), x)
    switch(monkeypatch, older)
    assert jit.session().vector_bytes in OLDER.values()
    found = run(program_for(name), x)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(found), finite)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(expected[finite]))
    # Each is within one unit of the exact value.
    apart = np.abs(found[finite].view(np.int32).astype(np.int64) - expected[finite].view(np.int32))
    assert apart.max() <= 2


def test_files_that_brought_kernels_ask_for_no_wider_vectors(older, monkeypatch):
    # An instruction that the processor does not have ends the process.
    monkeypatch.setattr(brought, "vector_bytes", 64)
    switch(monkeypatch, older)
    assert jit.vector_bytes() == older.vector_bytes
    assert jit.assembly(llvm_ir(program_for("sigmoid")))
    monkeypatch.setattr(brought, "vector_bytes", 16)
    assert jit.vector_bytes() == 16
