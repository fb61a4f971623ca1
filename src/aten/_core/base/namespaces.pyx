# cython: language_level=3
"""Modules whose names are found in one step.

For a module with `__getattr__`, which makes names on their first use or says why one is not there,
the interpreter walks the bases of the module's type before it looks into the module's dictionary, at
every use of every name. These look into the dictionary first.
"""

from importlib import import_module
from types import ModuleType

from cpython.object cimport PyObject, PyTypeObject

cdef extern from "Python.h":
    void PyType_Modified(PyTypeObject*)
    PyObject* PyModule_GetDict(PyObject*) noexcept
    PyObject* PyDict_GetItemWithError(PyObject*, PyObject*) noexcept
    PyObject* PyErr_Occurred() noexcept
    void Py_INCREF(PyObject*) noexcept
    ctypedef struct LookingTypeObject "PyTypeObject":
        PyObject* (*tp_getattro)(PyObject*, PyObject*) noexcept
    LookingTypeObject ModuleTypeObject "PyModule_Type"


class Namespace(ModuleType):
    """The type of modules that users look names up in."""

    def __reduce__(self):
        # Picklers know the type of other modules, and take these for objects.
        return import_module, (self.__name__,)


cdef PyObject* _look_up(PyObject* module, PyObject* name) noexcept:
    cdef PyObject* found = PyDict_GetItemWithError(PyModule_GetDict(module), name)
    if found != NULL:
        Py_INCREF(found)
        return found
    if PyErr_Occurred() != NULL:
        return NULL
    return ModuleTypeObject.tp_getattro(module, name)


def look_up_at_once(module not None):
    """Let a module's names be found in one step. Raises TypeError for what is no module."""
    module.__class__ = Namespace


(<LookingTypeObject*> <PyObject*> Namespace).tp_getattro = _look_up
PyType_Modified(<PyTypeObject*> <PyObject*> Namespace)
