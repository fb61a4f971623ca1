"""The contract of a backend: what a device brings, and `register`, which puts it in place.

A device whose memory the host cannot address, and that has no compiler of ours, is one object: an
allocator, copies, and kernels by the names of primitives or operators. Whatever has no kernel is
decomposed. A device that has a compiler but no address brings `generator` and `launch` in the
place of kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aten import registry
from aten._core.base.device import device_types, rename_device_type
from aten._core.base.keys import DispatchKey
from aten._core.dispatch.registrations import set_code_generator
from aten._core.memory.storage import set_device_allocator
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu.kernels.filling.factories import set_fill_operator
from aten.loops.target import Target

if TYPE_CHECKING:
    from aten.backends.launching import Launch, Part
    from aten.loops.program import Program

# What a device may take: primitives, the core operators, or whatever it registers.
OPSETS = ("prims", "core", "all")
COMPONENTS = {
    "PrivateUse1": "privateuseone",
    "PrivateUse2": "privateusetwo",
    "PrivateUse3": "privateusethree",
}


# A device that runs a fold as it is: nothing is cut, and nothing kept in between.
WHOLE = Target(
    chunk=1 << 62,
    least_chunks=2,
    narrow=0,
    wide=1,
    lane=1,
    least_lane=1,
    buffered=0,
    costly=1 << 30,
)


class LoopGenerator:
    """Turns programs of loops into code of a device; subclass it.

    `target` says how folds are cut for the device, and so their bits.
    """

    target: Target = WHOLE

    def __call__(self, program: Program) -> Any:
        """Code for `program`, whatever that is: `launch` gets it."""
        raise NotImplementedError(f"{type(self).__name__}: makes no code")

    def lacking(self) -> Collection[str]:
        """The optional primitives that programs are to come without."""
        return ("lookup", "rsqrt_estimate", "reciprocal_estimate")


class DeviceBackend:
    """What a device brings; subclass it.

    `name` is what programs call the device. Kernels get tensors of the device: sizes, strides and
    offset describe a window on `tensor.untyped_storage().handle`, which is what `allocate` gave.

    With `opset` "prims" the device has kernels of primitives (`kernels`), which every operator is
    decomposed to; with "core", kernels of Core ATen operators, which primitives become calls of;
    with "all" nothing is decomposed but operators made of others. Kernels of operators
    (`operators`) go before any decomposition.
    """

    name: str = ""
    opset: str = "prims"

    def allocate(self, nbytes: int, index: int) -> Any:
        """A handle to `nbytes` of memory of device `index`; it is freed when the handle dies."""
        raise NotImplementedError(f"{self.name}: no allocate")

    def copy(self, target: Any, source: Any, nbytes: int) -> None:
        """Copy the first bytes between two handles."""
        raise NotImplementedError(f"{self.name}: no copy")

    def copy_from_host(self, target: Tensor, source: Tensor) -> None:
        """Copy a CPU tensor's elements to a tensor of the device, of one dtype and shape."""
        raise NotImplementedError(f"{self.name}: no copy_from_host")

    def copy_to_host(self, target: Tensor, source: Tensor) -> None:
        """Copy a device tensor's elements to a tensor of the CPU, of one dtype and shape."""
        raise NotImplementedError(f"{self.name}: no copy_to_host")

    def copy_within(self, target: Tensor, source: Tensor) -> None:
        """Copy elements between tensors of the device, of one dtype and shape and any strides."""
        raise NotImplementedError(f"{self.name}: no copy_within")

    def synchronize(self, index: int) -> None:
        """Wait until everything asked of device `index` is done; elements are copied from it next.

        Nothing, where kernels wait themselves.
        """

    def default_stream(self, index: int) -> Any:
        """The stream of device `index` that is current until `use_stream` says another one.

        None, where there are no streams.
        """
        return None

    def generator(self) -> LoopGenerator | None:
        """What turns programs of loops into code, or None.

        Where there is one, primitives that become loops need no kernels: see `launch`.
        """
        return None

    def launch(self, launch: Launch, parts: Sequence[Part], stream: Any) -> None:
        """Ask `stream` to run the code that the generator made, on these parts of memory.

        There is one part for each operand of `launch.program`, in its order. Results are fresh,
        and nothing is read from the device before `synchronize`.
        """
        raise NotImplementedError(f"{self.name}: no launch")

    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Kernels of primitives by name: "add", "gather"."""
        return {}

    def on_host(self) -> Collection[str]:
        """Primitives that the CPU computes for the device, from copies and to copies."""
        return ()

    def operators(self) -> Mapping[str, Callable[..., Any]]:
        """Kernels of operators by qualified name: "aten::mm", "aten::add.Tensor"."""
        return {}


def register(backend: DeviceBackend, component: str = "PrivateUse1") -> None:
    """Put a backend in place, as one of the components that are free.

    Raises ValueError for a component that is not free, an unknown opset, and a kernel of a
    primitive or operator that there is none of.
    """
    if component not in COMPONENTS:
        raise ValueError(f"register: component must be one of {list(COMPONENTS)}, got {component}")
    if backend.opset not in OPSETS:
        raise ValueError(f"register: opset must be one of {OPSETS}, got {backend.opset!r}")
    if not backend.name.isidentifier():
        raise ValueError(f"register: a device needs a name that is a word, got {backend.name!r}")
    kernels = _kernels_of(backend)
    code = device_types()[COMPONENTS[component]]
    key = DispatchKey.__members__[component]
    rename_device_type(code, backend.name)
    set_device_allocator(code, backend)
    set_fill_operator(registry.operator("aten::fill_.Scalar"))
    set_code_generator(component, backend.opset != "all")
    place = f"{type(backend).__module__}:{type(backend).__qualname__}"
    for name, kernel in kernels.items():
        registry.operator(name).register(key, kernel, place)


def _kernels_of(backend: DeviceBackend) -> dict[str, Callable[..., Any]]:
    """Kernels by qualified name. Raises ValueError for names that nothing has."""
    given = {f"prims::{name}": kernel for name, kernel in _launched(backend).items()}
    given |= {f"prims::{name}": _by_host(backend, name) for name in backend.on_host()}
    given |= {f"prims::{name}": kernel for name, kernel in backend.kernels().items()}
    given.update(backend.operators())
    unknown = [name for name in given if registry.find_operator(name) is None]
    if unknown:
        raise ValueError(f"register: {backend.name} has kernels of unknown {', '.join(unknown)}")
    if backend.opset == "core":
        from aten.backends.core_set import kernels_by_operators

        direct = frozenset(backend.operators())
        given = {**kernels_by_operators(direct), **given}
    checked = {
        name: _on_one_device(name, backend.name, kernel) if name.startswith("prims::") else kernel
        for name, kernel in given.items()
    }
    checked.setdefault("prims::copy_to", _copying(backend))
    return checked


def _launched(backend: DeviceBackend) -> dict[str, Callable[..., Any]]:
    """Kernels of primitives that the device generates code for."""
    generator = backend.generator()
    if generator is None:
        return {}
    from aten.backends.launching import launched_kernels

    return launched_kernels(backend, generator)


def _by_host(backend: DeviceBackend, name: str) -> Callable[..., Any]:
    """The CPU's kernel of a primitive, on copies of what is on the device."""
    op = registry.find_operator(f"prims::{name}")

    def call(*arguments: Any, **named: Any) -> Any:
        assert op is not None
        if named.get("device") is not None:
            named["device"] = "cpu"
        made = op(*(_moved(one, "cpu") for one in arguments), **named)
        return _moved(made, backend.name)

    return call


def _moved(value: Any, place: str) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_moved(one, place) for one in value)
    return value.to(place) if isinstance(value, Tensor) else value


def _on_one_device(name: str, device: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel`, which gets tensors of its device alone. Raises RuntimeError for others."""

    def call(*arguments: Any, **named: Any) -> Any:
        for value in (*arguments, *named.values()):
            for one in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(one, Tensor) and one.device.type != device:
                    raise RuntimeError(
                        f"{name}: expected all tensors to be on the same device, {device}, but "
                        f"found one on {one.device}"
                    )
        return kernel(*arguments, **named)

    return call


def _copying(backend: DeviceBackend) -> Callable[[Tensor, Tensor], Tensor]:
    """The primitive `copy_to`, to and from the device, or from one of its tensors to another."""

    def copy_to(a: Tensor, b: Tensor) -> Tensor:
        if b.is_meta:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        if a.device.type != backend.name and not a.is_cpu:
            a.copy_(b.to("cpu"))
        elif b.device.type != backend.name and not b.is_cpu:
            backend.copy_from_host(a, b.to("cpu"))
        elif b.is_cpu:
            backend.copy_from_host(a, b)
        elif a.is_cpu:
            backend.synchronize(b.device.index or 0)
            backend.copy_to_host(a, b)
        else:
            backend.copy_within(a, b)
        return a

    return copy_to
