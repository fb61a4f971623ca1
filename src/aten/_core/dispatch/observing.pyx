# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Python's profile hook for who looks at each function once, and at few modules' calls.

The interpreter tells of every call and return. A hook in Python takes longer for those that it knows
than what they do; this one tells them apart by an address.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF

import sys

cdef extern from "Python.h":
    ctypedef struct PyFrameObject:
        pass
    ctypedef struct PyCodeObject:
        pass
    int PyTrace_CALL
    int PyTrace_C_CALL
    PyCodeObject* PyFrame_GetCode(PyFrameObject*)
    PyObject* PyFrame_GetGlobals(PyFrameObject*)
    void PyEval_SetProfile(int (*hook)(PyObject*, PyFrameObject*, int, PyObject*) except -1,
                           PyObject* given)


cdef class CallObserver:
    """Tells of calls between `begin` and `end`, on the thread that calls these.

    `entered(frame, code)` comes before the first line of a function, once for each code; and
    `called(function)` before a compiled one that is called by a module of whose names `watches` says
    True. What they raise is raised where the call is.
    """

    cdef object _entered
    cdef object _called
    cdef object _watches
    cdef object _before
    cdef set _codes
    cdef dict _modules
    cdef list _kept         # so that no address gets another meaning

    def __init__(self, entered, called, watches):
        self._entered = entered
        self._called = called
        self._watches = watches
        self._codes = set()
        self._modules = {}
        self._kept = []

    def begin(self):
        self._before = sys.getprofile()
        PyEval_SetProfile(_observe, <PyObject*>self)

    def end(self):
        if isinstance(self._before, CallObserver):
            PyEval_SetProfile(_observe, <PyObject*>self._before)
        else:
            sys.setprofile(self._before)
        self._before = None


cdef int _observe(PyObject* given, PyFrameObject* frame, int what, PyObject* argument) except -1:
    cdef CallObserver observer = <CallObserver>given
    try:
        if what == PyTrace_CALL:
            _enter(observer, frame)
        elif what == PyTrace_C_CALL:
            _meet(observer, frame, argument)
    except BaseException:
        # What is called while this is raised, such as finalizers, is nobody's business.
        PyEval_SetProfile(NULL, NULL)
        raise
    return 0


cdef int _enter(CallObserver observer, PyFrameObject* frame) except -1:
    cdef PyCodeObject* code = PyFrame_GetCode(frame)
    cdef object known = <object>code
    # Both hold it now.
    Py_DECREF(known)
    address = <size_t>code
    if address in observer._codes:
        return 0
    observer._codes.add(address)
    observer._kept.append(known)
    observer._entered(<object>frame, known)
    return 0


cdef int _meet(CallObserver observer, PyFrameObject* frame, PyObject* argument) except -1:
    cdef PyObject* names = PyFrame_GetGlobals(frame)
    cdef object held = <object>names
    Py_DECREF(held)
    address = <size_t>names
    watched = observer._modules.get(address)
    if watched is None:
        watched = observer._modules[address] = bool(observer._watches(held))
        observer._kept.append(held)
    if watched:
        observer._called(<object>argument)
    return 0
