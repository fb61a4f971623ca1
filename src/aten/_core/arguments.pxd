"""Argument parsers, compiled from schemas: Python calls in, one value per schema argument out."""

from cpython.object cimport PyObject

cdef class ArgumentParser:
    cdef readonly Py_ssize_t count              # arguments in the schema, keyword-only ones included
    cdef readonly Py_ssize_t positional_count
    cdef readonly tuple keyword_only_names      # the order in which they follow in the stack
    cdef list parameters
    cdef str reason                             # why the last parse did not match

    # Fills `stack` with one owned reference per schema argument, in schema order, defaults included.
    # Returns 0; or 1 where the call does not fit the schema, with nothing left in `stack` to release
    # and `self.reason` saying why. Raises only for errors that are not about fitting.
    cdef int parse(self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                   PyObject** stack) except -1
