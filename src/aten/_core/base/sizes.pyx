# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Sizes as Python sees them: Size, tuples of integers, and reading them back."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memcpy

cdef extern from "Python.h":
    Py_ssize_t PyTuple_GET_SIZE(PyObject*) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject*, Py_ssize_t) noexcept
    void _release "Py_XDECREF"(PyObject*)
    ctypedef struct CTypeObject "PyTypeObject":
        object (*tp_alloc)(PyObject*, Py_ssize_t)

cdef enum:
    KNOWN_SIZES = 64

# How many dimensions a tensor may have.
MAXIMUM_DIMENSIONS = MAXIMUM_DIMS


class Size(tuple):
    """The sizes of a tensor: a tuple that can count its elements."""

    __slots__ = ()

    def __new__(cls, sizes=()):
        made = tuple.__new__(cls, sizes)
        for place, size in enumerate(made):
            if isinstance(size, (str, bytes, float, tuple, list, dict)) or size is None:
                raise TypeError(f"aten.Size() takes an iterable of 'int' (item {place} is "
                                f"'{type(size).__name__}')")
        return made

    def numel(self):
        """The product of the sizes."""
        product = 1
        for size in self:
            product *= size
        return product

    def __getitem__(self, item):
        found = tuple.__getitem__(self, item)
        return tuple.__new__(Size, found) if isinstance(item, slice) else found

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __repr__(self):
        return f"aten.Size({list(self)})"


cdef object int_tuple(int count, const int64_t* values):
    return _filled(PyTuple_New(count), count, values)


cdef struct KnownSize:
    PyObject* size                  # owned; NULL: none yet
    int rank
    int64_t sizes[INLINE_DIMS]

# The sizes asked for last, which are often asked for again, by what they hash to.
cdef KnownSize _known_sizes[KNOWN_SIZES]


cdef object make_size(int rank, const int64_t* sizes):
    cdef KnownSize* known
    cdef uint64_t hash = rank
    cdef PyObject* before
    cdef int dim
    if rank > INLINE_DIMS:
        return _new_size(rank, sizes)
    for dim in range(rank):
        hash = (hash ^ <uint64_t>sizes[dim]) * <uint64_t>0x9E3779B97F4A7C15
    known = &_known_sizes[hash >> 58]
    if (known.size != NULL and known.rank == rank
            and memcmp(known.sizes, sizes, rank * sizeof(int64_t)) == 0):
        return <object>known.size
    made = _new_size(rank, sizes)
    Py_INCREF(made)
    before = known.size
    known.rank = rank
    memcpy(known.sizes, sizes, rank * sizeof(int64_t))
    known.size = <PyObject*>made
    _release(before)
    return made


cdef object _new_size(int rank, const int64_t* sizes):
    return _filled((<CTypeObject*>Size).tp_alloc(<PyObject*>Size, rank), rank, sizes)


cdef inline object _filled(object made, int count, const int64_t* values):
    """A new tuple, or object of a subclass, with its items."""
    cdef int dim
    cdef object number  # typed: an inferred C integer would lend the tuple a reference it drops
    for dim in range(count):
        number = values[dim]
        Py_INCREF(number)
        PyTuple_SET_ITEM(made, dim, number)
    return made


cdef Py_ssize_t read_sizes(object values, int64_t* sizes, int limit) except -1:
    """Copy a sequence of integers; returns how many. Raises RuntimeError past `limit`."""
    cdef Py_ssize_t count, position
    if not isinstance(values, tuple):
        # The conversion of one member may change the sequence that the next one is taken from.
        values = tuple(values)
    count = PyTuple_GET_SIZE(<PyObject*>values)
    if count > limit:
        raise RuntimeError(f"tensors have at most {limit} dimensions, got {count}")
    for position in range(count):
        sizes[position] = <object>PyTuple_GET_ITEM(<PyObject*>values, position)
    return count
