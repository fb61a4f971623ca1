# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Steps of optimizers over lists of parameters, each parameter and its states in one pass.

They serve float32 and float64 in row-major memory of the host, no two operands of a parameter in the
same storage, and decline all else before anything is changed. Elements are computed one by one: the
number of threads changes nothing.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32, FLOAT64
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer, is_lazy)
from aten._core.threads.parallel cimport parallel_for

cdef extern from "update_levels.h" nogil:
    ctypedef struct aten_adam:
        double sign, coupled, shrink, weight, keeping, adding, correction, eps, rate
    ctypedef struct aten_descent:
        double sign, coupled, momentum, adding, rate
        int first, ahead
    void aten_adam_float(int64_t, int64_t, void**, const aten_adam*) noexcept
    void aten_adam_double(int64_t, int64_t, void**, const aten_adam*) noexcept
    void aten_descend_float(int64_t, int64_t, void**, const aten_descent*) noexcept
    void aten_descend_double(int64_t, int64_t, void**, const aten_descent*) noexcept
    void aten_adagrad_float(int64_t, int64_t, void**, const aten_adam*) noexcept
    void aten_adagrad_double(int64_t, int64_t, void**, const aten_adam*) noexcept

cdef enum:
    MOST_COLUMNS = 5            # a parameter, its gradient, and up to three states
    GRADIENT = 1                # the column that is only read
    GRAIN = 16384               # elements in one chunk of work for the threads

ctypedef void (*AdamPass)(int64_t, int64_t, void**, const aten_adam*) noexcept nogil
ctypedef void (*DescentPass)(int64_t, int64_t, void**, const aten_descent*) noexcept nogil

cdef struct Row:
    void* places[MOST_COLUMNS]
    int64_t count
    int code
    aten_adam adam
    aten_descent descent
    AdamPass by_adam
    DescentPass by_descent


cdef void _run(void* context, int64_t begin, int64_t end) noexcept nogil:
    cdef Row* row = <Row*>context
    if row.by_adam != NULL:
        row.by_adam(begin, end - begin, row.places, &row.adam)
    else:
        row.by_descent(begin, end - begin, row.places, &row.descent)


cdef bint _has_sizes(TensorImpl one, TensorImpl other) noexcept:
    cdef int dim
    if one.rank != other.rank:
        return False
    for dim in range(one.rank):
        if one.sizes[dim] != other.sizes[dim]:
            return False
    return True


cdef class _Rows:
    """Parameters with gradients and states, ready to be changed."""

    cdef Row* rows
    cdef Py_ssize_t count
    cdef tuple columns
    cdef list storages          # held while the threads are at work

    def __dealloc__(self):
        free(self.rows)

    cdef bint take(self, tuple columns) except -1:
        """Whether all of it can be served; nothing is changed here but lazy copies' memory."""
        cdef Py_ssize_t place
        self.columns = columns
        self.count = len(columns[0])
        self.storages = []
        if len(columns) > MOST_COLUMNS:
            return False
        for column in columns:
            if len(column) != self.count:
                return False
        for place in range(self.count):
            if not self.is_plain(place):
                return False
        self.rows = <Row*>malloc(max(self.count, <Py_ssize_t>1) * sizeof(Row))
        if self.rows == NULL:
            raise MemoryError()
        for place in range(self.count):
            self.find(place)
        return True

    cdef bint is_plain(self, Py_ssize_t place) except -1:
        cdef TensorImpl first = self.member(0, place), one
        cdef Py_ssize_t column, other
        if first is None or first.dtype_code != FLOAT32 and first.dtype_code != FLOAT64:
            return False
        for column in range(len(self.columns)):
            one = self.member(column, place)
            if (one is None or one.dtype_code != first.dtype_code or one.device_type != CPU
                    or not one.contiguous or not _has_sizes(one, first) or is_lazy(one)
                    or (one.count != 0 and const_data_pointer(one) == NULL)):
                return False
            for other in range(column):
                if self.member(other, place).storage is one.storage:
                    return False
        return True

    cdef TensorImpl member(self, Py_ssize_t column, Py_ssize_t place):
        found = self.columns[column][place]
        return <TensorImpl>found if isinstance(found, TensorImpl) else None

    cdef int find(self, Py_ssize_t place) except -1:
        """Memory of its own for what is written comes first: it may run code."""
        cdef Row* row = &self.rows[place]
        cdef TensorImpl one
        cdef Py_ssize_t column
        row.by_adam = NULL
        row.by_descent = NULL
        for column in range(MOST_COLUMNS):
            row.places[column] = NULL
        for column in range(len(self.columns)):
            if column != GRADIENT:
                one = self.member(column, place)
                row.places[column] = data_pointer(one)
                self.storages.append(one.storage)
        one = self.member(GRADIENT, place)
        row.places[GRADIENT] = <void*>const_data_pointer(one)
        self.storages.append(one.storage)
        row.count = one.count
        row.code = one.dtype_code
        return 0

    cdef int run(self) except -1:
        cdef Py_ssize_t place, column
        cdef TensorImpl one
        for place in range(self.count):
            # What ran meanwhile may have given a tensor other memory, or another size.
            if not self.is_plain(place):
                raise RuntimeError("optimizer: a parameter was changed during its step")
            for column in range(len(self.columns)):
                one = self.member(column, place)
                if one.count != self.rows[place].count or (
                        <const void*>const_data_pointer(one) != self.rows[place].places[column]):
                    raise RuntimeError("optimizer: a parameter was changed during its step")
        for place in range(self.count):
            for column in range(len(self.columns)):
                if column != GRADIENT:
                    count_write(self.member(column, place))
        with nogil:
            for place in range(self.count):
                parallel_for(self.rows[place].count, GRAIN, _run, &self.rows[place])
        return 0


def adam(tuple columns not None, settings not None):
    """Steps of Adam; False, and nothing changed, where a parameter is not served.

    `columns` are lists of parameters, gradients, averages and squares of these, and, if there are
    any, the largest squares. `settings` has for each parameter (sign, coupled, shrink, weight,
    keeping, adding, correction, eps, rate): see update_levels.h.
    """
    cdef _Rows rows = _Rows.__new__(_Rows)
    cdef Row* row
    cdef Py_ssize_t place
    if not 4 <= len(columns) <= MOST_COLUMNS or not rows.take(columns):
        return False
    if len(settings) != rows.count:
        raise ValueError("adam: settings for each parameter are needed")
    for place in range(rows.count):
        row = &rows.rows[place]
        _read_adam(&row.adam, settings[place])
        row.by_adam = aten_adam_float if row.code == FLOAT32 else aten_adam_double
    rows.run()
    return True


def adagrad(tuple columns not None, settings not None):
    """Steps of Adagrad, of parameters, gradients and sums of squares; as `adam`."""
    cdef _Rows rows = _Rows.__new__(_Rows)
    cdef Row* row
    cdef Py_ssize_t place
    if len(columns) != 3 or not rows.take(columns):
        return False
    if len(settings) != rows.count:
        raise ValueError("adagrad: settings for each parameter are needed")
    for place in range(rows.count):
        row = &rows.rows[place]
        _read_adam(&row.adam, settings[place])
        row.by_adam = aten_adagrad_float if row.code == FLOAT32 else aten_adagrad_double
    rows.run()
    return True


cdef int _read_adam(aten_adam* made, tuple given) except -1:
    (made.sign, made.coupled, made.shrink, made.weight, made.keeping, made.adding,
     made.correction, made.eps, made.rate) = given
    return 0


def descend(tuple columns not None, double sign, double coupled, double momentum, double adding,
            double rate, bint first, bint ahead):
    """Steps of gradient descent, of parameters, gradients and, with momentum, velocities.

    False, and nothing changed, where a parameter is not served.
    """
    cdef _Rows rows = _Rows.__new__(_Rows)
    cdef Row* row
    cdef Py_ssize_t place
    if not 2 <= len(columns) <= 3 or not rows.take(columns):
        return False
    for place in range(rows.count):
        row = &rows.rows[place]
        row.descent.sign, row.descent.coupled = sign, coupled
        row.descent.momentum, row.descent.adding = momentum, adding
        row.descent.rate, row.descent.first, row.descent.ahead = rate, first, ahead
        row.by_descent = aten_descend_float if row.code == FLOAT32 else aten_descend_double
    rows.run()
    return True
