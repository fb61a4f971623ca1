# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Convolutions as matrix products of columns, for types and windows without kernels of their own.

A forward convolution gathers, for a run of output positions at a time, the inputs that each of
them sees into columns, and multiplies the weights with these. A transposed one multiplies first,
for a few output channels at a time, and adds the columns to the positions they reach. Either way
the scratch memory fits into a cache, and pieces are shared out over the threads; the pieces depend
on sizes alone, and so do the bits of the result.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from aten._core.base.device cimport CPU
from aten._core.base.dtypes cimport COMPLEX128, COMPLEX64, FLOAT32, FLOAT64, item_size
from aten._core.memory.storage cimport Storage, allocate
from aten._core.tensor.tensor_impl cimport TensorImpl
from aten._core.threads.parallel cimport parallel_for
from aten.backends.cpu.kernels.matrix.gemm cimport multiply_here
from aten.backends.cpu.kernels.matrix.matrix_tiles cimport Product
from aten.backends.cpu.kernels.moving.transfer cimport Block, transfer, transfer_run
from aten.backends.cpu.kernels.windows.images cimport SPATIAL, Image

# Elements of the columns held at a time: half a megabyte of float32.
cdef enum:
    SCRATCH = 1 << 17

cdef struct Sight:
    # What positions see of one channel from one place in the kernel.
    char* row               # of the columns
    int64_t z               # where the first position of each dimension looks; may be padding
    int64_t y
    int64_t offset
    int64_t low             # the positions of a line that do not see padding
    int64_t high

ctypedef fused Numeric:
    uint32_t
    uint64_t

ctypedef fused Addend:
    float
    double
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef int gather_all(Convolution* work) except -1:
    cdef int64_t depth = max(work.inputs * work.window, 1)
    cdef int64_t each
    work.piece = min(work.positions, max(64, SCRATCH // depth // 16 * 16))
    work.pieces = (work.positions + work.piece - 1) // work.piece
    each = depth * work.piece * work.outputs
    if each * work.pieces * work.groups * work.batch < RELEASE_THRESHOLD:
        _gather(work, 0, work.batch * work.groups * work.pieces)
        return 0
    with nogil:
        parallel_for(work.batch * work.groups * work.pieces, max(1, GRAIN // each), _gather, work)
    return 0


cdef inline bint _is_pointwise(const Convolution* work) noexcept nogil:
    """Whether the input can stand for the columns as it is."""
    cdef int64_t stride = 1
    cdef int dim
    if work.window != 1 or work.input.code != work.compute:
        return False
    for dim in range(SPATIAL - 1, -1, -1):
        if work.shape.stride[dim] != 1 or work.shape.padding[dim] != 0:
            return False
        if work.input.strides[dim] != stride and work.input.sizes[dim] != 1:
            return False
        stride *= work.input.sizes[dim]
    return work.input.channel_stride >= stride or work.inputs == 1


cdef void _gather(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Pieces begin … end of a forward convolution."""
    cdef Convolution* work = <Convolution*>context
    cdef int64_t depth = work.inputs * work.window
    cdef bint direct = _is_pointwise(work)
    cdef bint converts = work.out.code != work.compute
    cdef int64_t held = 0 if direct else depth * work.piece
    cdef int64_t results = work.outputs * work.piece if converts else 0
    cdef char* columns = <char*>malloc((held + results) * item_size(work.compute) + 1)
    cdef int64_t index, image, group, first, count
    cdef char* data
    if columns == NULL:
        work.failed = True
        return
    for index in range(begin, end):
        image = index // (work.groups * work.pieces)
        group = index // work.pieces % work.groups
        first = index % work.pieces * work.piece
        count = min(work.piece, work.positions - first)
        data = work.input.data + (image * work.input.batch_stride
                                  + group * work.inputs * work.input.channel_stride
                                  ) * item_size(work.input.code)
        if direct:
            _multiply_piece(work, image, group, first, count,
                            data + first * item_size(work.compute),
                            work.input.channel_stride, NULL)
            continue
        _gather_columns(work, data, columns, first, count)
        _multiply_piece(work, image, group, first, count, columns, count,
                        columns + held * item_size(work.compute))
    free(columns)


cdef void _multiply_piece(Convolution* work, int64_t image, int64_t group, int64_t first,
                          int64_t count, char* columns, int64_t leading,
                          char* results) noexcept nogil:
    """Weights times columns, plus bias, for `count` positions of one group of one image."""
    cdef Product product
    cdef Block final
    cdef int64_t channel = group * work.outputs
    cdef int64_t depth = work.inputs * work.window
    final.data = work.out.data + (image * work.out.batch_stride
                                  + channel * work.out.channel_stride
                                  + first) * item_size(work.out.code)
    final.code = work.out.code
    final.batch_stride = 0
    final.row_stride = work.out.channel_stride
    final.column_stride = 1
    product.out = final
    if work.out.code != work.compute:
        product.out.data = results
        product.out.code = work.compute
        product.out.row_stride = count
    product.batch = 1
    product.rows = work.outputs
    product.columns = count
    product.depth = depth
    product.left.data = work.weight + channel * depth * item_size(work.compute)
    product.left.code = product.right.code = work.compute
    product.left.batch_stride = product.right.batch_stride = 0
    product.left.row_stride = depth
    product.left.column_stride = product.right.column_stride = 1
    product.right.data = columns
    product.right.row_stride = leading
    product.addend = _bias_of(work, channel)
    product.alpha = product.beta = 1
    product.apart = False
    multiply_here(&product)
    if product.out.data != final.data:
        transfer(&product.out, &final, 1, work.outputs, count)


cdef Block _bias_of(const Convolution* work, int64_t channel) noexcept nogil:
    cdef Block bias = work.bias
    if bias.data != NULL:
        bias.data += channel * bias.row_stride * item_size(bias.code)
    return bias


cdef void _gather_columns(const Convolution* work, const char* data, char* columns, int64_t first,
                          int64_t count) noexcept nogil:
    """For each channel and place in the kernel, the inputs that `count` positions see there."""
    cdef bint alike = work.input.code == work.compute
    cdef int size = item_size(work.compute)
    cdef int64_t channel, z, y, x
    cdef Sight sight
    for channel in range(work.inputs):
        for x in range(work.shape.kernel[2]):
            sight.offset = x * work.shape.dilation[2] - work.shape.padding[2]
            _visible(work, 0, work.out.sizes[2], x * work.shape.dilation[2], &sight.low, &sight.high)
            for z in range(work.shape.kernel[0]):
                sight.z = z * work.shape.dilation[0] - work.shape.padding[0]
                for y in range(work.shape.kernel[1]):
                    sight.y = y * work.shape.dilation[1] - work.shape.padding[1]
                    sight.row = columns + ((z * work.shape.kernel[1] + y) * work.shape.kernel[2] + x
                                           ) * count * size
                    if alike and size == 4:
                        _gather_row[uint32_t](work, &sight, <uint32_t*>data, first, count)
                    elif alike and size == 8:
                        _gather_row[uint64_t](work, &sight, <uint64_t*>data, first, count)
                    else:
                        _convert_row(work, &sight, data, first, count)
        data += work.input.channel_stride * item_size(work.input.code)
        columns += work.window * count * size


cdef void _gather_row(const Convolution* work, const Sight* sight, const Numeric* data,
                      int64_t first, int64_t count) noexcept nogil:
    """One line of output positions after the other; zeros where they look at padding."""
    cdef const Image* input = &work.input
    cdef int64_t width = work.out.sizes[2], height = work.out.sizes[1]
    cdef int64_t line = first // width
    cdef int64_t begin = first - line * width
    cdef int64_t plane = line // height
    cdef int64_t step = work.shape.stride[2] * input.strides[2]
    cdef int64_t end, low, high, source_z, source_y, place
    cdef const Numeric* source
    cdef Numeric* row = (<Numeric*>sight.row) - begin
    cdef Numeric* last = (<Numeric*>sight.row) + count
    line -= plane * height
    while True:
        end = min(width, last - row)
        source_z = plane * work.shape.stride[0] + sight.z
        source_y = line * work.shape.stride[1] + sight.y
        low = high = begin
        if 0 <= source_z < input.sizes[0] and 0 <= source_y < input.sizes[1]:
            low = min(max(sight.low, begin), end)
            high = max(min(sight.high, end), low)
        for place in range(begin, low):
            row[place] = 0
        source = (data + source_z * input.strides[0] + source_y * input.strides[1]
                  + sight.offset * input.strides[2])
        if step == 1:
            for place in range(low, high):
                row[place] = source[place]
        else:
            for place in range(low, high):
                row[place] = source[place * step]
        for place in range(high, end):
            row[place] = 0
        row += width
        if row >= last:
            return
        begin = 0
        line += 1
        if line == height:
            line = 0
            plane += 1


cdef void _convert_row(const Convolution* work, const Sight* sight, const char* data,
                       int64_t first, int64_t count) noexcept nogil:
    """`_gather_row` for other sizes of elements, and from half types to float32."""
    cdef const Image* input = &work.input
    cdef int64_t width = work.out.sizes[2]
    cdef int64_t line = first // width
    cdef int64_t begin = first - line * width
    cdef int64_t taken, source_z, source_y, low, high, place
    cdef int size = item_size(work.compute)
    cdef char* row = sight.row
    while count > 0:
        taken = min(width - begin, count)
        source_z = line // work.out.sizes[1] * work.shape.stride[0] + sight.z
        source_y = line % work.out.sizes[1] * work.shape.stride[1] + sight.y
        low = high = begin
        if 0 <= source_z < input.sizes[0] and 0 <= source_y < input.sizes[1]:
            low = min(max(sight.low, begin), begin + taken)
            high = max(min(sight.high, begin + taken), low)
        memset(row, 0, (low - begin) * size)
        if high > low:
            place = (source_z * input.strides[0] + source_y * input.strides[1]
                     + (low * work.shape.stride[2] + sight.offset) * input.strides[2])
            transfer_run(data + place * item_size(input.code), input.code,
                         work.shape.stride[2] * input.strides[2], row + (low - begin) * size,
                         work.compute, 1, high - low)
        memset(row + (high - begin) * size, 0, (begin + taken - high) * size)
        row += taken * size
        count -= taken
        begin = 0
        line += 1


cdef void _visible(const Convolution* work, int64_t begin, int64_t end, int64_t x, int64_t* low,
                   int64_t* high) noexcept nogil:
    """Of the positions begin … end in a line, those that see the input `x` further on."""
    cdef int64_t stride = work.shape.stride[2]
    cdef int64_t offset = x - work.shape.padding[2]
    cdef int64_t first = (stride - 1 - offset) // stride if offset < 0 else 0
    cdef int64_t last = ((work.input.sizes[2] - offset + stride - 1) // stride
                         if offset < work.input.sizes[2] else 0)
    low[0] = min(max(first, begin), end)
    high[0] = max(min(last, end), low[0])


cdef int spread_all(Convolution* work, TensorImpl out, list scratch) except -1:
    """A transposed convolution: `work.input` is written, `work.out` read."""
    cdef int64_t each
    cdef Image final = work.input
    cdef Block source
    cdef Block target
    cdef Storage memory
    if work.input.code != work.compute:
        memory = allocate(out.count * item_size(work.compute), CPU, -1)
        scratch.append(memory)
        work.input.data = memory.data
        work.input.code = work.compute
    work.piece = max(1, min(work.inputs, SCRATCH // max(work.window * work.positions, 1)))
    work.pieces = (work.inputs + work.piece - 1) // work.piece
    each = max(1, work.piece * work.window * work.positions * work.outputs)
    with nogil:
        parallel_for(work.batch * work.groups * work.pieces, max(1, GRAIN // each), _spread, work)
    if final.code == work.compute:
        return 0
    source.data = work.input.data
    source.code = work.compute
    target.data = final.data
    target.code = final.code
    source.batch_stride = target.batch_stride = source.row_stride = target.row_stride = 0
    source.column_stride = target.column_stride = 1
    transfer(&source, &target, 1, 1, out.count)
    return 0


cdef void _spread(void* context, int64_t begin, int64_t end) noexcept nogil:
    """Pieces begin … end of a transposed convolution, each a few channels of one image."""
    cdef Convolution* work = <Convolution*>context
    cdef int64_t rows = work.piece * work.window
    cdef int64_t held = rows * work.positions
    cdef int64_t widened = work.outputs * work.positions if work.out.code != work.compute else 0
    cdef char* columns = <char*>malloc((held + widened) * item_size(work.compute) + 1)
    cdef int64_t index, image, group, first, count
    cdef char* data
    if columns == NULL:
        work.failed = True
        return
    for index in range(begin, end):
        image = index // (work.groups * work.pieces)
        group = index // work.pieces % work.groups
        first = index % work.pieces * work.piece
        count = min(work.piece, work.inputs - first)
        _multiply_channels(work, image, group, first, count, columns,
                           columns + held * item_size(work.compute))
        data = work.input.data + (image * work.input.batch_stride
                                  + (group * work.inputs + first) * work.input.channel_stride
                                  ) * item_size(work.compute)
        _fill_bias(work, group * work.inputs + first, count, data)
        if work.compute == FLOAT32 or work.compute == COMPLEX64:
            _spread_columns[float](work, <float*>data, <float*>columns, count)
        elif work.compute == FLOAT64 or work.compute == COMPLEX128:
            _spread_columns[double](work, <double*>data, <double*>columns, count)
        elif item_size(work.compute) == 1:
            _spread_columns[uint8_t](work, <uint8_t*>data, <uint8_t*>columns, count)
        elif item_size(work.compute) == 2:
            _spread_columns[uint16_t](work, <uint16_t*>data, <uint16_t*>columns, count)
        elif item_size(work.compute) == 4:
            _spread_columns[uint32_t](work, <uint32_t*>data, <uint32_t*>columns, count)
        else:
            _spread_columns[uint64_t](work, <uint64_t*>data, <uint64_t*>columns, count)
    free(columns)


cdef void _multiply_channels(Convolution* work, int64_t image, int64_t group, int64_t first,
                             int64_t count, char* columns, char* widened) noexcept nogil:
    """The columns that the operand sends to `count` channels of the result."""
    cdef Product product
    cdef Block operand
    cdef int size = item_size(work.compute)
    cdef int64_t width = work.inputs * work.window
    operand.data = work.out.data + (image * work.out.batch_stride
                                    + group * work.outputs * work.out.channel_stride
                                    ) * item_size(work.out.code)
    operand.code = work.out.code
    operand.batch_stride = 0
    operand.row_stride = work.out.channel_stride
    operand.column_stride = 1
    product.right = operand
    if operand.code != work.compute:
        product.right.data = widened
        product.right.code = work.compute
        product.right.row_stride = work.positions
        transfer(&operand, &product.right, 1, work.outputs, work.positions)
    product.batch = 1
    product.rows = count * work.window
    product.columns = work.positions
    product.depth = work.outputs
    product.left.data = work.weight + (group * work.outputs * width + first * work.window) * size
    product.left.code = work.compute
    product.left.batch_stride = 0
    product.left.row_stride = 1
    product.left.column_stride = width
    product.out.data = columns
    product.out.code = work.compute
    product.out.batch_stride = 0
    product.out.row_stride = work.positions
    product.out.column_stride = 1
    product.addend.data = NULL
    product.alpha = 1
    product.beta = 0
    product.apart = False
    multiply_here(&product)


cdef void _fill_bias(const Convolution* work, int64_t channel, int64_t count,
                     char* data) noexcept nogil:
    """`count` channels of the result set to their bias, or to zero."""
    cdef Block bias = _bias_of(work, channel)
    cdef Block target
    cdef int64_t elements = work.input.sizes[0] * work.input.sizes[1] * work.input.sizes[2]
    if bias.data == NULL:
        memset(data, 0, count * elements * item_size(work.compute))
        return
    target.data = data
    target.code = work.compute
    target.batch_stride = 0
    target.row_stride = work.input.channel_stride
    target.column_stride = 1
    transfer(&bias, &target, 1, count, elements)


cdef void _spread_columns(const Convolution* work, Addend* data, const Addend* columns,
                          int64_t count) noexcept nogil:
    """Add every column's numbers where they belong; a complex number is two numbers."""
    cdef int64_t channel, z, y, x
    cdef int64_t parts = item_size(work.compute) // <int64_t>sizeof(Addend)
    for channel in range(count):
        for z in range(work.shape.kernel[0]):
            for y in range(work.shape.kernel[1]):
                for x in range(work.shape.kernel[2]):
                    _spread_row(work, data, columns, parts, z * work.shape.dilation[0],
                                y * work.shape.dilation[1], x * work.shape.dilation[2])
                    columns += work.positions * parts
        data += work.input.channel_stride * parts


cdef void _spread_row(const Convolution* work, Addend* data, const Addend* row, int64_t parts,
                      int64_t z, int64_t y, int64_t x) noexcept nogil:
    cdef const Image* result = &work.input
    cdef int64_t width = work.out.sizes[2]
    cdef int64_t line, target_z, target_y, low, high, index, step
    cdef Addend* target
    for line in range(work.out.sizes[0] * work.out.sizes[1]):
        target_z = line // work.out.sizes[1] * work.shape.stride[0] - work.shape.padding[0] + z
        target_y = line % work.out.sizes[1] * work.shape.stride[1] - work.shape.padding[1] + y
        if not (0 <= target_z < result.sizes[0] and 0 <= target_y < result.sizes[1]):
            continue
        _visible(work, 0, width, x, &low, &high)
        target = data + (target_z * result.strides[0] + target_y * result.strides[1]
                         + (low * work.shape.stride[2] - work.shape.padding[2] + x)) * parts
        step = work.shape.stride[2] * parts
        if parts == 1:
            for index in range(high - low):
                target[index * step] += row[line * width + low + index]
            continue
        for index in range(high - low):
            target[index * step] += row[(line * width + low + index) * 2]
            target[index * step + 1] += row[(line * width + low + index) * 2 + 1]
