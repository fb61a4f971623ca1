"""How much memory the machine, or the control group the process is in, has left."""

from libc.stdint cimport int64_t

# Both read files of the system; neither lets other threads run, nor any Python code.
cdef int64_t bytes_available() noexcept
cdef int64_t bytes_reserved() noexcept
