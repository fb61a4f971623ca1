from aten.backends.cpu.kernels.windows.channels_last cimport Lines

# Whether memory was to be had.
cdef bint slide_channels_last(Lines* work) noexcept nogil
