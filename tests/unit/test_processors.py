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


@pytest.mark.parametrize(("kind", "dtype"), [("float", np.float32), ("double", np.float64)])
@pytest.mark.parametrize("fold", ["fadd", "fmul"])
def test_lanes_are_folded_by_halves_as_this_processor_does(kind, dtype, fold):
    import ctypes

    from aten.backends.cpu.lane_folds import folded_by_halves

    bits, start = 8 * dtype().itemsize, "-0.000000e+00" if fold == "fadd" else "1.000000e+00"
    lanes = 64 // dtype().itemsize
    name = f"llvm.vector.reduce.{fold}.v{lanes}f{bits}"
    text = f"""
define void @SYMBOL(ptr %from, ptr %to) {{
  %1 = load <{lanes} x {kind}>, ptr %from, align 4
  %2 = tail call reassoc {kind} @{name}({kind} {start}, <{lanes} x {kind}> %1)
  store {kind} %2, ptr %to, align 4
  ret void
}}
declare {kind} @{name}({kind}, <{lanes} x {kind}>)
"""
    session = jit.session()
    if not session.triple.startswith("x86_64"):
        pytest.skip("the order is that of x86, which this processor does not have of itself")
    written = folded_by_halves(text)
    assert "shufflevector" in written
    results = []
    values = np.random.default_rng(0).standard_normal((500, lanes)).astype(dtype)
    for number, one in enumerate((text, written)):
        symbol = f"lanes_{fold}_{kind}_{number}"
        module = session.llvm.parse_assembly(one.replace("SYMBOL", symbol))
        address, library = session.loaded(session.machine.emit_object(module), symbol)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)
        found = np.zeros(len(values), dtype)
        for place, row in enumerate(values):
            call(row.ctypes.data, found[place:].ctypes.data)
        results.append((found, library))
    assert (results[0][0] == results[1][0]).all()
