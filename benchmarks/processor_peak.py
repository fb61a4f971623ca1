"""The most that the processor multiplies and adds: sums held in registers, on every thread.

Of float32, in the vectors that the package uses, and of bytes where vectors of 64 bytes have an
instruction that sums four products. Tile registers, which multiply bytes faster, are left out.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

# Sums that do not wait for each other, and rounds of them in a call.
_SUMS = 12
_ROUNDS = 2_000_000
_TRIES = 5


def _code(lanes: int) -> str:
    """A loop of fused multiplications and additions on vectors of float32, as LLVM IR."""
    vector = f"<{lanes} x float>"
    function = f"@llvm.fma.v{lanes}f32"
    return _loop(
        vector,
        f"declare {vector} {function}({vector}, {vector}, {vector})",
        lambda sums: f"call {vector} {function}({vector} %f, {vector} %f, {vector} {sums})",
        "fadd",
    )


def _code_of_bytes() -> str:
    """A loop of sums of four products of bytes in each lane of 64 bytes."""
    vector, function = "<16 x i32>", "@llvm.x86.avx512.vpdpbusd.512"
    return _loop(
        vector,
        f"declare {vector} {function}({vector}, {vector}, {vector})",
        lambda sums: f"call {vector} {function}({vector} {sums}, {vector} %f, {vector} %f)",
        "add",
    )


def _loop(vector: str, declared: str, step: Callable[[str], str], joins: str) -> str:
    """Sums that do not wait for each other, again and again."""
    element = vector[1:-1].split(" x ")[1]
    lanes = vector[1:-1].split(" x ")[0]
    numbers = range(_SUMS)
    entering = "\n".join(
        f"  %s{i} = phi {vector} [zeroinitializer, %entry], [%n{i}, %loop]" for i in numbers
    )
    adding = "\n".join(f"  %n{i} = {step(f'%s{i}')}" for i in numbers)
    joining, total = [], "%n0"
    for i in list(numbers)[1:]:
        joining.append(f"  %t{i} = {joins} {vector} {total}, %n{i}")
        total = f"%t{i}"
    joined = "\n".join(joining)
    return f"""
{declared}
define {element} @run(i64 %rounds, {element} %factor) {{
entry:
  %one = insertelement {vector} undef, {element} %factor, i32 0
  %f = shufflevector {vector} %one, {vector} undef, <{lanes} x i32> zeroinitializer
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%next, %loop]
{entering}
{adding}
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %rounds
  br i1 %more, label %loop, label %done
done:
{joined}
  %result = extractelement {vector} {total}, i32 0
  ret {element} %result
}}
"""


def operations_per_second(threads: int) -> float:
    """Float32 operations, two for each multiplication with its addition, on so many threads."""
    from aten.backends.cpu.kernels.matrix.matrix_tiles import vector_bytes

    lanes = vector_bytes() // 4
    return _SUMS * lanes * 2 * _loops_per_second(threads, _code(lanes), ctypes.c_float, 0.5)


def byte_operations_per_second(threads: int) -> float | None:
    """The same of bytes; None where no vector of 64 bytes sums their products at once."""
    from llvmlite import binding

    if not binding.get_host_cpu_features().get("avx512vnni"):
        return None
    loops = _loops_per_second(threads, _code_of_bytes(), ctypes.c_int32, 0x01010101)
    return _SUMS * 64 * 2 * loops


def _loops_per_second(threads: int, code: str, element: type, factor: float) -> float:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=2
    )
    engine = binding.create_mcjit_compiler(binding.parse_assembly(code), machine)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(element, ctypes.c_int64, element)
    run = kind(engine.get_function_address("run"))
    best = 0.0
    for _ in range(_TRIES):
        workers = [threading.Thread(target=run, args=(_ROUNDS, factor)) for _ in range(threads)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        best = max(best, threads * _ROUNDS / (time.perf_counter() - start))
    return best
