"""Argument parsers, compiled from schemas: Python calls in, one value per schema argument out."""

from cpython.object cimport PyObject

cdef struct ParameterSlot:
    # What a parse needs of one schema argument; its objects are borrowed from the parser.
    int code                        # what it takes; a constant of argument_values.pxd
    bint nullable                   # None is taken too
    Py_ssize_t repeat               # a single int stands for that many; 0: it does not stand for a list
    PyObject* name
    PyObject* default               # NULL: the argument is required

cdef class ArgumentParser:
    cdef readonly Py_ssize_t count              # arguments in the schema, keyword-only ones included
    cdef readonly Py_ssize_t positional_count
    cdef readonly tuple keyword_only_names      # the order in which they follow in the stack
    cdef readonly bint numbers_as_tensors
    cdef Py_ssize_t out_count                   # out= arguments; they come last
    cdef list parameters                        # keeps the slots' objects
    cdef dict positions                         # every accepted keyword, with its stack position
    cdef ParameterSlot* slots
    cdef Py_ssize_t variadic                    # position of the list that trailing ints make up, or -1
    # Why the last parse did not match; `reason`, a property, puts it into words.
    cdef int failure
    cdef Py_ssize_t failure_position
    cdef Py_ssize_t failure_element
    cdef object failure_keyword             # as the caller wrote it; None: given by position
    cdef object failure_detail

    # Fills `stack` with one owned reference per schema argument, in schema order, defaults included.
    # Returns 0; or 1 where the call does not fit the schema, with nothing left in `stack` to release
    # and `self.reason` saying why. Raises only for errors that are not about fitting.
    cdef int parse(self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                   PyObject** stack) except -1
    cdef int parse_positional(self, PyObject* const* args, Py_ssize_t nargs,
                              PyObject** stack) except -1
    cdef int parse_keywords(self, PyObject* const* values, PyObject* kwnames, PyObject** stack,
                            Py_ssize_t filled) except -1
    cdef bint may_take(self, tuple keywords) except -1
    cdef bint says_nothing(self, object keyword, PyObject* value)
    cdef bint takes_outs(self, object keyword, PyObject* value, PyObject** stack) except -1
    cdef int fill_defaults(self, PyObject** stack, Py_ssize_t start) except -1
    cdef int convert(self, Py_ssize_t position, PyObject* value, PyObject** stack) except -1
    cdef int collect_variadic(self, PyObject* const* args, Py_ssize_t nargs,
                              PyObject** stack) except -1
    cdef int fail(self, int failure, Py_ssize_t position, object detail) except -1
