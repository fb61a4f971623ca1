"""Element types and the promotion rules between them."""

cdef enum:
    # ScalarType codes: the numbers torch writes into its files.
    UINT8 = 0
    INT8 = 1
    INT16 = 2
    INT32 = 3
    INT64 = 4
    FLOAT16 = 5
    FLOAT32 = 6
    FLOAT64 = 7
    COMPLEX32 = 8
    COMPLEX64 = 9
    COMPLEX128 = 10
    BOOL = 11
    BFLOAT16 = 15
    UINT16 = 27
    UINT32 = 28
    UINT64 = 29
    DTYPE_COUNT = 46

cdef class dtype:
    cdef readonly int code
    cdef readonly int itemsize
    cdef readonly str name
    cdef readonly str kind
    cdef int category       # 0 bool, 1 integral, 2 floating, 3 complex; -1 takes no part in promotion

cdef dtype dtype_from_code(int code)
cdef int category_of(int code) noexcept nogil
cdef int promote_codes(int left, int right) noexcept nogil     # -1 where no common type exists
cdef int default_dtype_code() noexcept nogil

cdef int* item_sizes                # by code


cdef inline int item_size(int code) noexcept nogil:
    return item_sizes[code]
