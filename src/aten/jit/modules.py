"""Scripted functions and modules, as objects that are called."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from aten._core.base.device import device, layout, memory_format
from aten._core.base.dtypes import dtype
from aten._core.tensor.tensor import Tensor
from aten.jit.evaluation import Prepared
from aten.jit.printing import function_text
from aten.jit.statements import Program, is_marked
from aten.jit.terms import Function
from aten.nn.modules.module import Module

_INTERNAL = frozenset(Module().__dict__) - {"training"}
_SIMPLE = (bool, int, float, complex, str, Tensor, dtype, device, layout, memory_format)


class ScriptGraph:
    """Scripted functions as text: `print(scripted.graph)`.

    Attributes:
        methods, functions: by name.
    """

    def __init__(self, methods: Mapping[str, Function], functions: Mapping[str, Function]) -> None:
        self.methods = dict(methods)
        self.functions = dict(functions)

    def __str__(self) -> str:
        return self.text(types=True)

    def text(self, types: bool) -> str:
        """All functions; with `types`, what each variable is."""
        parts = [function_text(one, False, types) for one in self.functions.values()]
        parts += [function_text(one, True, types) for one in self.methods.values()]
        return "\n".join(parts)


class ScriptFunction:
    """A function that runs by its terms, and not by Python.

    Attributes:
        graph: the terms; `code` is the same as Python.
    """

    def __init__(self, name: str, functions: Mapping[str, Function], wrapped: Any = None) -> None:
        self.name = self.__name__ = name
        self.__wrapped__ = wrapped
        self.__doc__ = getattr(wrapped, "__doc__", None)
        self._functions = dict(functions)
        prepared: dict[str, Prepared] = {}
        prepared.update({key: Prepared(one, prepared) for key, one in functions.items()})
        self._prepared = prepared[name]

    def _prepare(self) -> None:
        """Raises ForeignNameError for functions that name what they do not get."""
        for one in self._prepared.functions.values():
            one.prepare()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function. Raises what it raises, with the line in the note."""
        return self._prepared(None, args, kwargs)

    @property
    def graph(self) -> ScriptGraph:
        return ScriptGraph({}, self._functions)

    inlined_graph = graph

    @property
    def code(self) -> str:
        return self.graph.text(types=False)

    def save(self, f: Any) -> None:
        """Writes the function to a file: `aten.jit.save(self, f)`."""
        # What writes files stands above what is written.
        from aten.jit.files import save

        save(self, f)

    def __repr__(self) -> str:
        return f"ScriptFunction({self.name})"


class ScriptModule(Module):
    """A module whose methods run by their terms.

    Parameters, buffers and modules within are those of the module that was scripted, or of a file.

    Attributes:
        original_name: the name of the class that was scripted.
    """

    def __init__(self, original_name: str) -> None:
        super().__init__()
        own = self.__dict__
        own["original_name"] = original_name
        own["_methods"] = {}
        own["_terms"] = ({}, {})

    def _adopt(self, methods: Mapping[str, Function], functions: Mapping[str, Function]) -> None:
        """Takes methods, and the functions that they call."""
        prepared: dict[str, Prepared] = {}
        prepared.update({name: Prepared(one, prepared) for name, one in functions.items()})
        self.__dict__["_terms"] = (dict(methods), dict(functions))
        self.__dict__["_methods"] = {name: Prepared(one, prepared) for name, one in methods.items()}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's own `forward`. Raises NotImplementedError where it has none."""
        method = self._methods.get("forward")
        if method is None:
            raise NotImplementedError(f"{self.original_name} has no scripted forward")
        return method(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        method = self.__dict__.get("_methods", {}).get(name)
        if method is not None:
            return lambda *args, **kwargs: method(self, args, kwargs)
        return super().__getattr__(name)

    def _prepare(self) -> None:
        """Raises ForeignNameError for methods that name what they do not get."""
        for one in self._methods.values():
            one.prepare()
            for other in one.functions.values():
                other.prepare()

    @property
    def graph(self) -> ScriptGraph:
        """The terms of its methods, and of the functions that these call."""
        return ScriptGraph(*self._terms)

    inlined_graph = graph

    @property
    def code(self) -> str:
        """Its methods as Python."""
        return self.graph.text(types=False)

    def save(self, f: Any) -> None:
        """Writes the module to a file: `aten.jit.save(self, f)`."""
        # What writes files stands above what is written.
        from aten.jit.files import save

        save(self, f)

    def _get_name(self) -> str:
        return f"{self.original_name}, scripted"


def script_function(function: Any) -> ScriptFunction:
    """A function with all that it calls. Raises ScriptError."""
    program = Program()
    name = program.add_function(function)
    return ScriptFunction(name, program.functions, function)


def is_layer(module: Module) -> bool:
    """Whether a module is one of this library's, which runs as it is."""
    return type(module).__module__.startswith("aten.nn.")


class Scripter:
    """Modules and those within, each scripted once."""

    def __init__(self) -> None:
        self.made: dict[int, Module] = {}
        self.programs: dict[int, Program] = {}
        self.kept: list[Module] = []

    def scripted(self, module: Module) -> Module:
        """Raises ScriptError for methods that cannot be scripted."""
        if id(module) in self.made:
            return self.made[id(module)]
        self.kept.append(module)
        if isinstance(module, ScriptModule):
            made: Module = module
        elif is_layer(module):
            made = self.layer(module)
        else:
            made = self.own(module)
        self.made[id(module)] = made
        return made

    def layer(self, module: Module) -> Module:
        """A layer as it is, or, where modules within are scripted, another one with them."""
        within = {
            name: one if one is None else self.scripted(one)
            for name, one in module._modules.items()
        }
        if all(within[name] is one for name, one in module._modules.items()):
            return module
        made = copy.copy(module)
        made.__dict__["_modules"] = within
        return made

    def own(self, module: Module) -> ScriptModule:
        kind = type(module)
        program = Program(module)
        made = ScriptModule(kind.__name__)
        self.programs[id(module)] = program
        self.made[id(module)] = made
        if kind.forward is not Module.forward:
            program.add_method("forward")
        for name in dir(kind):
            if is_marked(getattr(kind, name, None)) and name not in program.methods:
                program.add_method(name)
        for place in ("_parameters", "_buffers", "_non_persistent_buffers_set"):
            made.__dict__[place] = copy.copy(module.__dict__[place])
        for name, inner in module._modules.items():
            made._modules[name] = None if inner is None else self.scripted(inner)
        for name, value in attributes_of(module):
            made.__dict__[name] = value
        made.__dict__["training"] = module.training
        for inner, name in program.needed:
            self.need(inner, name)
        made._adopt(program.methods, program.functions)
        return made

    def need(self, module: Module, name: str) -> None:
        """Scripts a method that another module calls by its path."""
        program, made = self.programs.get(id(module)), self.made.get(id(module))
        if program is None or name in program.methods:
            return
        program.add_method(name)
        assert isinstance(made, ScriptModule)
        made._adopt(program.methods, program.functions)


def attributes_of(module: Module) -> Iterator[tuple[str, Any]]:
    """Plain values that a module holds, its class's constants among them."""
    held = dict(module.__dict__)
    for kind in reversed(type(module).__mro__):
        if issubclass(kind, Module) and kind is not Module:
            for name, value in vars(kind).items():
                if not name.startswith("__"):
                    held.setdefault(name, value)
    for name, value in held.items():
        if name not in _INTERNAL and is_plain(value):
            yield name, value


def is_plain(value: Any) -> bool:
    """Whether a value is made of numbers, texts, tensors, types and containers alone."""
    if isinstance(value, (list, tuple)):
        return all(is_plain(one) for one in value)
    if isinstance(value, dict):
        return all(isinstance(key, (str, int)) and is_plain(one) for key, one in value.items())
    return value is None or isinstance(value, _SIMPLE)
