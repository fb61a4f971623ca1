"""Nodes of operators with a rule."""

from aten._core.autograd.node cimport Node
from aten._core.autograd.rules cimport Formula

cdef class OperatorNode(Node):
    cdef bint is_read(self, Formula formula) except -1
    cdef Py_ssize_t first_edge(self, Py_ssize_t position) except -2
    cdef int put(self, list given, Py_ssize_t position, object computed) except -1
    cdef object computed(self, Formula formula, list gradients)
    cdef object value(self, Formula formula, int code, list gradients)
    cdef object gradient(self, list gradients, Py_ssize_t place)
    cdef bint is_wanted(self, Py_ssize_t position) except -1
    cdef object unpacked(self, object kept)

# Of a list of tensors, what is kept of each.
cdef class SavedList:
    cdef list members
