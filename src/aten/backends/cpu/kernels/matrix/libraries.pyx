# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Calls of C libraries that have locks of their own, which a fork waits for.

OpenBLAS guards its buffers by a lock that is held for a moment in every call. A fork in that moment
leaves the child a lock that nobody will ever open. So threads count themselves in and out of such
calls, and a fork lets nobody in and waits until all are out. It waits for `PATIENCE` at most: a
factorization may take minutes, and holds the lock at its ends only.

A thread that has the interpreter lock need not be counted: nobody forks meanwhile.
"""

from libc.stdint cimport int64_t

from aten._core.threads.cost cimport clock

from aten._core.threads import forks

cdef extern from *:
    """
    #include <Python.h>
    #include <unistd.h>
    """
    int PyGILState_Check() noexcept nogil
    int usleep(unsigned int) noexcept nogil
    int getpid() noexcept nogil
    int64_t __atomic_fetch_add(int64_t*, int64_t, int) noexcept nogil
    int64_t __atomic_load_n(int64_t*, int) noexcept nogil
    void __atomic_store_n(int64_t*, int64_t, int) noexcept nogil
    int __ATOMIC_SEQ_CST

cdef enum:
    PATIENCE = 2000000000       # nanoseconds
    PAUSE = 50                  # microseconds

cdef struct Gate:
    int64_t inside
    int64_t closed
    int64_t process         # whose threads `inside` counts

cdef Gate _gate
_gate.process = getpid()


cdef void _count_in() noexcept nogil:
    while True:
        __atomic_fetch_add(&_gate.inside, 1, __ATOMIC_SEQ_CST)
        if not __atomic_load_n(&_gate.closed, __ATOMIC_SEQ_CST):
            return
        __atomic_fetch_add(&_gate.inside, -1, __ATOMIC_SEQ_CST)
        while __atomic_load_n(&_gate.closed, __ATOMIC_SEQ_CST):
            usleep(PAUSE)


cdef void enter_library() noexcept nogil:
    if not PyGILState_Check():
        _count_in()


cdef void leave_library() noexcept nogil:
    if not PyGILState_Check():
        __atomic_fetch_add(&_gate.inside, -1, __ATOMIC_SEQ_CST)


cdef bint _is_empty_within(int64_t nanoseconds) noexcept nogil:
    cdef int64_t begun = clock()
    while __atomic_load_n(&_gate.inside, __ATOMIC_SEQ_CST) > 0:
        if clock() - begun >= nanoseconds:
            return False
        usleep(PAUSE)
    return True


class _Door:
    """What a fork takes and gives back, as it does with locks."""

    def acquire(self, bint blocking=True):
        cdef bint empty
        __atomic_store_n(&_gate.closed, 1, __ATOMIC_SEQ_CST)
        with nogil:
            empty = _is_empty_within(PATIENCE if blocking else 0)
        if not empty and not blocking:
            __atomic_store_n(&_gate.closed, 0, __ATOMIC_SEQ_CST)
        return empty or blocking

    def release(self):
        if getpid() != _gate.process:
            # Who is still counted in stayed behind with the parent.
            _gate.process = getpid()
            __atomic_store_n(&_gate.inside, 0, __ATOMIC_SEQ_CST)
        __atomic_store_n(&_gate.closed, 0, __ATOMIC_SEQ_CST)


forks.hold(_Door())
