"""Python numbers into and out of memory."""

cdef object read_element(const char* place, int code)
cdef int write_element(char* place, int code, object value) except -1
