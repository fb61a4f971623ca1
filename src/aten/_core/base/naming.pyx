# cython: language_level=3
"""The names under which compiled types are known to their users."""

from cpython.object cimport PyTypeObject

cdef extern from "Python.h":
    const unsigned long HEAP_TYPE "Py_TPFLAGS_HEAPTYPE"
    void PyType_Modified(PyTypeObject*)
    ctypedef struct NamedTypeObject "PyTypeObject":
        const char* tp_name
        unsigned long tp_flags

# What types point to.
cdef list _kept = []


def name_type(type named not None, str module not None, str name not None):
    """Let errors, `repr`, help and pickle know a type as `module.name`, where it is found too."""
    cdef NamedTypeObject* changed = <NamedTypeObject*> named
    cdef bytes text
    if changed.tp_flags & HEAP_TYPE:
        named.__module__, named.__qualname__ = module, name
        return
    text = f"{module}.{name}".encode()
    _kept.append(text)
    changed.tp_name = text
    PyType_Modified(<PyTypeObject*> named)
