/* Included before every compiled module.

   Where a list cannot grow for want of memory, the comprehensions of Cython 3.3 release the element
   twice: once beside PyList_Append, once where the error is handled. One reference more makes up
   for it. Where `append` is called otherwise, the element is not released at all then, which no one
   is hurt by. */
#ifndef ATEN_GROWING_LISTS_H
#define ATEN_GROWING_LISTS_H

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

static inline int aten_append(PyObject *list, PyObject *element) {
    int failed = PyList_Append(list, element);
    if (failed)
        Py_INCREF(element);
    return failed;
}
#define PyList_Append aten_append

#endif
