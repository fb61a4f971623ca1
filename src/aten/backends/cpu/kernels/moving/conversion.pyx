# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Copies, conversions and reorderings in their ordinary cases; all else goes to another kernel.

A copy of a tensor without gaps is a copy of bytes, and of a whole storage one that may be put off
(`storage.pyx`). A conversion that changes nothing is the tensor itself; one to another type
is a fresh tensor that the elements are written to. Which operators these are stands in the tables.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport uint64_t

from aten._core.base.device cimport CONTIGUOUS_FORMAT, CPU, PRESERVE_FORMAT, memory_format
from aten._core.base.dtypes cimport dtype, item_size
from aten._core.base.keys cimport DispatchKeySet
from aten._core.base.keys import DispatchKey
from aten._core.base.strides cimport is_dense, is_row_major
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.memory.storage cimport Storage, copy_bytes, lazy_copy
from aten._core.tensor.making cimport make_strided, make_tensor
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport TensorImpl, const_data_pointer, is_lazy
from aten.backends.cpu.kernels.filling.factories cimport empty_as
from aten.backends.cpu.kernels.moving.moving cimport move_elements

cdef enum:
    # Elements that are moved sooner than their walk is planned.
    FEW = 256

cdef extern from "Python.h":
    PyTypeObject* Py_TYPE(PyObject*) noexcept
    PyObject* Py_False


cdef uint64_t _PYTHON = (<DispatchKeySet>DispatchKeySet(DispatchKey.Python)).bits


cdef inline int _format_of(PyObject* given) except -1:
    return PRESERVE_FORMAT if given == <PyObject*>None else (<memory_format?><object>given).code


cdef Tensor byte_copy(TensorImpl source, int format_code):
    """A copy with the strides of `source` where that is a copy of bytes; else None."""
    cdef Storage memory
    cdef Tensor made
    if source.device_type != CPU or source.count == 0:
        return None
    if source.contiguous:
        if format_code != PRESERVE_FORMAT and format_code != CONTIGUOUS_FORMAT:
            return None
        if not is_row_major(source.rank, source.sizes, source.strides):
            return None
    elif (format_code != PRESERVE_FORMAT
            or not is_dense(source.rank, source.sizes, source.strides)):
        return None
    if source.offset == 0 and source.count * item_size(source.dtype_code) == source.storage.bytes:
        memory = lazy_copy(source.storage)
        if memory is not None:
            return make_tensor(memory, source.dtype_code, source.rank, source.sizes,
                               source.strides, 0)
    made = make_strided(source.dtype_code, source.rank, source.sizes, source.strides, CPU,
                        source.device_index)
    copy_bytes(made.storage.data, const_data_pointer(source), made.storage.bytes)
    return made


cdef Tensor _moved(TensorImpl source, int format_code):
    """A copy element by element."""
    cdef Tensor made = empty_as(source, source.dtype_code, CPU, source.device_index, format_code)
    if made.count:
        move_elements(item_size(source.dtype_code), made.rank, made.sizes, made.storage.data,
                      made.strides, const_data_pointer(source), source.strides)
    return made


cdef class CopyKernel(FastPath):
    """A fresh tensor with the elements of the first argument, in the memory format of the second."""

    def __init__(self, Kernel otherwise not None):
        FastPath.__init__(self, "copy of bytes", (), None, otherwise)

    cdef object ordinary(self, PyObject** stack):
        cdef TensorImpl source = <TensorImpl>stack[0]
        cdef int format_code = _format_of(stack[1])
        made = byte_copy(source, format_code)
        if made is None and source.device_type == CPU and source.count <= FEW:
            return _moved(source, format_code)
        return made


cdef class ReorderKernel(FastPath):
    """The first argument where it is row-major and that is asked, else what `copy` makes of it.

    `copy` takes the same arguments.
    """

    cdef OpOverload copy

    def __init__(self, OpOverload copy not None, Kernel otherwise not None):
        FastPath.__init__(self, "test of the order", (), None, otherwise)
        self.copy = copy

    cdef object ordinary(self, PyObject** stack):
        if (<memory_format?><object>stack[1]).code != CONTIGUOUS_FORMAT:
            return None
        if (<TensorImpl>stack[0]).keys & _PYTHON:
            # Whether a fake tensor is contiguous may depend on its symbols.
            return None
        if (<TensorImpl>stack[0]).contiguous:
            return <object>stack[0]
        return self.copy.call_stack(stack)


cdef class ConvertKernel(FastPath):
    """The first argument where it has the type asked for, else a copy of that type by `convert`.

    The last argument is a memory format. `positions` are those of the type and of the demand for a
    copy. Where other arguments between the type and the demand are given, `otherwise` is called.
    `convert` takes a tensor, dtype, layout, device, pin_memory, non_blocking and a memory format.
    """

    cdef OpOverload convert
    cdef int dtype_position         # stack positions of the arguments
    cdef int copy_position

    def __init__(self, OpOverload convert not None, tuple positions, Kernel otherwise not None):
        FastPath.__init__(self, "choice of the tensor or a converted copy", (), None, otherwise)
        self.convert = convert
        self.dtype_position, self.copy_position = positions

    cdef object ordinary(self, PyObject** stack):
        cdef PyObject* arguments[7]
        cdef PyObject* element = stack[self.dtype_position]
        cdef PyObject* order = stack[self.copy_position + 1]
        cdef int position
        cdef bint changes = stack[self.copy_position] != Py_False
        # What stands right before the demand says whether the copy may be finished later.
        for position in range(self.dtype_position + 1, self.copy_position - 1):
            if stack[position] != <PyObject*>None:
                return None
        if order != <PyObject*>None and _format_of(order) != PRESERVE_FORMAT:
            return None
        if element != <PyObject*>None:
            changes |= (<dtype?><object>element).code != (<TensorImpl>stack[0]).dtype_code
        if not changes:
            return <object>stack[0]
        arguments[0] = stack[0]
        arguments[1] = element
        arguments[2] = arguments[3] = arguments[4] = <PyObject*>None
        arguments[5] = Py_False
        arguments[6] = order
        return self.convert.call_stack(arguments)


cdef class ConvertedCopyKernel(FastPath):
    """A copy as another type; layouts, devices and what else may be asked go to `otherwise`.

    The arguments are those of `ConvertKernel`'s `convert`. `write` takes a tensor to write to, one
    to read, and whether that may be finished later.
    """

    cdef OpOverload write

    def __init__(self, OpOverload write not None, replaced, find, Kernel otherwise not None):
        FastPath.__init__(self, "conversion on the host", replaced, find, otherwise)
        self.write = write

    cdef object ordinary(self, PyObject** stack):
        cdef TensorImpl source = <TensorImpl>stack[0]
        cdef PyObject* arguments[3]
        cdef Tensor made
        cdef int code = source.dtype_code
        cdef int order = _format_of(stack[6])
        if (source.device_type != CPU or is_lazy(source) or stack[2] != <PyObject*>None
                or stack[3] != <PyObject*>None or stack[4] != <PyObject*>None):
            return None
        if stack[1] != <PyObject*>None:
            code = (<dtype?><object>stack[1]).code
        if code == source.dtype_code:
            made = byte_copy(source, order)
            if made is not None:
                return made
        made = empty_as(source, code, CPU, source.device_index, order)
        arguments[0] = <PyObject*>made
        arguments[1] = stack[0]
        arguments[2] = Py_False
        self.write.call_stack(arguments)
        return made


# Methods

def conversion_method(OpOverload convert not None, dtype element not None):
    """A method that gives a tensor as `element`, by `convert(tensor, dtype, bool, bool, format)`."""

    def method(self, memory_format=None):
        return _converted(convert, self, element, memory_format)

    return method


def free_conversion_method(OpOverload convert not None, general not None):
    """A method that gives a tensor as its one argument if that is a dtype, else by `general`."""

    def to(self, *args, **kwargs):
        """The tensor as another dtype and on another device; itself where it is that already.

        Called as to(dtype), to(device, dtype=None) or to(other), each with non_blocking=False,
        copy=False and, by keyword, memory_format. Raises TypeError for other arguments.

        Example:

            >>> aten.tensor([1, 2]).to(aten.float32)
            tensor([1., 2.])
        """
        if len(<tuple>args) == 1 and type((<tuple>args)[0]) is dtype and not kwargs:
            return _converted(convert, self, (<tuple>args)[0], None)
        return general(self, *args, **kwargs)

    return to


cdef object _converted(OpOverload convert, object tensor, object element, object order):
    cdef PyObject* arguments[5]
    if Py_TYPE(<PyObject*>tensor) != <PyTypeObject*>Tensor or order is not None:
        return convert(tensor, element, memory_format=order)
    arguments[0] = <PyObject*>tensor
    arguments[1] = <PyObject*>element
    arguments[2] = arguments[3] = Py_False
    arguments[4] = <PyObject*>None
    return convert.call_stack(arguments)
