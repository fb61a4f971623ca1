"""Elements moved between strided places as they are, and places filled with one element."""

from libc.stdint cimport int64_t

# Strides are in elements, of any sign; sizes and strides are given outermost first.
cdef void move_elements(int width, int rank, const int64_t* sizes, char* target,
                        const int64_t* target_strides, const char* source,
                        const int64_t* source_strides) noexcept nogil
cdef void fill_elements(int width, int rank, const int64_t* sizes, char* target,
                        const int64_t* strides, const char* element) noexcept nogil
# `count` elements with steps in bytes.
cdef void move_run(int width, char* target, int64_t target_step, const char* source,
                   int64_t source_step, int64_t count) noexcept nogil
