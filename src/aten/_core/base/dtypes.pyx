# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Element types and the promotion rules between them.

One table names every type; sizes, aliases, categories and the promotion lattice follow from it.
Codes are the numbers torch writes into its files, so that archives agree.
"""

cdef enum:
    BOOLEAN = 0
    INTEGRAL = 1
    FLOATING = 2
    COMPLEX = 3

# code, name, bytes, kind, aliases. `kind` says how a kernel reads the bytes.
_TYPES = (
    (0, "uint8", 1, "unsigned", ()),
    (1, "int8", 1, "signed", ()),
    (2, "int16", 2, "signed", ("short",)),
    (3, "int32", 4, "signed", ("int",)),
    (4, "int64", 8, "signed", ("long",)),
    (5, "float16", 2, "float", ("half",)),
    (6, "float32", 4, "float", ("float",)),
    (7, "float64", 8, "float", ("double",)),
    (8, "complex32", 4, "complex", ("chalf",)),
    (9, "complex64", 8, "complex", ("cfloat",)),
    (10, "complex128", 16, "complex", ("cdouble",)),
    (11, "bool", 1, "bool", ()),
    (12, "qint8", 1, "quantized", ()),
    (13, "quint8", 1, "quantized", ()),
    (14, "qint32", 4, "quantized", ()),
    (15, "bfloat16", 2, "float", ()),
    (16, "quint4x2", 1, "quantized", ()),
    (17, "quint2x4", 1, "quantized", ()),
    (18, "bits1x8", 1, "bits", ()),
    (19, "bits2x4", 1, "bits", ()),
    (20, "bits4x2", 1, "bits", ()),
    (21, "bits8", 1, "bits", ()),
    (22, "bits16", 2, "bits", ()),
    (23, "float8_e5m2", 1, "float8", ()),
    (24, "float8_e4m3fn", 1, "float8", ()),
    (25, "float8_e5m2fnuz", 1, "float8", ()),
    (26, "float8_e4m3fnuz", 1, "float8", ()),
    (27, "uint16", 2, "unsigned", ()),
    (28, "uint32", 4, "unsigned", ()),
    (29, "uint64", 8, "unsigned", ()),
    (30, "uint1", 1, "packed", ()),
    (31, "uint2", 1, "packed", ()),
    (32, "uint3", 1, "packed", ()),
    (33, "uint4", 1, "packed", ()),
    (34, "uint5", 1, "packed", ()),
    (35, "uint6", 1, "packed", ()),
    (36, "uint7", 1, "packed", ()),
    (37, "int1", 1, "packed", ()),
    (38, "int2", 1, "packed", ()),
    (39, "int3", 1, "packed", ()),
    (40, "int4", 1, "packed", ()),
    (41, "int5", 1, "packed", ()),
    (42, "int6", 1, "packed", ()),
    (43, "int7", 1, "packed", ()),
    (44, "float8_e8m0fnu", 1, "float8", ()),
    (45, "float4_e2m1fn_x2", 1, "packed", ()),
)

# Widening order inside each category; the wider of two members is their common type.
_INTEGRAL_ORDER = ("uint8", "int8", "int16", "int32", "int64")
_UNSIGNED_WIDE = ("uint16", "uint32", "uint64")
_FLOATING_ORDER = ("float16", "bfloat16", "float32", "float64")
_COMPLEX_ORDER = ("complex32", "complex64", "complex128")
_SCALAR_TYPE_NAMES = {
    "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "float32": "Float", "float64": "Double", "complex32": "ComplexHalf",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble", "bool": "Bool",
    "bfloat16": "BFloat16", "float8_e5m2": "Float8_e5m2", "float8_e4m3fn": "Float8_e4m3fn",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}
_COMPLEX_OF = {
    "float16": "complex32",
    "bfloat16": "complex64",
    "float32": "complex64",
    "float64": "complex128",
}

cdef list _BY_CODE = [None] * DTYPE_COUNT
cdef int _ITEM_SIZE[DTYPE_COUNT]
item_sizes = _ITEM_SIZE
cdef int _CATEGORY[DTYPE_COUNT]
cdef int _PROMOTION[DTYPE_COUNT][DTYPE_COUNT]
cdef int _default_code = FLOAT32


cdef class dtype:
    """The type of a tensor's elements, as torch's `dtype`: one object per type.

    Attributes: `name`, `itemsize` in bytes, `is_floating_point`, `is_complex`, `is_signed`.
    """

    def __init__(self):
        raise TypeError("dtype objects are not constructed; use aten.float32 and its like")

    @property
    def is_floating_point(self):
        return self.kind == "float" or self.kind == "float8" or self.name == "float4_e2m1fn_x2"

    @property
    def is_complex(self):
        return self.kind == "complex"

    @property
    def is_signed(self):
        return self.kind not in ("unsigned", "bool", "bits") and not self.name.startswith(
            ("uint", "quint", "float8_e8m0")
        )

    @property
    def scalar_type_name(self):
        """The name in error messages, where torch says Float for float32."""
        return _SCALAR_TYPE_NAMES.get(self.name, self.name)

    def to_real(self):
        """The type of the real part."""
        if self.category != COMPLEX:
            return self
        return dtype_from_code({8: FLOAT16, 9: FLOAT32, 10: FLOAT64}[self.code])

    def to_complex(self):
        """The complex type whose parts hold this type's values."""
        if self.category == COMPLEX:
            return self
        return DTYPES[_COMPLEX_OF.get(self.name, "complex64")]

    def __repr__(self):
        return f"aten.{self.name}"

    def __hash__(self):
        return self.code + 1

    @property
    def __numpy_dtype__(self):
        """NumPy's dtype of the same numbers, for `numpy.dtype(x.dtype)`.

        Raises AttributeError where it has none.
        """
        from aten._core.base.numpy_types import numpy_dtype

        try:
            return numpy_dtype(self)
        except TypeError as error:
            raise AttributeError(str(error)) from None

    def __reduce__(self):
        return (dtype_by_name, (self.name,))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


cdef dtype dtype_from_code(int code):
    return <dtype>_BY_CODE[code]


cdef int category_of(int code) noexcept nogil:
    return _CATEGORY[code]


cdef int promote_codes(int left, int right) noexcept nogil:
    return _PROMOTION[left][right]


cdef int default_dtype_code() noexcept nogil:
    return _default_code


def dtype_by_name(str name):
    """The dtype called `name`. Raises KeyError for unknown names."""
    return DTYPES[name]


def dtype_by_code(int code):
    """The dtype with torch's ScalarType number `code`. Raises ValueError for unknown codes."""
    if not 0 <= code < DTYPE_COUNT:
        raise ValueError(f"no dtype has the code {code}")
    return _BY_CODE[code]


def promote_types(dtype type1 not None, dtype type2 not None):
    """The smallest type that holds both, by torch's rules. Raises RuntimeError where none exists.

    Example:

        >>> aten.promote_types(aten.int32, aten.float16)
        aten.float16
    """
    cdef int code = _PROMOTION[type1.code][type2.code]
    if code >= 0:
        return _BY_CODE[code]
    if type1.name.startswith("float8") or type2.name.startswith("float8"):
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {type1.name} and "
            f"{type2.name}"
        )
    if type1.name in _UNSIGNED_WIDE or type2.name in _UNSIGNED_WIDE:
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{type1.name} and {type2.name}"
        )
    raise RuntimeError(f"promote_types: {type1.name} and {type2.name} have no common type")


def can_cast(dtype from_ not None, dtype to not None):
    """Whether a value of `from_` may be written to `to`: never to a lower category of number.

    Example:

        >>> aten.can_cast(aten.float32, aten.int64)
        False
    """
    if from_.category == COMPLEX and to.category != COMPLEX:
        return False
    if from_.category == FLOATING and to.category == INTEGRAL:
        return False
    return from_.category == BOOLEAN or to.category != BOOLEAN


def get_default_dtype():
    """The floating point type of new tensors made from Python floats.

    Example:

        >>> aten.get_default_dtype()
        aten.float32
    """
    return _BY_CODE[_default_code]


def set_default_dtype(dtype d not None):
    """Make `d`, a floating point type, the default. Raises TypeError for other types.

    Example:

        >>> aten.set_default_dtype(aten.float32)
    """
    global _default_code
    if d.kind != "float":
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _default_code = d.code


cdef _fill_tables():
    cdef dtype entry
    cdef int category
    categories = {"bool": BOOLEAN, "unsigned": INTEGRAL, "signed": INTEGRAL, "packed": INTEGRAL,
                  "float": FLOATING, "float8": FLOATING, "complex": COMPLEX}
    for code, name, size, kind, aliases in _TYPES:
        entry = dtype.__new__(dtype)
        entry.code = code
        entry.name = name
        entry.itemsize = size
        entry.kind = kind
        entry.category = categories.get(kind, -1)
        _BY_CODE[code] = entry
        _ITEM_SIZE[code] = size
        _CATEGORY[code] = entry.category
        DTYPES[name] = entry
        for alias in aliases:
            ALIASES[alias] = entry


cdef str _common_name(str left, str right):
    """The promotion lattice on names; "" where torch defines no common type."""
    if left == right:
        return left
    for first, second in ((left, right), (right, left)):
        if first == "bool" and (second in _INTEGRAL_ORDER or second in _FLOATING_ORDER
                                or second in _COMPLEX_ORDER):
            return second
        if first in _INTEGRAL_ORDER and (second in _FLOATING_ORDER or second in _COMPLEX_ORDER):
            return second
        if first in _UNSIGNED_WIDE and second in _FLOATING_ORDER:
            return second
        if first in _FLOATING_ORDER and second in _COMPLEX_ORDER:
            return _COMPLEX_ORDER[max(_COMPLEX_ORDER.index(_COMPLEX_OF[first]),
                                      _COMPLEX_ORDER.index(second))]
    if {left, right} == {"uint8", "int8"}:
        return "int16"
    if {left, right} == {"float16", "bfloat16"}:
        return "float32"
    for order in (_INTEGRAL_ORDER, _FLOATING_ORDER, _COMPLEX_ORDER):
        if left in order and right in order:
            return order[max(order.index(left), order.index(right))]
    return ""


cdef _fill_promotion():
    cdef int left, right
    for left in range(DTYPE_COUNT):
        for right in range(DTYPE_COUNT):
            _PROMOTION[left][right] = left if left == right else -1
    # All others have nothing in common with any.
    named = ("bool", *_INTEGRAL_ORDER, *_UNSIGNED_WIDE, *_FLOATING_ORDER, *_COMPLEX_ORDER)
    for first in named:
        for second in named:
            name = _common_name(first, second)
            if name:
                left, right = (<dtype>DTYPES[first]).code, (<dtype>DTYPES[second]).code
                _PROMOTION[left][right] = (<dtype>DTYPES[name]).code


DTYPES = {}
ALIASES = {}
_fill_tables()
_fill_promotion()
