"""Modules and parameters in sequences and by key."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Self

from aten._core.tensor.tensor import Tensor
from aten.nn.modules.module import Module
from aten.nn.parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Numbered(Module):
    """Modules by place: "0", "1", …"""

    def _place(self, index: int) -> int:
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"there is no module at index {index}")
        return index % count

    def _set(self, modules: Iterable[Module]) -> None:
        self._modules.clear()
        for number, module in enumerate(modules):
            self.add_module(str(number), module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        listed = list(self._modules.values())
        if isinstance(index, slice):
            return self._made(listed[index])
        return listed[self._place(index)]

    def _made(self, modules: list[Module]) -> Any:
        return type(self)(modules)  # type: ignore[call-arg]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, list(self._modules)[self._place(index)], module)

    def __delitem__(self, index: Any) -> None:
        listed = list(self._modules.values())
        del listed[index if isinstance(index, slice) else self._place(index)]
        self._set(listed)

    def append(self, module: Module) -> Self:
        """One more, at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Several more, at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """One more, before `index`."""
        listed = list(self._modules.values())
        listed.insert(index, module)
        self._set(listed)

    def pop(self, index: int = -1) -> Module:
        """Take one out."""
        found: Module = self[index]
        del self[index]
        return found


class Sequential(_Numbered):
    """Modules called one after another, each with what the one before gave."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self._set(args)

    def _made(self, modules: list[Module]) -> Any:
        names = {id(module): name for name, module in self._modules.items()}
        return type(self)({names[id(module)]: module for module in modules})

    def __add__(self, other: Any) -> Sequential:
        self._check_added(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        self._check_added(other)
        return self.extend(other)

    def __mul__(self, times: Any) -> Sequential:
        self._check_times(times)
        return Sequential(*(module for _ in range(times) for module in self))

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> Self:
        self._check_times(times)
        return self.extend([module for _ in range(times - 1) for module in self])

    def insert(self, index: int, module: Module) -> Self:  # type: ignore[override]
        """One more, before `index`. Raises IndexError where there is no such place."""
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Sequential.insert: index {index} is out of range for {count}")
        super().insert(index, module)
        return self

    def _check_added(self, other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"Sequential: only a Sequential can be added, not {type(other).__name__}"
            )

    def _check_times(self, times: Any) -> None:
        if not isinstance(times, int):
            raise TypeError(f"Sequential: it is repeated an int of times, not {times!r}")
        if times <= 0:
            raise ValueError(f"Sequential: it is repeated at least once, not {times} times")

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Numbered):
    """Modules in a list, which is not called itself."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self._set(modules or ())

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        if not len(self):
            return f"{self._get_name()}()"
        lines: list[str] = []
        first = 0
        for shown, alike in groupby(repr(module) for module in self):
            count = len(list(alike))
            several = f"({first}-{first + count - 1}): {count} x {shown}"
            line = several if count > 1 else f"({first}): {shown}"
            lines.append(line.replace("\n", "\n  "))
            first += count
        return "\n  ".join([f"{self._get_name()}(", *lines]) + "\n)"


class ModuleDict(Module):
    """Modules by key, which is not called itself."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take one out."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The keys, in order."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules, in order."""
        return self._modules.values()

    def items(self) -> Any:
        """Keys and modules, in order."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Put in modules of a mapping, or of pairs."""
        for key, module in dict(modules).items():
            self[key] = module


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and type(value) is Tensor else value


class ParameterList(Module):
    """Parameters in a list; tensors become parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def _name(self, index: int) -> str:
        if not -self._size <= index < self._size:
            raise IndexError(f"there is no module at index {index}")
        return str(index % self._size)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[place] for place in range(*index.indices(self._size))])
        return getattr(self, self._name(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[place] for place in range(self._size))

    def append(self, value: Any) -> Self:
        """One more, at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Several more, at the end. Raises TypeError for one tensor."""
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise TypeError(
                f"ParameterList.extend: expected parameters one after the other, got a "
                f"{type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList: parameters in a list are not called")

    def extra_repr(self) -> str:
        return _listed(enumerate(self))


class ParameterDict(Module):
    """Parameters by key; tensors become parameters."""

    def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update(parameters or {})

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def keys(self) -> Any:
        """The keys, in order."""
        return self._keys.keys()

    def values(self) -> Any:
        """The parameters, in order."""
        return [self[key] for key in self._keys]

    def items(self) -> Any:
        """Keys and parameters, in order."""
        return [(key, self[key]) for key in self._keys]

    def update(self, parameters: Any) -> None:
        """Put in parameters of a mapping, or of pairs; those of plain mappings sorted by key.

        Raises TypeError for what is neither, and for pairs that are none.
        """
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs = list(parameters.items())
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        elif isinstance(parameters, Iterable):
            pairs = list(parameters)
        else:
            raise TypeError(
                f"ParameterDict.update: expected a mapping or pairs, got a "
                f"{type(parameters).__name__}"
            )
        for key, value in pairs:
            self[key] = value

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def copy(self) -> ParameterDict:
        """Another one with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter of a key, which is put in where it is missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of a key, or what is given for a missing one."""
        if key not in self:
            return default
        return self[key]

    def pop(self, key: str) -> Any:
        """Take one out. Raises KeyError where there is none."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take the last one out, with its key. Raises KeyError where it is empty."""
        if not self._keys:
            raise KeyError("ParameterDict.popitem: it is empty")
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self) -> None:
        """Take all out."""
        for key in list(self._keys):
            del self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Another one, with one value for all keys."""
        return ParameterDict([(key, default) for key in keys])  # type: ignore[arg-type]

    def __or__(self, other: ParameterDict) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        made = other.copy()
        made.update(self)
        return made

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return _listed(self.items())


def _listed(pairs: Iterable[tuple[Any, Any]]) -> str:
    return "\n".join(
        f"  ({name}): {type(one).__name__} containing: [{one.dtype} "
        f"of size {'x'.join(map(str, one.shape))}]"
        for name, one in pairs
        if isinstance(one, Tensor)
    )
