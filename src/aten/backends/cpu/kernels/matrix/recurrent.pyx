# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Recurrent networks over whole sequences: a product and what gates make of it, step by step.

Threads share the units of a layer, each with the columns of the weights that make them, and meet
after every step. A result depends neither on how units are shared nor on the sequences beside it.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from aten._core.base.dtypes cimport FLOAT32
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer)
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport (Product, multiply_tiles, takes_tiles,
                                                            vector_width)

cdef extern from "recurrent_levels.h" nogil:
    ctypedef void (*aten_lstm_step)(const float* made, int64_t made_step, const float* added,
                                    int64_t step, const float* before, float* gates, float* cell,
                                    float* hidden, int64_t count) noexcept
    aten_lstm_step aten_lstm_step_of(int vector_bytes)

cdef enum:
    # Multiplications of a step that are worth sharing, and the fewest units of a share.
    SHARED_WORK = 1 << 18
    LEAST_UNITS = 32

cdef struct Sequences:
    aten_lstm_step step
    Product product         # of a share, but for its operands
    int64_t batch
    int64_t width
    int64_t units           # of a share
    const float* hidden     # the states before
    const float* cell
    const float* added      # of the step, and what the step makes
    float* hiddens
    float* cells
    float* gates
    const float* weights
    bint turned             # whether weights are (shares, width, 4, units)
    float* made             # sums of a step: (shares, batch, 4, units)


def shares_of(int64_t batch, int64_t width):
    """Into how many equal shares the units of a layer of so many are divided for the threads."""
    cdef int64_t shares = thread_count()
    if 4 * batch * width * width < SHARED_WORK:
        return 1
    while shares > 1 and (width % shares or width // shares < LEAST_UNITS):
        shares -= 1
    return shares


def lstm_steps(TensorImpl added not None, TensorImpl hidden not None, TensorImpl cell not None,
               TensorImpl weights not None, TensorImpl hiddens not None, TensorImpl cells not None,
               TensorImpl gates not None):
    """Write the states and gates of an LSTM to the last three; False where it is not done here.

    All are row-major and of float32: added and gates (steps, sequences, 4 * width), hidden and cell
    (sequences, width), weights (shares, width, 4, width / shares), or (4 * width, width) as they
    are, hiddens and cells (steps, sequences, width). Nothing is empty. Raises RuntimeError for others, MemoryError where there is
    no memory for the sums of a step.
    """
    cdef Sequences all
    cdef int64_t step, steps = added.sizes[0] if added.rank else 0, shares, rows
    _check(added, hidden, cell, weights, hiddens, cells, gates)
    all.batch, all.width = cell.sizes[0], cell.sizes[1]
    all.turned = weights.rank == 4
    shares = weights.sizes[0] if all.turned else 1
    all.units = all.width // shares
    all.step = aten_lstm_step_of(vector_width())
    _describe(&all)
    if not takes_tiles(&all.product):
        return False
    all.gates = <float*>data_pointer(gates)
    all.hiddens = <float*>data_pointer(hiddens)
    all.cells = <float*>data_pointer(cells)
    all.added = <const float*>const_data_pointer(added)
    all.hidden = <const float*>const_data_pointer(hidden)
    all.cell = <const float*>const_data_pointer(cell)
    all.weights = <const float*>const_data_pointer(weights)
    rows = all.batch * all.width
    all.made = <float*>malloc(4 * rows * sizeof(float))
    if all.made == NULL:
        raise MemoryError("lstm: no memory for the sums of a step")
    with nogil:
        for step in range(steps):
            if shares == 1:
                _run_shares(&all, 0, 1)
            else:
                parallel_for(shares, 1, _run_shares, &all)
            all.hidden, all.cell = all.hiddens, all.cells
            all.hiddens += rows
            all.cells += rows
            all.added += 4 * rows
            all.gates += 4 * rows
        free(all.made)
    for written in (hiddens, cells, gates):
        count_write(written)
    return True


cdef int _check(TensorImpl added, TensorImpl hidden, TensorImpl cell, TensorImpl weights,
                TensorImpl hiddens, TensorImpl cells, TensorImpl gates) except -1:
    """What becomes an address is of this shape, whatever a caller made of it before."""
    cdef bint fits = (added.rank == 3 and hidden.rank == 2 and cell.rank == 2
                      and hiddens.rank == 3 and cells.rank == 3 and gates.rank == 3)
    cdef TensorImpl one
    cdef int64_t batch, width
    if fits:
        batch, width = cell.sizes[0], cell.sizes[1]
        fits = (hidden.sizes[0] == batch and hidden.sizes[1] == width
                and added.sizes[1] == batch and added.sizes[2] == 4 * width)
        if weights.rank == 4:
            fits = (fits and weights.sizes[0] * weights.sizes[3] == width
                    and weights.sizes[1] == width and weights.sizes[2] == 4)
        else:
            fits = (fits and weights.rank == 2 and weights.sizes[0] == 4 * width
                    and weights.sizes[1] == width)
        for one in (hiddens, cells, gates):
            fits = fits and one.sizes[0] == added.sizes[0] and one.sizes[1] == batch
        fits = fits and hiddens.sizes[2] == width and cells.sizes[2] == width
        fits = fits and gates.sizes[2] == 4 * width
        for one in (added, hidden, cell, weights, hiddens, cells, gates):
            fits = fits and one.contiguous and one.dtype_code == FLOAT32 and one.count > 0
    if not fits:
        raise RuntimeError("lstm_steps: operands do not go together")
    return 0


cdef void _describe(Sequences* all) noexcept nogil:
    cdef Product* product = &all.product
    product.batch = 1
    product.rows = all.batch
    product.columns = 4 * all.units
    product.depth = all.width
    product.left.data = product.right.data = product.addend.data = product.out.data = NULL
    product.left.code = product.right.code = product.addend.code = product.out.code = FLOAT32
    product.left.batch_stride = product.right.batch_stride = product.out.batch_stride = 0
    product.left.row_stride = all.width
    product.right.row_stride = product.out.row_stride = 4 * all.units
    product.left.column_stride = product.right.column_stride = product.out.column_stride = 1
    if not all.turned:
        product.right.row_stride, product.right.column_stride = 1, all.width
    product.addend.batch_stride = product.addend.row_stride = product.addend.column_stride = 0
    product.alpha, product.beta = 1, 0
    product.apart = False


cdef void _run_shares(void* context, int64_t begin, int64_t end) noexcept nogil:
    """One step of so many shares of the units."""
    cdef const Sequences* all = <const Sequences*>context
    cdef Product product = all.product
    cdef int64_t share, row, place, units = all.units
    cdef float* made
    for share in range(begin, end):
        made = all.made + share * all.batch * 4 * units
        product.left.data = <char*>all.hidden
        product.right.data = <char*>(all.weights + share * all.width * 4 * units)
        product.out.data = <char*>made
        multiply_tiles(&product)
        for row in range(all.batch):
            place = row * all.width + share * units
            all.step(made + row * 4 * units, units, all.added + row * 4 * all.width + share * units,
                     all.width, all.cell + place, all.gates + row * 4 * all.width + share * units,
                     all.cells + place, all.hiddens + place, units)
