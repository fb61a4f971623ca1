"""The processor that this runs on, as schedules see it."""

from aten.loops.target import Target

HOST = Target(
    chunk=1 << 16,  # some 100 µs of a thread
    least_chunks=4,
    narrow=32,
    wide=256,
    lane=512,
    least_lane=64,
    buffered=4096,  # on the stack
    costly=12,
)
