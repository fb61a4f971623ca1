# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Ordinary calls of what normalizes channels, by the statistics of a batch, of samples, or by stored ones.

What folds, takes roots or rounds a product and a sum once is an operator's, whose bits depend on the
processor; on the numbers of a channel the rest is a loop. Operands are float32 or float64, all the same.
"""

from cpython.object cimport PyObject
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint64_t

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.base.keys cimport DispatchKeySet
from aten._core.base.sizes cimport MAXIMUM_DIMS
from aten._core.dispatch.dispatcher cimport Kernel, OpOverload
from aten._core.dispatch.fast_path cimport FastPath
from aten._core.tensor.given cimport Py_False, Py_True
from aten._core.tensor.making cimport make_alias, make_contiguous, make_tensor
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, data_pointer, is_lazy)

from aten._core.base.device import MEMORY_FORMATS
from aten._core.base.keys import DispatchKey

cdef extern from "Python.h":
    bint PyFloat_CheckExact(PyObject*) noexcept
    double PyFloat_AS_DOUBLE(PyObject*) noexcept

ctypedef fused real:
    float
    double

cdef enum:
    # Of native_batch_norm, and of batch_norm, which has one more.
    INPUT = 0
    WEIGHT = 1
    BIAS = 2
    RUNNING_MEAN = 3
    RUNNING_VAR = 4
    TRAINING = 5
    MOMENTUM = 6
    EPS = 7
    ARGUMENTS = 8

# Of tensors whose sizes may be symbols, which views are to be made of.
cdef uint64_t PYTHON = (<DispatchKeySet>DispatchKeySet(DispatchKey.Python)).bits
cdef object _ONE = 1
cdef object _ROW_MAJOR = MEMORY_FORMATS["contiguous_format"]
# The dimensions besides the channels', by rank.
cdef tuple _FOLDED = tuple([tuple([dim for dim in range(rank) if dim != 1])
                            for rank in range(MAXIMUM_DIMS + 1)])
cdef tuple _LINE = (-1,)


cdef class Channels:
    """The operands of a call, in windows of its own: others may run while operators do."""

    cdef Tensor input
    cdef Tensor weight
    cdef Tensor bias
    cdef Tensor running_mean
    cdef Tensor running_var
    cdef double momentum
    cdef double eps

    cdef bint read(self, PyObject** stack) except -1:
        """Whether all are there, of one type, and go together."""
        if not PyFloat_CheckExact(stack[MOMENTUM]) or not PyFloat_CheckExact(stack[EPS]):
            return False
        self.momentum = PyFloat_AS_DOUBLE(stack[MOMENTUM])
        self.eps = PyFloat_AS_DOUBLE(stack[EPS])
        self.input = make_alias(<TensorImpl>stack[INPUT])
        self.weight, self.bias = _window(stack[WEIGHT]), _window(stack[BIAS])
        self.running_mean = _window(stack[RUNNING_MEAN])
        self.running_var = _window(stack[RUNNING_VAR])
        return (self.input.rank >= 2 and self.input.count > 0
                and self.input.dtype_code in (FLOAT32, FLOAT64) and _has_memory(self.input)
                and (self.weight is None or self.has_numbers(self.weight))
                and (self.bias is None or self.has_numbers(self.bias))
                and (self.running_mean is None or self.has_numbers(self.running_mean))
                and (self.running_var is None or self.has_numbers(self.running_var)))

    cdef bint has_numbers(self, TensorImpl tensor) noexcept:
        """Whether it has one for each channel, without gaps."""
        return (tensor.rank == 1 and tensor.count == self.input.sizes[1] and tensor.contiguous
                and tensor.dtype_code == self.input.dtype_code and _has_memory(tensor))

    cdef Tensor one_per_channel(self):
        """A new tensor."""
        return make_contiguous(self.input.dtype_code, 1, &self.input.sizes[1], CPU,
                               self.input.device_index)

    cdef Tensor beside_input(self, TensorImpl numbers):
        """A view of numbers of channels that broadcasts to the input."""
        cdef int64_t sizes[MAXIMUM_DIMS]
        cdef int64_t strides[MAXIMUM_DIMS]
        cdef int dim, rank = self.input.rank - 1
        for dim in range(rank):
            sizes[dim] = strides[dim] = 1
        sizes[0] = numbers.count
        return make_tensor(numbers.storage, numbers.dtype_code, rank, sizes, strides,
                           numbers.offset)


cdef inline bint _has_memory(TensorImpl tensor) noexcept:
    return tensor.device_type == CPU and tensor.storage.data != NULL and not is_lazy(tensor)


cdef Tensor _window(PyObject* given):
    return None if given == <PyObject*>None else make_alias(<TensorImpl>given)


cdef class ChannelNormKernel(FastPath):
    """Normalizes, and gives what it normalized by; moves running statistics when training."""

    cdef OpOverload moments
    cdef OpOverload reciprocal_root
    cdef OpOverload multiply_add
    cdef OpOverload add
    cdef OpOverload copy

    def __init__(self, str native not None, tuple replaced not None, find,
                 Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.moments = find("aten::var_mean.correction")
        self.reciprocal_root = find("aten::rsqrt")
        self.multiply_add = find("aten::addcmul")
        self.add = find("aten::add.Tensor")
        self.copy = find("aten::copy_")

    cdef object ordinary(self, PyObject** stack):
        cdef Channels channels = Channels.__new__(Channels)
        cdef Tensor mean, var, deviation, out
        cdef int64_t nothing = 0
        training = <object>stack[TRAINING]
        if not channels.read(stack):
            return None
        if training is True:
            mean, var = self.statistics(channels)
        elif (training is not False or channels.running_mean is None
                or channels.running_var is None):
            return None
        else:
            mean, var = channels.running_mean, channels.running_var
        # Whoever else serves the operators may give anything.
        if not channels.has_numbers(mean) or not channels.has_numbers(var):
            return None
        deviation = self.deviation(channels, var)
        if not channels.has_numbers(deviation):
            return None
        out = self.normalized(channels, mean, deviation)
        if out is None:
            return None
        if training is False:
            return (out, make_contiguous(mean.dtype_code, 1, &nothing, CPU, mean.device_index),
                    make_contiguous(mean.dtype_code, 1, &nothing, CPU, mean.device_index))
        self.move(channels, mean, var)
        return out, mean, deviation

    cdef object statistics(self, Channels channels):
        """Means and variances of the batch."""
        cdef PyObject* given[4]
        cdef object correction = 0
        given[0] = <PyObject*>channels.input
        given[1] = <PyObject*>(<object>_FOLDED[channels.input.rank])
        given[2] = <PyObject*>correction
        given[3] = Py_False
        var, mean = self.moments.call_stack(given)
        return mean, var

    cdef Tensor deviation(self, Channels channels, Tensor var):
        """The reciprocal one."""
        cdef PyObject* given[1]
        cdef Tensor raised = channels.one_per_channel()
        if var.dtype_code == FLOAT32:
            _raise(<float*>data_pointer(raised), <const float*>const_data_pointer(var),
                   <float>channels.eps, raised.count)
        else:
            _raise(<double*>data_pointer(raised), <const double*>const_data_pointer(var),
                   channels.eps, raised.count)
        given[0] = <PyObject*>raised
        return <Tensor?>self.reciprocal_root.call_stack(given)

    cdef object normalized(self, Channels channels, Tensor mean, Tensor deviation):
        """The input times a scale, plus a shift, of each channel; None where there is no such shift."""
        cdef Tensor scale = deviation, shift = channels.one_per_channel(), other
        cdef const char* weights = NULL
        if channels.weight is not None:
            scale = channels.one_per_channel()
            weights = const_data_pointer(channels.weight)
        if mean.dtype_code == FLOAT32:
            _scale(<float*>const_data_pointer(scale), <float*>data_pointer(shift),
                   <const float*>const_data_pointer(mean),
                   <const float*>const_data_pointer(deviation), <const float*>weights,
                   channels.bias is not None, shift.count)
        else:
            _scale(<double*>const_data_pointer(scale), <double*>data_pointer(shift),
                   <const double*>const_data_pointer(mean),
                   <const double*>const_data_pointer(deviation), <const double*>weights,
                   channels.bias is not None, shift.count)
        if channels.bias is not None:
            shift = <Tensor?>self.sum_of_product(channels.bias, mean, shift)
            if not channels.has_numbers(shift):
                return None
        other = channels.beside_input(scale)
        return self.sum_of_product(channels.beside_input(shift), channels.input, other)

    cdef object sum_of_product(self, Tensor addend, Tensor left, Tensor right):
        cdef PyObject* given[4]
        given[0], given[1], given[2] = <PyObject*>addend, <PyObject*>left, <PyObject*>right
        given[3] = <PyObject*>_ONE
        return self.multiply_add.call_stack(given)

    cdef int move(self, Channels channels, Tensor mean, Tensor var) except -1:
        """Running statistics towards the batch's: all, or, where there is no memory for one, none."""
        cdef int64_t count = channels.input.count // channels.input.sizes[1]
        cdef double share = NAN
        cdef Tensor moved_mean = None, moved_var = None
        if count > 1:
            share = channels.momentum * (<double>count / <double>(count - 1))
        if channels.running_mean is not None:
            moved_mean = self.moved(channels, channels.running_mean, mean, channels.momentum)
        if channels.running_var is not None:
            moved_var = self.moved(channels, channels.running_var, var, share)
        if moved_mean is not None:
            data_pointer(channels.running_mean)
        if moved_var is not None:
            data_pointer(channels.running_var)
        if moved_mean is not None:
            self.store(channels.running_mean, moved_mean)
        if moved_var is not None:
            self.store(channels.running_var, moved_var)
        return 0

    cdef Tensor moved(self, Channels channels, Tensor stored, Tensor value, double share):
        cdef PyObject* given[3]
        cdef Tensor kept = channels.one_per_channel()
        cdef object multiple = share
        if kept.dtype_code == FLOAT32:
            _multiply(<float*>data_pointer(kept), <const float*>const_data_pointer(stored),
                      <float>(1 - channels.momentum), kept.count)
        else:
            _multiply(<double*>data_pointer(kept), <const double*>const_data_pointer(stored),
                      1 - channels.momentum, kept.count)
        given[0], given[1], given[2] = <PyObject*>kept, <PyObject*>value, <PyObject*>multiple
        return <Tensor?>self.add.call_stack(given)

    cdef int store(self, Tensor stored, Tensor value) except -1:
        cdef PyObject* given[3]
        given[0], given[1], given[2] = <PyObject*>stored, <PyObject*>value, Py_False
        self.copy.call_stack(given)
        return 0


cdef void _raise(real* out, const real* numbers, real by, int64_t count) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        out[place] = numbers[place] + by


cdef void _multiply(real* out, const real* numbers, real by, int64_t count) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        out[place] = numbers[place] * by


cdef void _scale(real* scales, real* shifts, const real* means, const real* deviations,
                 const real* weights, bint adds, int64_t count) noexcept nogil:
    """What channels are scaled by and what is added then; where a bias is added to a product yet, one
    factor of that in the place of the latter."""
    cdef int64_t place
    for place in range(count):
        if weights != NULL:
            scales[place] = deviations[place] * weights[place]
        shifts[place] = -scales[place]
        if not adds:
            shifts[place] = means[place] * shifts[place]


cdef class NormOfBatchKernel(FastPath):
    """Batch norm of some elements: the first result of the operator that gives the statistics, too."""

    cdef OpOverload norm

    def __init__(self, str native not None, tuple replaced not None, find,
                 Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.norm = find("aten::native_batch_norm")

    cdef object ordinary(self, PyObject** stack):
        if (<TensorImpl>stack[INPUT]).count == 0:
            return None
        return self.norm.call_stack(stack)[0]


cdef class NormOfInstancesKernel(FastPath):
    """Instance norm of images by their own statistics, of which none are stored."""

    cdef OpOverload norm
    cdef OpOverload contiguous
    cdef OpOverload view
    cdef OpOverload expand
    cdef OpOverload reshape

    def __init__(self, str native not None, tuple replaced not None, find,
                 Kernel otherwise not None):
        FastPath.__init__(self, native, replaced, find, otherwise)
        self.norm = find("aten::native_batch_norm")
        self.contiguous = find("aten::contiguous")
        self.view = find("aten::view")
        self.expand = find("aten::expand")
        self.reshape = find("aten::reshape")

    cdef object ordinary(self, PyObject** stack):
        cdef PyObject* given[ARGUMENTS]
        cdef TensorImpl input = <TensorImpl>stack[INPUT]
        cdef int64_t samples
        cdef int dim, place
        if (input.rank < 2 or input.keys & PYTHON or stack[TRAINING] != Py_True
                or stack[RUNNING_MEAN] != <PyObject*>None
                or stack[RUNNING_VAR] != <PyObject*>None):
            return None
        samples = input.sizes[0]
        shape = tuple([input.sizes[dim] for dim in range(input.rank)])
        joined = (1, samples * input.sizes[1]) + shape[2:]
        for place in range(ARGUMENTS):
            given[place] = stack[place]
        rows = _with(self.contiguous, stack[INPUT], _ROW_MAJOR)
        rows = _with(self.view, <PyObject*>rows, joined)
        weight = self.repeated(stack[WEIGHT], shape)
        bias = self.repeated(stack[BIAS], shape)
        given[INPUT], given[WEIGHT] = <PyObject*>rows, <PyObject*>weight
        given[BIAS] = <PyObject*>bias
        out = self.norm.call_stack(given)[0]
        return _with(self.view, <PyObject*>out, shape)

    cdef object repeated(self, PyObject* numbers, tuple shape):
        """A number for each channel of each sample."""
        cdef PyObject* given[3]
        if numbers == <PyObject*>None:
            return None
        sizes = shape[:2]
        given[0], given[1], given[2] = numbers, <PyObject*>sizes, Py_False
        each = self.expand.call_stack(given)
        return _with(self.reshape, <PyObject*>each, _LINE)


cdef object _with(OpOverload op, PyObject* tensor, object argument):
    cdef PyObject* given[2]
    given[0], given[1] = tensor, <PyObject*>argument
    return op.call_stack(given)


KINDS = {
    "native_batch_norm": ChannelNormKernel,
    "batch_norm": NormOfBatchKernel,
    "instance_norm": NormOfInstancesKernel,
}
