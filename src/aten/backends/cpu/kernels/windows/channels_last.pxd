from libc.stdint cimport int64_t

from aten.backends.cpu.kernels.windows.direct cimport aten_finish, aten_window_kernels

# A convolution of images whose channels are neighbours.
cdef struct Lines:
    const aten_window_kernels* kernels
    int64_t size            # of an element
    const char* input
    const char* weight      # as it is given, and turned
    char* turned
    const char* bias
    char* out
    int64_t batch
    int64_t channels
    int64_t outputs
    int64_t sizes[2]        # of an image, its result and the window
    int64_t seen[2]
    int64_t kernel[2]
    int64_t stride[2]
    int64_t padding[2]
    int64_t dilation[2]
    int64_t width           # of a strip of output channels
    int64_t strips
    int64_t lines           # of the result in a piece
    int64_t strips_each
    int64_t across          # pieces of an image, along lines and channels
    int64_t down
    const aten_finish* finish   # or nothing
    bint is_copied
    bint is_line            # all positions are, which see nothing but themselves
    bint failed
