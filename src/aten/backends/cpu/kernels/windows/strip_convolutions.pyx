# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=False, cdivision=True
"""Convolutions with few positions, whose weights lie in strips.

Positions are rows of a product with the weights. Where a window is one position they are read where
they lie: neighbours in memory, and their channels an image apart. Else an image is turned, so that
channels are neighbours, and what each position sees is copied in runs of them. What a strip gives
for an image is turned into lines of the result while it is in the nearest cache, and finished
there. Of images of one position, each is a row.

Row-major float32 on the CPU; what is otherwise is left to a kernel that knows everything. A result
is summed as in every product: its bits depend neither on threads nor on other images.
"""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport FLOAT32
from aten._core.base.sizes cimport read_sizes
from aten._core.dispatch.dispatcher cimport Kernel
from aten._core.dispatch.fast_path cimport FastPath, read_arguments
from aten._core.memory.storage cimport Storage
from aten._core.tensor.making cimport make_contiguous
from aten._core.tensor.tensor cimport Tensor
from aten._core.tensor.tensor_impl cimport (TensorImpl, const_data_pointer, data_pointer,
                                            require_memory)
from aten._core.threads.parallel cimport parallel_for, thread_count
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport (Product, multiply_strips_here,
                                                            turn_floats)
from aten.backends.cpu.kernels.matrix.strips cimport are_strips, is_without_gaps
from aten.backends.cpu.kernels.windows.convolution_calls cimport is_plain, read_activation
from aten.backends.cpu.kernels.windows.direct cimport (
    aten_finish, aten_window_kernels, kernels_of, leaves_as_is,
)

cdef enum:
    # Arguments of `fused::strips_convolution`, by their places on the stack.
    INPUT = 0
    STRIPS = 1
    BIAS = 2
    RESIDUAL = 3
    COLUMNS = 4
    KERNEL = 5              # and stride, padding and dilation
    ACTIVATION = 9
    VALUES = 10
    ARGUMENTS = 11
    # Positions of an image, and columns of a strip. Where there are more positions, turning them
    # takes what reading strips saves.
    MOST_POSITIONS = 64
    MOST_COLUMNS = 48
    MOST_RANK = 5
    SPATIAL = 2
    # Images of one position that are a piece with a strip.
    ROWS = 128
    # Channels of an image that are turned together.
    TURNED = 64
    # Elements of copies of what positions see, of a round of images; at least one image is one.
    ROUND = 1 << 22
    # Sizes and steps of which products of two are no overflow.
    LARGE = 1 << 30
    # Multiplications worth a thread's claim, and from which on other Python threads may run
    # meanwhile.
    CLAIM_WORK = 1 << 18
    # Pieces for each thread from which on it does not matter that some have one more, and rows that
    # are worth to be a share: those of a tile, twice.
    MANY_PIECES = 12
    FEWEST_ROWS = 16
    TILE_ROWS = 8
    RELEASE_THRESHOLD = 1 << 17
    SIZE = 4

cdef struct Convolution:
    Product product             # an image's positions times all strips
    const aten_window_kernels* kernels
    aten_finish finish
    int64_t images              # and the first one of a round, and how many there are in it
    int64_t first
    int64_t together
    int64_t strips
    int64_t cuts                # shares of an image's rows that are pieces with a strip
    int64_t width
    int64_t input_image         # elements from one image to the next
    int64_t out_image
    bint turns                  # whether results of an image are lines, one for each channel
    # Of windows of more than one position: what is seen, its channels side by side.
    const float* input
    float* turned
    float* seen
    int64_t channels
    int64_t sizes[SPATIAL]
    int64_t results[SPATIAL]
    int64_t kernel[SPATIAL]
    int64_t stride[SPATIAL]
    int64_t padding[SPATIAL]
    int64_t dilation[SPATIAL]
    bint sees_one


cdef class StripsConvolutionKernel(FastPath):
    """Runs ordinary calls of `fused::strips_convolution`, and gives others to `otherwise`."""

    def __init__(self, Kernel otherwise not None):
        FastPath.__init__(self, "strips_convolution", (), None, otherwise)

    cdef object ordinary(self, PyObject** stack):
        return _convolved(stack)


def most_positions():
    """Positions of an image up to which there are kernels."""
    return MOST_POSITIONS


def convolved(*arguments):
    """What `fused::strips_convolution` gives for these arguments, all of them in its order.

    None where the call is none for the kernels: the operator knows what it is then. This is for
    programs that are loaded with all that they call, without the operator.
    """
    cdef PyObject* given[ARGUMENTS]
    if not read_arguments(arguments, given, ARGUMENTS, BIAS, 2):
        return None
    return _convolved(given)


cdef Tensor _convolved(PyObject** stack):
    """The result, or None where the call is none for the kernels."""
    cdef Convolution work
    cdef TensorImpl input = <TensorImpl>stack[INPUT]
    cdef TensorImpl strips = <TensorImpl>stack[STRIPS]
    cdef TensorImpl bias = _given(stack[BIAS])
    cdef TensorImpl residual = _given(stack[RESIDUAL])
    cdef int64_t sizes[MOST_RANK]
    cdef int64_t again[MOST_RANK]
    cdef int64_t columns
    cdef int rank = input.rank, dim
    cdef Tensor out
    # What is read stays, whatever others make of the tensors meanwhile.
    cdef list memory
    if type(<object>stack[COLUMNS]) is not int or not read_activation(
            &work.finish, <object>stack[ACTIVATION], <object>stack[VALUES]):
        return None
    columns = <object>stack[COLUMNS]
    if not _read_window(&work, input, stack) or not _read_sizes(&work, input, columns, sizes):
        return None
    if not _is_ordinary(&work, input, strips, bias, residual, sizes):
        return None
    out = make_contiguous(FLOAT32, rank, sizes, CPU, -1)
    # Making it may have run a collection, and that the code of others.
    if input.rank != rank or not _read_sizes(&work, input, columns, again):
        return None
    if not _is_ordinary(&work, input, strips, bias, residual, again):
        return None
    for dim in range(rank):
        if again[dim] != sizes[dim]:
            return None
    memory = [input.storage, strips.storage]
    for tensor in (input, strips, bias, residual):
        require_memory(tensor)
        if tensor is not None:
            memory.append((<TensorImpl>tensor).storage)
    _describe(&work, input, strips, bias, residual, out)
    if not work.sees_one:
        _make_room(&work)
    work.cuts = 1
    if work.sees_one and _work_of(&work) * work.images * work.strips < RELEASE_THRESHOLD:
        _run(&work, 0, _pieces(&work))
        return out
    with nogil:
        _run_rounds(&work)
    free(work.turned)
    free(work.seen)
    return out


cdef void _run_rounds(Convolution* work) noexcept nogil:
    """All images, as many at a time as what their positions see has room for."""
    while work.first < work.images:
        work.together = min(work.together, work.images - work.first)
        if not work.sees_one:
            _see(work)
        work.cuts = _cuts(work)
        parallel_for(_pieces(work), max(1, CLAIM_WORK * work.cuts // _work_of(work)), _run, work)
        work.first += work.together


cdef inline int64_t _pieces(const Convolution* work) noexcept nogil:
    """Of a round: strips, each with an image or a share of its rows, or with some images where these
    are rows."""
    return work.strips * _parts(work) * work.cuts


cdef inline int64_t _cuts(const Convolution* work) noexcept nogil:
    """Shares of an image's rows so that few strips are as much for one thread as for another."""
    cdef int64_t threads = thread_count(), pieces = work.strips * _parts(work)
    if not work.turns or pieces >= MANY_PIECES * threads or pieces % threads == 0:
        return 1
    return max(1, min(threads, work.product.rows // FEWEST_ROWS))


cdef inline int64_t _parts(const Convolution* work) noexcept nogil:
    return work.together if work.turns else (work.together + ROWS - 1) // ROWS


cdef inline TensorImpl _given(PyObject* value):
    return None if <object>value is None else <TensorImpl>value


cdef bint _read_window(Convolution* work, TensorImpl input, PyObject** stack) except -1:
    """Whether the window is one position that moves by one, or lies in a plane."""
    cdef int64_t numbers[4][MOST_RANK]
    cdef int kind, dim, rank = input.rank - 2
    work.turned = work.seen = NULL
    work.sees_one = True
    if not 1 <= rank <= MOST_RANK - 2:
        return False
    for kind in range(4):
        given = <object>stack[KERNEL + kind]
        if type(given) is not list and type(given) is not tuple or len(given) != rank:
            return False
        if read_sizes(given, numbers[kind], MOST_RANK) != rank:
            return False
        for dim in range(rank):
            if not (0 if kind == 2 else 1) <= numbers[kind][dim] <= LARGE:
                return False
            work.sees_one &= numbers[kind][dim] == (0 if kind == 2 else 1) or kind == 3
    if work.sees_one:
        return input.rank == rank + 2
    if rank != SPATIAL:
        return False
    for dim in range(SPATIAL):
        work.kernel[dim] = numbers[0][dim]
        work.stride[dim] = numbers[1][dim]
        work.padding[dim] = numbers[2][dim]
        work.dilation[dim] = numbers[3][dim]
    return input.rank == rank + 2


cdef bint _read_sizes(Convolution* work, TensorImpl input, int64_t columns,
                      int64_t* sizes) noexcept:
    """The result's sizes; False where it has no place for a window, or too many."""
    cdef int64_t positions = 1, covered
    cdef int dim
    sizes[0], sizes[1] = input.sizes[0], columns
    for dim in range(2, input.rank):
        sizes[dim] = input.sizes[dim]
        if input.sizes[dim] > LARGE:
            return False
        if not work.sees_one:
            work.sizes[dim - 2] = input.sizes[dim]
            covered = work.dilation[dim - 2] * (work.kernel[dim - 2] - 1) + 1
            sizes[dim] = input.sizes[dim] + 2 * work.padding[dim - 2] - covered
            if sizes[dim] < 0:
                return False
            sizes[dim] = sizes[dim] // work.stride[dim - 2] + 1
            work.results[dim - 2] = sizes[dim]
        positions *= sizes[dim]
        if positions > MOST_POSITIONS:
            return False
    return positions > 0 and columns > 0


cdef inline int64_t _taps(const Convolution* work) noexcept nogil:
    return 1 if work.sees_one else work.kernel[0] * work.kernel[1]


cdef bint _is_ordinary(const Convolution* work, TensorImpl input, TensorImpl strips,
                       TensorImpl bias, TensorImpl residual, const int64_t* sizes) noexcept:
    """Whether sizes go together, and everything lies as the kernels want it."""
    cdef int64_t columns = sizes[1]
    cdef int dim
    if not is_plain(input) or input.count == 0 or _taps(work) > LARGE:
        return False
    if not are_strips(strips, FLOAT32, input.sizes[1] * _taps(work), columns):
        return False
    if strips.sizes[2] > MOST_COLUMNS:
        return False
    if bias is not None and not (is_without_gaps(bias, FLOAT32, 1) and bias.sizes[0] == columns):
        return False
    if residual is None:
        return True
    if not is_plain(residual) or residual.rank != input.rank:
        return False
    for dim in range(input.rank):
        if residual.sizes[dim] != sizes[dim]:
            return False
    return True


cdef int _describe(Convolution* work, TensorImpl input, TensorImpl strips, TensorImpl bias,
                   TensorImpl residual, TensorImpl out) except -1:
    cdef Product* product = &work.product
    cdef int64_t channels = input.sizes[1]
    cdef int64_t positions = out.count // out.sizes[0] // out.sizes[1]
    work.kernels = kernels_of(False)
    work.images = input.sizes[0]
    work.strips = strips.sizes[0]
    work.width = strips.sizes[2]
    work.turns = positions > 1
    work.channels = channels
    work.input = <const float*>const_data_pointer(input)
    product.batch = 1
    product.rows, product.columns, product.depth = positions, out.sizes[1], strips.sizes[1]
    work.input_image = product.depth * positions
    work.out_image = out.sizes[1] * positions
    product.alpha = product.beta = 1
    product.apart = False
    product.out.data = data_pointer(out)
    product.out.code = product.left.code = product.right.code = product.addend.code = FLOAT32
    product.out.batch_stride = product.left.batch_stride = product.right.batch_stride = 0
    product.out.row_stride, product.out.column_stride = out.sizes[1], 1
    product.left.data = <char*>work.input
    product.left.row_stride, product.left.column_stride = 1, positions
    if not work.sees_one:
        product.left.row_stride, product.left.column_stride = product.depth, 1
    product.right.data = <char*>const_data_pointer(strips)
    product.right.row_stride, product.right.column_stride = work.width, product.depth
    product.addend.data = NULL
    product.addend.batch_stride = product.addend.row_stride = 0
    product.addend.column_stride = 1
    if bias is not None:
        product.addend.data = <char*>const_data_pointer(bias)
    work.first, work.together = 0, work.images
    if not work.turns:
        # Images are rows.
        product.left.row_stride, product.left.column_stride = product.depth, 1
    work.finish.adds = residual is not None
    work.finish.residual = 0
    if residual is not None:
        work.finish.residual = (<int64_t>const_data_pointer(residual)
                                - <int64_t>product.out.data)
    return 0


cdef int _make_room(Convolution* work) except -1:
    """For a round of images whose channels are neighbours, and for what their positions see."""
    cdef int64_t turned = work.channels * work.sizes[0] * work.sizes[1]
    cdef int64_t seen = work.results[0] * work.results[1] * work.product.depth
    work.together = min(work.images, max(1, ROUND // max(turned, seen)))
    work.turned = <float*>malloc(work.together * turned * SIZE)
    work.seen = <float*>malloc(work.together * seen * SIZE)
    if work.turned == NULL or work.seen == NULL:
        free(work.turned)
        free(work.seen)
        raise MemoryError("strips_convolution: no memory for what positions see")
    work.product.left.data = <char*>work.seen
    return 0


cdef void _see(Convolution* work) noexcept nogil:
    cdef int64_t blocks = (work.channels + TURNED - 1) // TURNED
    parallel_for(work.together * blocks, 2, _turn_images, work)
    parallel_for(work.together * work.results[0] * work.results[1], 8, _copy_seen, work)


cdef void _turn_images(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Some channels of an image at a time become runs, one at each position."""
    cdef const Convolution* work = <const Convolution*>context
    cdef int64_t blocks = (work.channels + TURNED - 1) // TURNED
    cdef int64_t positions = work.sizes[0] * work.sizes[1], index, image, first
    for index in range(begin, end):
        image = index // blocks * work.channels * positions
        first = index % blocks * TURNED
        turn_floats(work.input + work.first * work.channels * positions + image
                    + first * positions, positions,
                    min(<int64_t>TURNED, work.channels - first), positions,
                    work.turned + image + first, work.channels)


cdef void _copy_seen(void* context, int64_t begin, int64_t end) noexcept nogil:
    """What positions begin … end see: for each tap all channels, zeros where there is no image."""
    cdef const Convolution* work = <const Convolution*>context
    cdef int64_t across = work.results[1], all = work.results[0] * across
    cdef int64_t channels = work.channels, index, y, x, row, column, down, right
    cdef const float* image
    cdef float* to = work.seen + begin * work.product.depth
    for index in range(begin, end):
        image = work.turned + index // all * channels * work.sizes[0] * work.sizes[1]
        y = index % all // across * work.stride[0] - work.padding[0]
        x = index % across * work.stride[1] - work.padding[1]
        for down in range(work.kernel[0]):
            row = y + down * work.dilation[0]
            for right in range(work.kernel[1]):
                column = x + right * work.dilation[1]
                if 0 <= row < work.sizes[0] and 0 <= column < work.sizes[1]:
                    memcpy(to, image + (row * work.sizes[1] + column) * channels, channels * SIZE)
                else:
                    memset(to, 0, channels * SIZE)
                to += channels


cdef inline int64_t _work_of(const Convolution* work) noexcept nogil:
    """Multiplications of one piece."""
    cdef int64_t rows = work.product.rows if work.turns else min(work.together, <int64_t>ROWS)
    return (rows + 8) * work.width * work.product.depth


cdef void _run(void* context, int64_t begin, int64_t end) noexcept nogil:
    """A strip's images one after the other: it stays in the second cache."""
    cdef const Convolution* work = <const Convolution*>context
    cdef int64_t index = begin, parts = _parts(work), piece, until
    while index < end:
        piece = index // work.cuts
        # Shares of an image that follow each other are one.
        until = min(end, (piece + 1) * work.cuts)
        _multiply(work, piece % parts * (1 if work.turns else ROWS), piece // parts,
                  _row_of(work, index - piece * work.cuts), _row_of(work, until - piece * work.cuts))
        index = until


cdef inline int64_t _row_of(const Convolution* work, int64_t share) noexcept nogil:
    """Where a share of an image's rows begins: shares are whole tiles, but for the last one."""
    if share == work.cuts:
        return work.product.rows
    return share * work.product.rows // work.cuts // TILE_ROWS * TILE_ROWS


cdef void _multiply(const Convolution* work, int64_t image, int64_t strip, int64_t begin,
                    int64_t end) noexcept nogil:
    """A strip times rows begin … end of an image of the round, counted in it, or times some images
    from there on."""
    cdef float[MOST_POSITIONS * MOST_COLUMNS] sums
    cdef Product product = work.product
    cdef int64_t first = strip * work.width
    cdef int64_t columns = min(work.width, product.columns - first)
    # Copies hold a round, the input all images.
    cdef int64_t place = image + (work.first if work.sees_one else 0)
    cdef char* out = product.out.data + (work.first + image) * work.out_image * SIZE
    product.columns = columns
    product.left.data += (place * work.input_image + begin * product.left.row_stride) * SIZE
    product.right.data += first * product.depth * SIZE
    if product.addend.data != NULL:
        product.addend.data += first * SIZE
    if not work.turns:
        product.rows = min(work.together - image, <int64_t>ROWS)
        product.out.data = out + first * SIZE
        multiply_strips_here(&product, work.width)
        if not leaves_as_is(&work.finish):
            work.kernels.finish(&work.finish, True, product.out.data, product.out.row_stride,
                                product.rows, columns)
        return
    product.rows = end - begin
    product.out.data = <char*>sums
    product.out.row_stride = work.width
    multiply_strips_here(&product, work.width)
    out += (first * work.product.rows + begin) * SIZE
    # What has no other operand is done where sums lie in whole vectors.
    if not work.finish.adds and not leaves_as_is(&work.finish):
        work.kernels.finish(&work.finish, True, sums, work.width, product.rows, columns)
    turn_floats(sums, work.width, product.rows, columns, <float*>out, work.product.rows)
    if work.finish.adds:
        work.kernels.finish(&work.finish, True, out, work.product.rows, columns, product.rows)
