# cython: language_level=3
"""device, layout and memory_format objects; the thread's default device."""

from threading import local

_DEVICE_TYPES = {
    "cpu": CPU, "cuda": CUDA, "hip": HIP, "xla": XLA, "vulkan": VULKAN, "xpu": XPU, "mps": MPS,
    "meta": META, "hpu": HPU, "lazy": LAZY, "mtia": MTIA, "privateuseone": PRIVATEUSE1,
    "privateusetwo": PRIVATEUSE2, "privateusethree": PRIVATEUSE3, "reference": REFERENCE,
}
_DEVICE_NAMES = {code: name for name, code in _DEVICE_TYPES.items()}
_devices = {}


cdef class device:
    """Where a tensor's memory lives, as torch's `device("cuda:1")` or `device("cuda", 1)`.

    Raises RuntimeError for an unknown device type or a malformed index.
    """

    def __init__(self, type, index=None):
        if isinstance(type, device) and index is None:
            self._assign((<device>type).type_code, (<device>type).index_code)
            return
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        name, colon, suffix = type.partition(":")
        if colon and index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed "
                               f"explicitly: {type}")
        if colon:
            if not suffix.isdecimal() or (len(suffix) > 1 and suffix[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(suffix)
        if name not in _DEVICE_TYPES:
            raise RuntimeError(f"Expected one of {', '.join(_DEVICE_TYPES)} device type at start "
                               f"of device string: {type}")
        if index is not None and not 0 <= index <= 127:
            raise RuntimeError(f"Device index must be between 0 and 127, got {index}")
        self._assign(_DEVICE_TYPES[name], -1 if index is None else index)

    cdef _assign(self, int type_code, int index_code):
        self.type_code = type_code
        self.index_code = index_code

    @property
    def type(self):
        return _DEVICE_NAMES[self.type_code]

    @property
    def index(self):
        return None if self.index_code < 0 else self.index_code

    def __repr__(self):
        if self.index_code < 0:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index_code})"

    def __str__(self):
        return self.type if self.index_code < 0 else f"{self.type}:{self.index_code}"

    def __eq__(self, other):
        if not isinstance(other, device):
            return NotImplemented
        return (self.type_code == (<device>other).type_code
                and self.index_code == (<device>other).index_code)

    def __hash__(self):
        return self.type_code * 256 + self.index_code + 1

    def __reduce__(self):
        return (device, (str(self),))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __enter__(self):
        """Within, factories of this thread that are given no device make tensors here."""
        _thread.earlier = [*getattr(_thread, "earlier", ()), getattr(_thread, "place", None)]
        set_thread_device(self)
        return self

    def __exit__(self, *exc_info):
        set_thread_device(_thread.earlier.pop())


# `place` is what factories use that are given no device; `earlier` what the blocks around used.
_thread = local()
# Whether any thread has ever had a default device: the others need not look.
cdef bint _defaults_in_use = False


def set_thread_device(place):
    """Let factories of this thread that are given no device use `place`; None: the CPU again."""
    global _defaults_in_use
    if place is not None:
        _defaults_in_use = True
    _thread.place = place


def thread_device():
    """What `set_thread_device` set in this thread, or None."""
    return default_device()


cdef object default_device():
    return getattr(_thread, "place", None) if _defaults_in_use else None


cdef device device_from_codes(int type_code, int index_code):
    cdef device made
    key = type_code * 256 + index_code
    found = _devices.get(key)
    if found is not None:
        return <device>found
    made = device.__new__(device)
    made._assign(type_code, index_code)
    return <device>_devices.setdefault(key, made)


def rename_privateuse1_backend(str name not None):
    """Let `name` stand for the device type privateuseone, in device strings and in print."""
    rename_device_type(PRIVATEUSE1, name)


def rename_device_type(int code, str name not None):
    """Let `name` stand for one of the device types that are free, in device strings and in print.

    Raises RuntimeError where another device type has the name, or the type is not free.
    """
    if code < PRIVATEUSE1 or code > PRIVATEUSE3:
        raise RuntimeError(f"rename_device_type: {code} is not a device type that is free")
    if _DEVICE_TYPES.get(name, code) != code:
        raise RuntimeError(f"rename_device_type: '{name}' names a device type already")
    _DEVICE_TYPES[name] = code
    _DEVICE_NAMES[code] = name


def device_types():
    """Every device type's name, with its code."""
    return dict(_DEVICE_TYPES)


cdef class layout:
    """How elements are kept: strided, or one of the sparse layouts."""

    def __repr__(self):
        return f"aten.{self.name}"

    def __reduce__(self):
        return (_layout_named, (self.name,))


cdef class memory_format:
    """The order of dimensions in memory asked of an operator."""

    def __repr__(self):
        return f"aten.{self.name}"

    def __reduce__(self):
        return (_memory_format_named, (self.name,))


cdef _make_layout(str name, int code):
    cdef layout made = layout.__new__(layout)
    made.name = name
    made.code = code
    return made


cdef _make_memory_format(str name, int code):
    cdef memory_format made = memory_format.__new__(memory_format)
    made.name = name
    made.code = code
    return made


def _layout_named(str name):
    return LAYOUTS[name]


def _memory_format_named(str name):
    return MEMORY_FORMATS[name]


LAYOUTS = {name: _make_layout(name, code) for code, name in enumerate(
    ("strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc",
     "jagged"))}
MEMORY_FORMATS = {name: _make_memory_format(name, code) for code, name in enumerate(
    ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"))}
