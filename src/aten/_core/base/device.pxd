"""device, layout and memory_format objects."""

cdef enum:
    # DeviceType codes as torch's, so that files agree.
    CPU = 0
    CUDA = 1
    HIP = 6
    XLA = 9
    VULKAN = 10
    XPU = 12
    MPS = 13
    META = 14
    HPU = 15
    LAZY = 17
    MTIA = 19
    PRIVATEUSE1 = 20
    PRIVATEUSE2 = 21
    PRIVATEUSE3 = 22
    REFERENCE = 23          # ours: the operator definitions run on NumPy
    DEVICE_TYPE_COUNT = 24

cdef enum:
    CONTIGUOUS_FORMAT = 0
    PRESERVE_FORMAT = 1
    CHANNELS_LAST = 2
    CHANNELS_LAST_3D = 3

cdef class device:
    cdef int type_code
    cdef int index_code             # -1: none given
    cdef _assign(self, int type_code, int index_code)

cdef device device_from_codes(int type_code, int index_code)
cdef object default_device()        # the thread's, for factories that are given none; None: the CPU

cdef class layout:
    cdef readonly str name
    cdef readonly int code

cdef class memory_format:
    cdef readonly str name
    cdef readonly int code
