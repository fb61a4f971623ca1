# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Recurrent networks over whole sequences: a product and what gates make of it, step by step.

Threads share the units of a layer, each with the columns of the weights that make them, and meet
after every step. A result depends neither on how units are shared nor on the sequences beside it.

Weights lie in blocks of units, and a block in strips, one for each gate: (blocks, 4, width, units of
a block), zeros where the last block has no unit. A thread goes through its blocks by turns from the
first and from the last: what it read at the end of a step is still in its cache when the next begins.
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from aten._core.base.dtypes cimport FLOAT32
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, count_write,
                                            data_pointer)
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport (Product, multiply_strips_here,
                                                            multiply_tiles, strip_width,
                                                            takes_tiles, vector_width)

cdef extern from "recurrent_levels.h" nogil:
    ctypedef void (*aten_lstm_step)(const float* made, int64_t made_step, const float* added,
                                    int64_t step, const float* before, float* gates, float* cell,
                                    float* hidden, int64_t count) noexcept
    aten_lstm_step aten_lstm_step_of(int vector_bytes)

cdef enum:
    GATES = 4
    # Multiplications of a step that are worth sharing.
    SHARED_WORK = 1 << 18
    VECTORS = 3             # of a strip, at most

cdef struct Sequences:
    aten_lstm_step step
    Product product         # of a block, but for its operands
    int64_t batch
    int64_t width
    int64_t units           # of a block
    int64_t blocks
    int64_t shares
    bint is_odd             # so that blocks come from the last to the first
    const float* hidden     # the states before
    const float* cell
    const float* added      # of the step, and what the step makes
    float* hiddens
    float* cells
    float* gates
    const float* weights
    bint in_blocks          # else they are as they were given
    float* made             # sums of a block, for each share: (batch, 4, units)


def units_of_a_block(int64_t width, int64_t batch):
    """How many units of a layer of `width` are a block: whole vectors.

    Threads' shares shall be alike, but strips of fewer vectors take longer for each, most of all
    where a few sequences share their sums' waiting.
    """
    cdef int64_t lanes = vector_width() // <int64_t>sizeof(float)
    cdef int64_t threads = max(1, thread_count()), vectors, units, cost, least = 0, best = 0
    cdef int64_t[VECTORS] costs = [108, 102, 100]
    if batch > 1:
        costs = [150, 119, 100]
    if batch > 4:
        costs = [120, 104, 100]
    for vectors in range(VECTORS, 0, -1):
        units = vectors * lanes
        cost = ((width + units - 1) // units + threads - 1) // threads * units * costs[vectors - 1]
        if best == 0 or cost < least:
            best, least = units, cost
    return best


def lstm_steps(TensorImpl added not None, TensorImpl hidden not None, TensorImpl cell not None,
               TensorImpl weights not None, TensorImpl hiddens not None, TensorImpl cells not None,
               TensorImpl gates not None):
    """Write the states and gates of an LSTM to the last three; False where it is not done here.

    All are row-major and of float32: added and gates (steps, sequences, 4 * width), hidden and cell
    (sequences, width), weights in blocks, (blocks, 4, width, units), or (4 * width, width) as they
    are, hiddens and cells (steps, sequences, width). Nothing is empty. Raises RuntimeError for
    others, MemoryError where there is no memory for the sums of a step.
    """
    cdef Sequences all
    cdef int64_t step, steps = added.sizes[0] if added.rank else 0, rows
    _check(added, hidden, cell, weights, hiddens, cells, gates)
    all.batch, all.width = cell.sizes[0], cell.sizes[1]
    all.in_blocks = weights.rank == 4
    all.blocks = weights.sizes[0] if all.in_blocks else 1
    all.units = weights.sizes[3] if all.in_blocks else all.width
    all.shares = 1
    if all.in_blocks and GATES * all.batch * all.width * all.width >= SHARED_WORK:
        all.shares = min(<int64_t>thread_count(), all.blocks)
    all.step = aten_lstm_step_of(vector_width())
    _describe(&all)
    if not takes_tiles(&all.product):
        return False
    if all.in_blocks and strip_width(False, all.units) != all.units:
        return False
    all.gates = <float*>data_pointer(gates)
    all.hiddens = <float*>data_pointer(hiddens)
    all.cells = <float*>data_pointer(cells)
    all.added = <const float*>const_data_pointer(added)
    all.hidden = <const float*>const_data_pointer(hidden)
    all.cell = <const float*>const_data_pointer(cell)
    all.weights = <const float*>const_data_pointer(weights)
    rows = all.batch * all.width
    all.made = <float*>malloc(all.shares * all.batch * GATES * all.units * sizeof(float))
    if all.made == NULL:
        raise MemoryError("lstm: no memory for the sums of a step")
    with nogil:
        for step in range(steps):
            all.is_odd = step % 2 == 1
            if all.shares == 1:
                _run_shares(&all, 0, 1)
            else:
                parallel_for(all.shares, 1, _run_shares, &all)
            all.hidden, all.cell = all.hiddens, all.cells
            all.hiddens += rows
            all.cells += rows
            all.added += GATES * rows
            all.gates += GATES * rows
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
                and added.sizes[1] == batch and added.sizes[2] == GATES * width)
        if weights.rank == 4:
            fits = (fits and weights.sizes[1] == GATES and weights.sizes[2] == width
                    and weights.sizes[3] > 0 and weights.sizes[0] == (
                        (width + weights.sizes[3] - 1) // weights.sizes[3]))
        else:
            fits = (fits and weights.rank == 2 and weights.sizes[0] == GATES * width
                    and weights.sizes[1] == width)
        for one in (hiddens, cells, gates):
            fits = fits and one.sizes[0] == added.sizes[0] and one.sizes[1] == batch
        fits = fits and hiddens.sizes[2] == width and cells.sizes[2] == width
        fits = fits and gates.sizes[2] == GATES * width
        for one in (added, hidden, cell, weights, hiddens, cells, gates):
            fits = fits and one.contiguous and one.dtype_code == FLOAT32 and one.count > 0
    if not fits:
        raise RuntimeError("lstm_steps: operands do not go together")
    return 0


cdef void _describe(Sequences* all) noexcept nogil:
    cdef Product* product = &all.product
    product.batch = 1
    product.rows = all.batch
    product.columns = GATES * all.units
    product.depth = all.width
    product.left.data = product.right.data = product.addend.data = product.out.data = NULL
    product.left.code = product.right.code = product.addend.code = product.out.code = FLOAT32
    product.left.batch_stride = product.right.batch_stride = product.out.batch_stride = 0
    product.left.row_stride = all.width
    product.out.row_stride = GATES * all.units
    product.left.column_stride = product.out.column_stride = 1
    # Of weights as they are; strips have strides of their own.
    product.right.row_stride, product.right.column_stride = 1, all.width
    product.addend.batch_stride = product.addend.row_stride = product.addend.column_stride = 0
    product.alpha, product.beta = 1, 0
    product.apart = False


cdef void _run_shares(void* context, int64_t begin, int64_t end) noexcept nogil:
    """One step of so many shares of the blocks."""
    cdef const Sequences* all = <const Sequences*>context
    cdef int64_t share, first, last, index
    for share in range(begin, end):
        first = all.blocks * share // all.shares
        last = all.blocks * (share + 1) // all.shares
        for index in range(last - first):
            _run_block(all, last - 1 - index if all.is_odd else first + index,
                       all.made + share * all.batch * GATES * all.units)


cdef void _run_block(const Sequences* all, int64_t block, float* made) noexcept nogil:
    """One step of the units of a block."""
    cdef Product product = all.product
    cdef int64_t first = block * all.units, count = min(all.units, all.width - first)
    cdef int64_t row, place, gate
    product.left.data = <char*>all.hidden
    product.right.data = <char*>(all.weights + block * GATES * all.width * all.units)
    product.out.data = <char*>made
    if all.in_blocks:
        multiply_strips_here(&product, all.units)
    else:
        multiply_tiles(&product)
    for row in range(all.batch):
        place = row * all.width + first
        gate = row * GATES * all.width + first
        all.step(made + row * GATES * all.units, all.units, all.added + gate, all.width,
                 all.cell + place, all.gates + gate, all.cells + place, all.hiddens + place, count)
