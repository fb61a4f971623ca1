/* Included before every compiled module: what the code that Cython makes is better off with.

   Where a list cannot grow for want of memory, the comprehensions of Cython 3.3 release the element
   twice: once beside PyList_Append, once where the error is handled. One reference more makes up
   for it. Where `append` is called otherwise, the element is not released at all then, which no one
   is hurt by. */
#ifndef ATEN_GENERATED_CODE_H
#define ATEN_GENERATED_CODE_H

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

/* Calls that fail are few: what leads to this function only is laid out behind all that does not. */
static void __Pyx_AddTraceback(const char *function, int c_line, int line, const char *file)
    __attribute__((cold, noinline));

#endif
