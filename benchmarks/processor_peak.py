"""The most that the processor multiplies and adds: sums held in registers, on every thread."""

from __future__ import annotations

import ctypes
import threading
import time

# Sums that do not wait for each other, and rounds of them in a call.
_SUMS = 12
_ROUNDS = 2_000_000
_TRIES = 5


def _code(lanes: int) -> str:
    """A loop of fused multiplications and additions on vectors of float32, as LLVM IR."""
    vector = f"<{lanes} x float>"
    numbers = range(_SUMS)
    entering = "\n".join(
        f"  %s{i} = phi {vector} [zeroinitializer, %entry], [%n{i}, %loop]" for i in numbers
    )
    adding = "\n".join(
        f"  %n{i} = call {vector} @llvm.fma.v{lanes}f32({vector} %f, {vector} %f, {vector} %s{i})"
        for i in numbers
    )
    joining, total = [], "%n0"
    for i in list(numbers)[1:]:
        joining.append(f"  %t{i} = fadd {vector} {total}, %n{i}")
        total = f"%t{i}"
    joined = "\n".join(joining)
    return f"""
declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})
define float @run(i64 %rounds, float %factor) {{
entry:
  %one = insertelement {vector} undef, float %factor, i32 0
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
  ret float %result
}}
"""


def operations_per_second(threads: int, vector_bytes: int) -> float:
    """Float32 operations, two for each multiplication with its addition, on so many threads."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    lanes = vector_bytes // 4
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=2
    )
    engine = binding.create_mcjit_compiler(binding.parse_assembly(_code(lanes)), machine)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64, ctypes.c_float)
    run = kind(engine.get_function_address("run"))
    best = 0.0
    for _ in range(_TRIES):
        workers = [threading.Thread(target=run, args=(_ROUNDS, 0.5)) for _ in range(threads)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - start
        best = max(best, threads * _ROUNDS * _SUMS * lanes * 2 / seconds)
    return best
