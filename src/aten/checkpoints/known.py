"""The globals that a checkpoint may name, and what each stands for. All others are refused."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from aten import copying
from aten._core.base.device import LAYOUTS, device
from aten._core.base.dtypes import ALIASES, DTYPES, dtype
from aten._core.base.sizes import Size
from aten._core.memory.storage import Storage
from aten._core.tensor.tensor import Tensor
from aten.checkpoints.machine import Maker, checked_keys
from aten.nn.parameter import Parameter
from aten.registry import ops

__all__ = ["STORAGE_TYPES", "UNTYPED", "Globals"]

# Storages with a type, by the type: what torch has written since long before there were others.
STORAGE_TYPES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}
UNTYPED = ("torch.storage", "UntypedStorage")
_ELEMENTS = {name: DTYPES[element] for element, name in STORAGE_TYPES.items()}
_BUILTINS = ("__builtin__", "builtins")


def _integers(given: Any, what: str) -> tuple[int, ...]:
    if not isinstance(given, tuple) or not all(type(one) is int for one in given):
        raise UnpicklingError(f"load: {what} must be a tuple of ints")
    return given


def _kind(given: Any, kind: type, what: str) -> Any:
    if not isinstance(given, kind):
        raise UnpicklingError(f"load: {what} must be a {kind.__name__}, not {type(given).__name__}")
    return given


def _set(items: Any) -> set[Any]:
    return set(checked_keys(_kind(items, list, "what a set is made of")))


def _ordered(*items: Any) -> OrderedDict[Any, Any]:
    pairs = _kind(items[0] if items else [], list, "what an OrderedDict is made of")
    if not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in pairs):
        raise UnpicklingError("load: an OrderedDict must be made of pairs")
    checked_keys(one[0] for one in pairs)
    return OrderedDict((key, value) for key, value in pairs)


def _counter(items: Any) -> Counter[Any]:
    return Counter(_kind(items, dict, "what a Counter is made of"))


def _bytearray(contents: Any = b"", encoding: Any = None) -> bytearray:
    if isinstance(contents, str) and encoding == "latin-1":
        contents = contents.encode("latin-1")
    return bytearray(_kind(contents, bytes, "what a bytearray is made of"))


def _encode(text: Any, encoding: Any) -> bytes:
    """Bytes, as pickles of protocol 2 hold them."""
    if encoding not in ("latin1", "latin-1"):
        raise UnpicklingError("load: _codecs.encode is for latin1 only")
    return str(_kind(text, str, "a text")).encode("latin-1")


def _layout(name: Any) -> Any:
    found = LAYOUTS.get(str(_kind(name, str, "a layout")).removeprefix("torch."))
    if found is None:
        raise UnpicklingError(f"load: the layout {name} is not here")
    return found


class Globals:
    """What names stand for in one file; `elements` has the types of storages by their id."""

    def __init__(self) -> None:
        self.elements: dict[int, dtype] = {}
        makers: dict[tuple[str, str], Callable[..., Any]] = {
            ("collections", "OrderedDict"): _ordered,
            ("collections", "Counter"): _counter,
            ("_codecs", "encode"): _encode,
            ("torch", "Size"): lambda sizes: Size(_integers(sizes, "a Size")),
            ("torch", "device"): device,
            ("torch.serialization", "_get_layout"): _layout,
            ("torch._utils", "_rebuild_tensor"): self._tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_tensor_v3"): self._tensor_with_type,
            ("torch._utils", "_rebuild_meta_tensor_no_storage"): self._without_data,
            ("torch._utils", "_rebuild_parameter"): self._parameter,
            ("torch._utils", "_rebuild_parameter_with_state"): self._parameter,
            ("torch._tensor", "_rebuild_from_type_v2"): self._with_attributes,
        }
        for module in _BUILTINS:
            makers |= {
                (module, "set"): _set,
                (module, "complex"): self._complex,
                (module, "bytearray"): _bytearray,
                (module, "bytes"): lambda: b"",
            }
        self.known: dict[tuple[str, str], Any] = {
            name: Maker(".".join(name), make) for name, make in makers.items()
        }
        for name in _ELEMENTS:
            self.known["torch", name] = Maker(f"torch.{name}", _refused(name))
        self.known[UNTYPED] = Maker(".".join(UNTYPED), _refused(UNTYPED[1]))
        self.known["torch", "Tensor"] = Maker("torch.Tensor", _refused("Tensor"))
        place = "torch.nn.parameter"
        self.known[place, "Parameter"] = Maker(f"{place}.Parameter", _refused("Parameter"))
        for name, element in {**DTYPES, **ALIASES}.items():
            self.known["torch", name] = element

    def find(self, module: str, name: str) -> Any:
        """What a global stands for. Raises UnpicklingError for all that is not known."""
        found = self.known.get((module, name))
        if found is None:
            raise UnpicklingError(
                f"load: the file names {module}.{name}, which is refused: a checkpoint has "
                f"tensors, numbers, texts and containers, and nothing of it is executed"
            )
        return found

    def element_of(self, storage_type: Any) -> dtype | None:
        """The type of a storage's elements; None of an untyped one. Raises UnpicklingError."""
        name = storage_type.name if isinstance(storage_type, Maker) else ""
        if name == ".".join(UNTYPED):
            return None
        found = _ELEMENTS.get(name.removeprefix("torch."))
        if found is None:
            raise UnpicklingError("load: the file has a storage of a type that is none")
        return found

    def _tensor(
        self,
        storage: Any,
        offset: Any,
        sizes: Any,
        strides: Any,
        requires_grad: Any = False,
        hooks: Any = None,
        metadata: Any = None,
    ) -> Tensor:
        element = self.elements.get(id(storage))
        if element is None:
            raise UnpicklingError("load: a tensor has no storage with a type")
        window = (storage, offset, sizes, strides, requires_grad, hooks)
        return self._tensor_with_type(*window, element, metadata)

    def _tensor_with_type(
        self,
        storage: Any,
        offset: Any,
        sizes: Any,
        strides: Any,
        requires_grad: Any,
        hooks: Any,
        element: Any,
        metadata: Any = None,
    ) -> Tensor:
        _integers((offset,), "a tensor's offset")
        flags = {} if metadata is None else _kind(metadata, dict, "what is said of a tensor")
        if not set(flags) <= {"conj", "neg"}:
            raise UnpicklingError(f"load: a tensor is said to be {sorted(map(str, flags))}")
        return copying.rebuild(
            _kind(storage, Storage, "a tensor's storage"),
            _kind(element, dtype, "a tensor's type"),
            _integers(sizes, "a tensor's sizes"),
            _integers(strides, "a tensor's strides"),
            offset,
            Tensor,
            flags.get("conj") is True,
            flags.get("neg") is True,
            requires_grad is True,
        )

    def _without_data(self, element: Any, sizes: Any, strides: Any, requires_grad: Any) -> Tensor:
        made: Tensor = ops.aten.empty_strided(
            _integers(sizes, "a tensor's sizes"),
            _integers(strides, "a tensor's strides"),
            dtype=_kind(element, dtype, "a tensor's type"),
            device="meta",
        )
        return made.requires_grad_(requires_grad is True)

    def _parameter(self, data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> Parameter:
        made = Parameter(_kind(data, Tensor, "a parameter's data"), requires_grad is True)
        _attribute(made, state)
        return made

    def _with_attributes(self, maker: Any, kind: Any, arguments: Any, state: Any) -> Any:
        wanted = kind.name if isinstance(kind, Maker) else type(kind).__name__
        if wanted not in ("torch.Tensor", "torch.nn.parameter.Parameter"):
            raise UnpicklingError(f"load: tensors of the type {wanted} are refused")
        if not isinstance(maker, Maker) or maker.make == self._with_attributes:
            raise UnpicklingError("load: what makes a tensor is no function that does")
        made = _kind(maker.make(*_kind(arguments, tuple, "arguments")), Tensor, "what is made")
        _attribute(made, state)
        return made

    def _complex(self, real: Any, imaginary: Any) -> complex:
        return complex(_kind(real, float, "a part"), _kind(imaginary, float, "a part"))


def _attribute(made: Tensor, state: Any) -> None:
    """Let the tensor have the attributes of its state, none of them its type's."""
    own = state[0] if isinstance(state, tuple) and len(state) == 2 else state
    for name, value in _kind({} if own is None else own, dict, "a tensor's state").items():
        if not isinstance(name, str) or hasattr(type(made), name):
            raise UnpicklingError(f"load: a tensor's state would hide {name!r}")
        setattr(made, name, value)


def _refused(name: str) -> Callable[..., Any]:
    def make(*arguments: Any) -> Any:
        raise UnpicklingError(f"load: the file calls {name}, which is refused")

    return make
