"""Where elements are that indices and masks name."""

from aten._core.tensor cimport TensorImpl

cdef int require_memory(TensorImpl tensor) except -1
