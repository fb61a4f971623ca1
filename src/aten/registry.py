"""Every operator by name: the generated table's and the user's, made when first asked for.

A packet (`add`) is cheap and made at import; its overloads (`add.Tensor`) come into being, and get
their kernels, when one of them is first looked at; their schemas are parsed when first called.
"""

from __future__ import annotations

import sys
from threading import RLock

from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES
from aten._core.dispatch.dispatcher import Kernel, OpOverload, set_packet_lookup
from aten._core.dispatch.packets import (
    MethodDescriptor,
    OpOverloadPacket,
    set_description,
    set_place_lookup,
)
from aten._core.dispatch.registrations import caller_place
from aten._core.tensor.construct import empty_strided
from aten._core.tensor.tensor import Tensor, install_attribute
from aten._core.tensor.tensor_impl import TensorImpl
from aten._core.threads import forks
from aten.suggestions import suggestion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from aten._generated.operators import AtenOperators

    Installer = Callable[[OpOverload], None]

USER_DEFINED = "user"

_operators: dict[str, OpOverload] = {}
# Operators that are getting their kernels, for the thread that holds the lock: installers look at
# other operators, and these at the first. They are everybody's once all of them are complete.
_unfinished: dict[str, OpOverload] = {}
_lock = RLock()
forks.hold(_lock)
_packets: dict[tuple[str, str], OpOverloadPacket] = {}
# Overloads defined at run time, by packet; the generated ones are in the table.
_defined: dict[tuple[str, str], list[str]] = {}
_installers: dict[str, list[Installer]] = {}
# What defines the operators of a namespace that nobody has asked for yet.
_loaders: dict[str, Callable[[], None]] = {}
_loading: set[str] = set()


class Entry:
    """What the registry knows of an operator besides its schema."""

    __slots__ = ("base", "function", "kind", "options", "variant")

    def __init__(
        self,
        kind: str,
        variant: str = "",
        base: str = "",
        function: str = "",
        options: dict[str, object] | None = None,
    ) -> None:
        self.kind = kind
        self.variant = variant
        self.base = base
        self.function = function
        self.options: dict[str, object] = options or {}

    @property
    def tags(self) -> tuple[str, ...]:
        tags = self.options.get("tags", ())
        assert isinstance(tags, tuple)
        return tags


def split_name(qualified: str) -> tuple[str, str, str]:
    """Namespace, name and overload of "aten::add.Tensor"; without "::" the namespace is aten."""
    namespace, colons, rest = qualified.rpartition("::")
    name, _, overload = rest.partition(".")
    return (namespace if colons else "aten"), name, ("" if overload == "default" else overload)


def operator(qualified: str) -> OpOverload:
    """The operator of this name: "aten::add.Tensor", "add.Tensor", "my_ops::scale".

    Raises:
        LookupError: there is none.
    """
    found = find_operator(qualified)
    if found is None:
        raise LookupError(f"there is no operator {qualified}")
    return found


def find_operator(qualified: str) -> OpOverload | None:
    """Like `operator`, but None where there is none."""
    namespace, name, overload = split_name(qualified)
    _load(namespace)
    key = f"{name}.{overload}" if overload else name
    found = _operators.get(f"{namespace}::{key}")
    if found is not None:
        return found
    with _lock:
        # Another thread may have made it meanwhile.
        unfinished = _unfinished.get(f"{namespace}::{key}")
        found = _operators.get(f"{namespace}::{key}", unfinished)
        return found if found or namespace != "aten" else _from_table(name, overload, key)


def _from_table(name: str, overload: str, key: str) -> OpOverload | None:
    from aten._generated.table import OPERATORS

    row = OPERATORS.get(key)
    if row is None:
        return None
    schema_text, kind, variant, base, function, options = row
    entry = Entry(kind, variant, base, function, options)
    return _materialize(OpOverload("aten", name, overload, schema_text, entry))


def _materialize(op: OpOverload) -> OpOverload:
    with _lock:
        outermost = not _unfinished
        _unfinished[op.qualified_name] = op
        try:
            for installer in _installers.get(op.entry.kind, ()):
                _install(installer, op)
            if outermost:
                _operators.update(_unfinished)
        finally:
            if outermost:
                _unfinished.clear()
    return op


def _install(installer: Installer, op: OpOverload) -> None:
    earlier = set(_kernels_of(op))
    installer(op)
    op.adopt(kernel for kernel in _kernels_of(op) if kernel not in earlier)


def _kernels_of(op: OpOverload) -> list[Kernel]:
    # Registrations replace what holds them.
    return [kernel for kernels in op.registrations.kernels.values() for kernel in kernels]


def register_kind(kind: str, installer: Installer) -> None:
    """Has `installer` put kernels into every operator of `kind`, now and later, once each."""
    _installers.setdefault(kind, []).append(installer)
    for op in tuple(_operators.values()):
        if op.entry.kind == kind:
            _install(installer, op)


def find_packet(namespace: str, name: str) -> OpOverloadPacket | None:
    """The packet `namespace::name`, or None where no operator has this name."""
    found = _packets.get((namespace, name))
    if found is not None:
        return found
    if not _overload_names(namespace, name):
        return None
    return _make_packet(namespace, name)


def packet(namespace: str, name: str) -> OpOverloadPacket:
    """The packet `namespace::name`. Raises LookupError where no operator has this name."""
    found = find_packet(namespace, name)
    if found is None:
        raise LookupError(f"there is no operator {namespace}::{name}")
    return found


def _make_packet(namespace: str, name: str) -> OpOverloadPacket:
    made = _packets[namespace, name] = OpOverloadPacket(namespace, name, _overloads)
    return made


def register_namespace(name: str, load: Callable[[], None]) -> None:
    """Has `load` define the operators of namespace `name` when one is first asked for."""
    _loaders[name] = load


def _load(namespace: str) -> None:
    if namespace not in _loaders:
        return
    with _lock:
        load = _loaders.get(namespace)
        if load is None or namespace in _loading:
            return
        _loading.add(namespace)
        try:
            load()
        finally:
            _loading.discard(namespace)
        del _loaders[namespace]


def _overload_names(namespace: str, name: str) -> tuple[str, ...]:
    _load(namespace)
    defined = tuple(_defined.get((namespace, name), ()))
    if namespace != "aten":
        return defined
    from aten._generated.names import PACKETS

    return (*PACKETS.get(name, ()), *defined)


def operators_tagged(tag: str) -> list[OpOverload]:
    """The operators of the generated table with this tag."""
    from aten._generated.table import OPERATORS

    found = []
    for key, row in OPERATORS.items():
        tags = row[5].get("tags", ())
        assert isinstance(tags, tuple)
        if tag in tags:
            found.append(operator(f"aten::{key}"))
    return found


def _overloads(packet: OpOverloadPacket) -> list[OpOverload]:
    names = _overload_names(packet.namespace, packet.name)
    return [operator(f"{packet.namespace}::{name}") for name in names]


def define(
    namespace: str, schema_text: str, tags: tuple[str, ...] = (), kind: str = USER_DEFINED
) -> OpOverload:
    """Adds an operator; its schema is without namespace: "scale(Tensor x, float by) -> Tensor".

    Raises:
        SchemaError: the text is no schema.
        RuntimeError: there is an operator of this name.
    """
    from aten.schema import FunctionSchema

    schema = FunctionSchema.parse(f"{namespace}::{schema_text}")
    name, overload = schema.name.name, schema.name.overload
    key = f"{name}.{overload}" if overload else name
    place = caller_place()
    with _lock:
        earlier = find_operator(f"{namespace}::{key}")
        if earlier is not None:
            raise RuntimeError(
                f"{namespace}::{key} is defined already, at {earlier.entry.options.get('place')}, "
                f"with the schema {earlier.schema_text}"
            )
        text = str(schema).removeprefix(f"{namespace}::")
        entry = Entry(kind, schema.kind, options={"tags": tags, "place": place})
        op = _materialize(OpOverload(namespace, name, overload, text, entry))
        _defined.setdefault((namespace, name), []).append(key)
    _refresh(namespace, name)
    return op


def undefine(op: OpOverload) -> None:
    """Takes back a `define`. An operator still held by someone has no kernels from then on."""
    namespace, name = op.namespace, op.name
    key = op.qualified_name.partition("::")[2]
    if key not in _defined.get((namespace, name), ()):
        raise ValueError(f"{op.qualified_name} was not defined at run time")
    _defined[namespace, name].remove(key)
    del _operators[op.qualified_name]
    op.detach()
    _refresh(namespace, name)
    if not _overload_names(namespace, name):
        _packets.pop((namespace, name), None)
        vars(getattr(ops, namespace)).pop(name, None)


def _refresh(namespace: str, name: str) -> None:
    known = _packets.get((namespace, name))
    if known is not None:
        known.refresh()


def materialized() -> tuple[OpOverload, ...]:
    """The operators made so far."""
    return tuple(_operators.values())


def are_as_made(names: Collection[str]) -> bool:
    """Whether calls of these operators with tensors of the host end in the kernels they came with:
    those that nobody has looked at do."""
    sample = empty_strided((0,), (1,), DTYPES["float32"], device("cpu"))
    return all(op.is_plain(sample) for op in materialized() if op.qualified_name in names)


def functions() -> dict[str, OpOverloadPacket]:
    """The packets that are functions of the package, by name."""
    from aten._generated.names import FUNCTIONS

    return {name: _listed_packet(name) for name in FUNCTIONS}


def install_methods() -> None:
    """Makes operators methods of Tensor, except where Tensor has its own of that name."""
    from aten._generated.names import METHODS

    own = vars(Tensor).keys() | vars(TensorImpl).keys()
    for name in METHODS:
        if name not in own:
            install_attribute(name, MethodDescriptor(_listed_packet(name)))


def _listed_packet(name: str) -> OpOverloadPacket:
    """The packet of an operator that the table has."""
    return _packets.get(("aten", name)) or _make_packet("aten", name)


class Namespace:
    """The operators of one namespace: `aten.ops.aten`."""

    def __init__(self, name: str) -> None:
        self.__name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        found = find_packet(self.__name, name)
        if found is None:
            near = "" if name.startswith("_") else suggestion(name, dir(self))
            raise AttributeError(f"namespace '{self.__name}' has no operator '{name}'{near}")
        # Found by the ordinary lookup from now on.
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        _load(self.__name)
        names = {name for namespace, name in _defined if namespace == self.__name}
        if self.__name == "aten":
            from aten._generated.names import PACKETS

            names.update(PACKETS)
        return sorted(names)

    def __repr__(self) -> str:
        return f"<namespace {self.__name} of operators>"


class Namespaces:
    """All operators: `aten.ops.<namespace>.<name>.<overload>`."""

    if TYPE_CHECKING:
        aten: AtenOperators

    def __getattr__(self, name: str) -> Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        made = Namespace(name)
        setattr(self, name, made)
        return made

    def __dir__(self) -> list[str]:
        return sorted({"aten", *_loaders, *(namespace for namespace, _ in _defined)})


# The modules that show operators by what follows a prefix.
_PREFIXES = {"linalg_": "aten.linalg", "fft_": "aten.fft", "special_": "aten.special"}


def place(namespace: str, name: str) -> tuple[str, str]:
    """The module and the name by which users find an operator: ("aten.linalg", "svd")."""
    from aten._generated.names import FUNCTIONS

    if namespace == "aten":
        for prefix, module in _PREFIXES.items():
            if name.startswith(prefix):
                return module, name.removeprefix(prefix)
        if name in FUNCTIONS:
            return "aten", name
    return f"aten.ops.{namespace}", name


class _Description:
    """What packets tell of themselves, written when somebody asks for it."""

    def documentation(self, packet: OpOverloadPacket, *, is_method: bool = False) -> str:
        from aten.documentation import documentation_of

        return documentation_of(packet, is_method=is_method)

    def signature(self, packet: OpOverloadPacket, *, is_method: bool = False) -> object:
        from aten.documentation import signature_of

        return signature_of(packet, is_method=is_method)


ops = Namespaces()
set_packet_lookup(packet)
set_place_lookup(place)
set_description(_Description())


def prefixed_functions(
    module: str, prefix: str, others: tuple[str, ...] = ()
) -> tuple[Callable[[str], OpOverloadPacket], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module that shows operators `<prefix><name>` as `<name>`.

    `others` are operators that it shows by their own names.
    """

    def find(name: str) -> OpOverloadPacket:
        from aten._generated.names import PACKETS

        operator = name if name in others else prefix + name
        found = None if name.startswith("_") else find_packet("aten", operator)
        if found is None:
            near = "" if name.startswith("_") else suggestion(name, names())
            raise AttributeError(f"module '{module}' has no attribute '{name}'{near}")
        if operator in PACKETS:
            # Found by the ordinary lookup from now on; what users define, they may take back.
            setattr(sys.modules[module], name, found)
        return found

    def names() -> list[str]:
        from aten._generated.names import PACKETS

        inner = {"annotations", "names_of", "prefixed_functions"}
        own = {name for name in vars(sys.modules[module]) if name not in inner}
        shown = {
            name.removeprefix(prefix)
            for name in PACKETS
            if name.startswith(prefix) and not name.endswith("_") and name[len(prefix)] != "_"
        }
        return sorted({*own, *shown, *others})

    return find, names
