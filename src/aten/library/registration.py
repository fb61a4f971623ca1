"""Operators and kernels of one's own, as torch.library's.

    library = Library("my_ops", "DEF")
    library.define("scale(Tensor x, float by) -> Tensor")
    library.impl("scale", lambda x, by: x * by, "CPU")
    aten.ops.my_ops.scale(x, 2.0)

A library's registrations live as long as the library object: keep it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from aten._core.base.device import device, device_types
from aten._core.base.keys import BACKENDS, DispatchKey, parse_dispatch_key
from aten._core.dispatch.dispatcher import FallthroughKernel, Kernel, OpOverload
from aten._core.dispatch.python_kernel import PythonKernel, register_fallback
from aten._core.dispatch.python_kernel import register_kernel as add_kernel
from aten._core.dispatch.registrations import caller_place, registrations_of
from aten.registry import define as define_operator
from aten.registry import find_operator, split_name, undefine

if TYPE_CHECKING:
    from types import TracebackType

    from aten._core.base.dtypes import dtype
    from aten._core.dispatch.registrations import RegistrationHandle

_Function = TypeVar("_Function", bound=Callable[..., Any])

_KINDS = ("DEF", "IMPL", "FRAGMENT")
_RESERVED_NAMESPACES = frozenset({"prim"})

# Where each namespace was opened with DEF. That of the package's own operators is taken.
_definitions: dict[str, str] = {"aten": "aten/native_functions.yaml"}
# Libraries of the functions below, which have none to hand their registrations to.
_kept: list[Library] = []


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """Given to `Library.impl` or `Library.fallback`: calls skip the key. Never runs itself."""
    raise NotImplementedError("fallthrough_kernel() stands for skipping a key and is not callable")


class Library:
    """Definitions and kernels in the namespace `ns`, taken back when the object dies.

    `kind` is "DEF" (the one that opens a namespace), "FRAGMENT" (adds operators to any namespace)
    or "IMPL" (only kernels, by default for `dispatch_key`).

    Raises:
        ValueError: the kind is none of these, the namespace is reserved, or there is no such key.
        RuntimeError: the namespace was opened with DEF before.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}; expected one of {', '.join(_KINDS)}")
        if ns in _RESERVED_NAMESPACES and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace: choose another name for the library")
        if dispatch_key:
            parse_dispatch_key(dispatch_key)
        if kind == "DEF":
            _open_namespace(ns)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._handles: list[RegistrationHandle] = []
        self._operators: list[OpOverload] = []
        self._own: set[tuple[str, DispatchKey]] = set()
        self._last: list[Callable[[], Any]] = []
        self._close = weakref.finalize(
            self,
            _close,
            ns if kind == "DEF" else "",
            self._handles,
            self._operators,
            self._own,
            self._last,
        )
        self._close.atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._destroy()

    def _destroy(self) -> None:
        """Takes back all definitions and kernels; a second time does nothing."""
        self._close()

    def when_closed(self, action: Callable[[], Any]) -> None:
        """Runs `action` when the library's registrations are taken back."""
        self._last.append(action)

    def define(
        self, schema: str, alias_analysis: str = "", *, tags: str | Sequence[str] = ()
    ) -> str:
        """Adds an operator, such as "scale(Tensor x, float by) -> Tensor". Returns its full name.

        Raises:
            SchemaError: the schema cannot be read.
            RuntimeError: the library is for kernels only, an operator of this name exists, or
                `alias_analysis` is neither "", "FROM_SCHEMA" nor "CONSERVATIVE".
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(f"{self}: define() needs a library of kind DEF or FRAGMENT")
        schema = self._without_namespace(schema, "define")
        op = define_operator(self.ns, schema, (tags,) if isinstance(tags, str) else tuple(tags))
        self._operators.append(op)
        return op.qualified_name

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., Any] | Kernel,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Registers a kernel for a key, by default the library's, else CompositeImplicitAutograd.

        The operator may be defined later. With `with_keyset`, `fn` gets the DispatchKeySet of the
        call before the arguments.

        Raises:
            TypeError: `fn` is not callable.
            ValueError: there is no such key.
            RuntimeError: a library has registered a kernel for the key before and `allow_override`
                is off, or the operator is of another namespace.
        """
        if not isinstance(fn, Kernel) and not callable(fn):
            raise TypeError(f"impl(): fn must be callable, not {type(fn).__name__}")
        name = op_name.qualified_name if isinstance(op_name, OpOverload) else op_name
        namespace, name, overload_name = split_name(
            f"{self.ns}::{self._without_namespace(name, 'impl')}"
        )
        qualified = f"{namespace}::{name}" + (f".{overload_name}" if overload_name else "")
        key = parse_dispatch_key(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd")
        # Makes the operator, if there is one, so that the package's own kernels come first.
        find_operator(qualified)
        registrations = registrations_of(qualified)
        owned = (qualified, key)
        if owned in _owned and not allow_override:
            raise RuntimeError(
                f"{qualified} has a kernel for {key.name} already, registered at "
                f"{registrations.kernels[key][-1].provenance}; allow_override=True lets a new "
                f"one take its place"
            )
        self._handles.append(add_kernel(registrations, key, _as_kernel(fn, with_keyset)))
        _owned.add(owned)
        self._own.add(owned)

    def fallback(
        self,
        fn: Callable[..., Any] | Kernel,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
    ) -> None:
        """Registers what serves a key for operators without a kernel: `fn(op, *args, **kwargs)`.

        Raises:
            TypeError: `fn` is not callable.
            ValueError: there is no such key, it is an alias, or none is given.
            RuntimeError: the library's namespace is not "_", the one of all operators.
        """
        if self.ns != "_":
            raise RuntimeError(
                f"{self}: a fallback serves all operators and needs a library of namespace '_'"
            )
        if not isinstance(fn, Kernel) and not callable(fn):
            raise TypeError(f"fallback(): fn must be callable, not {type(fn).__name__}")
        name = dispatch_key or self.dispatch_key
        if not name:
            raise ValueError(f"{self}: fallback() needs a dispatch_key")
        kernel = _as_kernel(fn, with_keyset, with_op=True)
        self._handles.append(register_fallback(parse_dispatch_key(name), kernel))

    def _without_namespace(self, text: str, method: str) -> str:
        head, parenthesis, _ = text.partition("(")
        namespace, colons, _ = head.rpartition("::")
        if not colons:
            return text
        if namespace != self.ns:
            raise RuntimeError(
                f"{self}: {method}() got {head + parenthesis!r} of the namespace '{namespace}'"
            )
        return text[len(namespace) + 2 :]


# Operator and key of all kernels that libraries have registered.
_owned: set[tuple[str, DispatchKey]] = set()


def _open_namespace(ns: str) -> None:
    if ns in _definitions:
        raise RuntimeError(
            f"the namespace {ns} was opened with DEF at {_definitions[ns]} already: use FRAGMENT"
        )
    _definitions[ns] = caller_place()


def _close(
    opened: str,
    handles: list[RegistrationHandle],
    operators: list[OpOverload],
    own: set[tuple[str, DispatchKey]],
    last: list[Callable[[], Any]],
) -> None:
    for handle in handles:
        handle.destroy()
    for op in operators:
        undefine(op)
    _owned.difference_update(own)
    _definitions.pop(opened, None)
    for action in last:
        action()
    for kept in (handles, operators, own, last):
        kept.clear()


def _as_kernel(fn: Callable[..., Any] | Kernel, with_keyset: bool, with_op: bool = False) -> Kernel:
    if isinstance(fn, Kernel):
        return fn
    if fn is fallthrough_kernel:
        return FallthroughKernel()
    return PythonKernel(fn, with_keyset, with_op)


@contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    with Library(ns, kind, dispatch_key) as library:
        yield library


def library_of(namespace: str) -> Library:
    for library in _kept:
        if library.ns == namespace:
            return library
    _kept.append(Library(namespace, "FRAGMENT"))
    return _kept[-1]


def define(
    qualname: str, schema: str, *, lib: Library | None = None, tags: str | Sequence[str] = ()
) -> None:
    """Adds the operator `qualname` ("my_ops::scale") with the schema "(Tensor x) -> Tensor".

    Without `lib` it stays for good. Raises ValueError where `qualname` has no namespace.
    """
    namespace, colons, name = qualname.partition("::")
    if not colons:
        raise ValueError(f"define(): expected a name like 'my_ops::scale', got {qualname!r}")
    library = library_of(namespace) if lib is None else lib
    library.define(name + schema, tags=tags)


def key_of_device_type(device_type: str) -> str:
    """The dispatch key of a device type's dense tensors; "default" stands for all of them.

    Raises:
        RuntimeError: there is no such device type.
    """
    if device_type == "default":
        return "CompositeExplicitAutograd"
    if device_type in DispatchKey.__members__:
        return device_type
    code = device_types()[device(device_type).type]
    return next(backend for backend, backend_code in BACKENDS if backend_code == code)


def impl(
    qualname: str,
    types: str | Iterable[str],
    func: _Function | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers `func` for device types ("cpu", "default" for all) or dispatch keys.

    Without `func` it is a decorator.
    """

    def register(function: _Function) -> _Function:
        library = library_of(split_name(qualname)[0]) if lib is None else lib
        names = [types] if isinstance(types, str) else list(types)
        for key in sorted({key_of_device_type(name) for name in names}):
            library.impl(qualname, function, key)
        return function

    return register if func is None else register(func)


def register_kernel(
    op: str | OpOverload | NamedOperator,
    device_types: str | Iterable[str] | None,
    func: _Function | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers `func` for the dense tensors of device types; None stands for all of them.

    Without `func` it is a decorator.
    """
    return impl(name_of(op), "default" if device_types is None else device_types, func, lib=lib)


def register_fake(
    op: str | OpOverload | NamedOperator,
    func: _Function | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers what the operator gives for tensors without data: the Meta key's kernel.

    Without `func` it is a decorator.
    """
    return impl(name_of(op), "Meta", func, lib=lib)


def register_autocast(
    op: str | OpOverload | NamedOperator,
    device_type: str,
    cast_inputs: dtype,
    /,
    *,
    lib: Library | None = None,
) -> None:
    """Has the operator get floating-point tensors as `cast_inputs` in autocast regions.

    Raises ValueError for device types other than "cpu", which has no such regions.
    """
    from aten.autograd.casting import conversion

    if device_type != "cpu":
        raise ValueError(
            f"register_autocast(): expected the device type 'cpu', not {device_type!r}"
        )
    qualified = name_of(op)
    library = library_of(split_name(qualified)[0]) if lib is None else lib
    library.impl(qualified, conversion(lambda: cast_inputs), "AutocastCPU")


class NamedOperator(Protocol):
    """What stands for an operator, such as what `custom_op` makes."""

    _qualname: str


def name_of(op: str | OpOverload | NamedOperator) -> str:
    """The qualified name of what users give for an operator."""
    if isinstance(op, str):
        return op
    return op.qualified_name if isinstance(op, OpOverload) else op._qualname
