"""Functions of tensors made operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from aten._core.base.dtypes import dtype
from aten._core.dispatch.own_operators import CustomKernel, CustomOperator
from aten.library.dispatch_rules import register_torch_dispatch
from aten.library.gradients import refuse_gradients, register_autograd
from aten.library.registration import Library, key_of_device_type, register_autocast
from aten.library.vmap_rules import register_vmap
from aten.registry import operator

_Function = TypeVar("_Function", bound=Callable[..., Any])


class CustomOpDef(CustomOperator):
    """What `custom_op` makes of a function: an operator that is called like it."""

    def __init__(self, qualname: str, function: Callable[..., Any], library: Library) -> None:
        super().__init__(operator(qualname))
        self._qualname = qualname
        self._namespace, _, self._name = qualname.partition("::")
        self._init_fn = function
        self._lib = library
        self._kernels: dict[str, CustomKernel] = {}
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", qualname)
        self.__module__ = getattr(function, "__module__", __name__)
        refuse_gradients(self._opoverload, library)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(
        self, device_types: str | Iterable[str] | None, fn: _Function | None = None, /
    ) -> Any:
        """Registers `fn` for the dense tensors of device types; None stands for all of them.

        A second one takes the first one's place. Without `fn` it is a decorator.
        """

        def register(function: _Function) -> _Function:
            if device_types is None or isinstance(device_types, str):
                names = ["default" if device_types is None else device_types]
            else:
                names = list(device_types)
            for key in sorted({key_of_device_type(name) for name in names}):
                known = self._kernels.get(key)
                if known is not None:
                    known.serve_by(function)
                    continue
                kernel = self._kernels[key] = CustomKernel(function)
                self._lib.impl(self._qualname, kernel, key)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: _Function, /) -> _Function:
        """Registers what the operator gives for tensors without data."""
        known = self._kernels.get("Meta")
        if known is None:
            known = self._kernels["Meta"] = CustomKernel(fn)
            self._lib.impl(self._qualname, known, "Meta")
        known.serve_by(fn)
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """As the module's `register_autograd`, for this operator; a second one serves then."""
        register_autograd(
            self._qualname, backward, setup_context=setup_context, lib=self._lib, replace=True
        )

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """As the module's `register_vmap`, for this operator."""
        return register_vmap(self._qualname, func, lib=self._lib)

    def register_torch_dispatch(
        self, torch_dispatch_class: type, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """As the module's `register_torch_dispatch`, for this operator."""
        return register_torch_dispatch(self._qualname, torch_dispatch_class, fn, lib=self._lib)

    def register_autocast(self, device_type: str, cast_inputs: dtype) -> None:
        """As the module's `register_autocast`, for this operator."""
        register_autocast(self._qualname, device_type, cast_inputs, lib=self._lib)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside the block the kernel of a device type serves, or the function itself does.

        Raises RuntimeError where there is no kernel for the device type.
        """
        known = self._kernels.get(key_of_device_type(device_type))
        if known is None:
            raise RuntimeError(
                f"{self._qualname}: set_kernel_enabled() needs a kernel for {device_type}, and "
                f"there is none"
            )
        before = known.function
        if not enabled:
            known.serve_by(self._init_fn)
        try:
            yield
        finally:
            known.serve_by(before)


# Every custom operator stays; a second one of the same name takes the first one's place.
_custom_operators: dict[str, CustomOpDef] = {}


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    tags: Sequence[str] = (),
) -> Any:
    """Makes a function of tensors the operator `name` ("my_ops::scale").

    The schema follows from the function's annotations unless `schema` ("(Tensor x) -> Tensor") is
    given. `mutates_args` names the arguments that are written to; "unknown" stands for all tensors.
    `device_types` restricts the function to these devices' tensors. Without `fn` it is a decorator.
    Results must not share memory with arguments or with each other: a call that gives such raises
    RuntimeError.

    Raises:
        ValueError: `name` has no namespace, or an annotation has no type of the schema grammar.

    Example:

        >>> @aten.library.custom_op("my_ops::halved", mutates_args=())
        ... def halved(x: aten.Tensor) -> aten.Tensor:
        ...     return x / 2
        >>> halved(aten.tensor([2.0, 4.0]))
        tensor([1., 2.])
    """

    namespace, colons, rest = name.partition("::")
    if not colons:
        raise ValueError(f"custom_op(): expected a name like 'my_ops::scale', got {name!r}")

    def make(function: Callable[..., Any]) -> CustomOpDef:
        from aten.schema.inference import infer_schema

        signature = schema or infer_schema(function, mutates_args=mutates_args)
        earlier = _custom_operators.pop(name, None)
        if earlier is not None:
            earlier._lib._destroy()
        library = Library(namespace, "FRAGMENT")
        library.define(rest + signature, tags=tags)
        made = _custom_operators[name] = CustomOpDef(name, function, library)
        made.register_kernel(device_types, function)
        if "Meta" not in made._kernels:
            made.register_fake(_without_fake(made, function))
        return made

    return make if fn is None else make(fn)


def _without_fake(made: CustomOpDef, function: Callable[..., Any]) -> Callable[..., Any]:
    """What serves tensors without data until somebody says what comes out."""
    if not made._opoverload._schema.returns:
        return lambda *args, **kwargs: None

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"{made._qualname}: nobody has said what it gives for tensors without data: see "
            f"register_fake"
        )

    return refuse


__all__ = ["CustomOpDef", "custom_op"]
