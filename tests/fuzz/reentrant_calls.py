"""Calls whose arguments run code in the middle of them, and change what the call works on.

Numbers, lists, strings, tensors and arrays get methods of their own: whenever one is asked for its
value, its length, its members, its memory or whether it equals something, it first does something
to the operands of the call. So do warnings that are shown, finalizers that the collector of garbage
runs wherever an object is made, and kernels registered for the operators that others call.

Everything is drawn from one `random.Random`, so that a number repeats a call.
"""

from __future__ import annotations

import gc
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from operator_calls import ALLOWED, Calls, tensors_in
from tensor_bits import as_bits

import aten
from aten import DispatchKey, registry
from aten._core.tensor import construct

# Operators that others call, compiled ones above all.
_INNER = (
    *("copy_", "fill_.Scalar", "clone", "select.int", "slice.Tensor", "as_strided", "index.Tensor"),
    *("empty.memory_format", "add.Tensor", "mul.Tensor", "sum.dim_IntList", "mm", "unsqueeze"),
    *("index_put", "_to_copy", "_local_scalar_dense", "expand", "view", "where.self", "abs"),
)
_MOST_READ = 1 << 22  # elements; there are more where they repeat
_MOST_ACTIONS = 6  # in one call: a hook that never ends would be a call that never ends


class InterruptionError(Exception):
    """Raised by code that runs in the middle of a call."""


class Actions:
    """What code in the middle of a call does to the call's operands."""

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._left = _MOST_ACTIONS
        self._running = False
        self.fault: Exception | None = None
        self.lies = source.random() < 0.5  # of tuples, about their lengths
        self.tensors: list[Any] = []
        self.lists: list[list[Any]] = []
        self.again: Callable[[], Any] = lambda: None

    def __call__(self) -> None:
        """One action at random; nothing while another one runs, and after the last."""
        if self._running or not self._left or self._random.random() < 0.2:
            return
        self._running = True
        self._left -= 1
        try:
            self._random.choice(_ACTIONS)(self)
        except ALLOWED:
            # What was asked for cannot be done to such a tensor.
            return
        finally:
            self._running = False

    def _tensor(self) -> Any:
        return self._random.choice(self.tensors) if self.tensors else aten.ones(3)

    def _fresh_like(self, tensor: Any) -> Any:
        shape = [
            self._random.choice((0, 1, 1, 2, 3, 40)) for _ in range(self._random.randint(0, 4))
        ]
        return aten.ones(shape, dtype=tensor.dtype, device=tensor.device)

    def set(self) -> None:
        tensor = self._tensor()
        tensor.set_(self._fresh_like(tensor))

    def set_to_another(self) -> None:
        self._tensor().set_(self._tensor())

    def set_to_nothing(self) -> None:
        self._tensor().set_()

    def write_data(self) -> None:
        tensor = self._tensor()
        tensor.data = self._fresh_like(tensor)

    def grow(self) -> None:
        self._tensor().resize_(self._random.choice((1000, 20_000, 100_000)))

    def shrink(self) -> None:
        self._tensor().resize_(self._random.choice((0, 1, 2)))

    def reshape_in_place(self) -> None:
        tensor = self._tensor()
        change = self._random.choice(("t_", "squeeze_", "unsqueeze_", "as_strided_"))
        if change == "as_strided_":
            tensor.as_strided_((1,), (1,), 0)
        elif change == "unsqueeze_":
            tensor.unsqueeze_(0)
        else:
            getattr(tensor, change)()

    def write(self) -> None:
        self._tensor().fill_(self._random.choice((0, 1, -1, 1e6, 2**40)))

    def read(self) -> None:
        self._tensor().sum()

    def change_list(self) -> None:
        if not self.lists:
            return
        members = self._random.choice(self.lists)
        change = self._random.choice(("append", "extend", "pop", "clear", "replace", "reverse"))
        if change == "append":
            members.append(self._random.choice((1, 2.5, None, aten.ones(2))))
        elif change == "extend":
            members.extend([1] * 1000)
        elif change == "replace" and members:
            members[self._random.randrange(len(members))] = "x"
        elif change == "pop" and members:
            members.pop()
        else:
            getattr(members, "clear" if change == "clear" else "reverse")()

    def forget(self) -> None:
        """Let the call be the only one to hold its operands."""
        self.tensors.clear()
        gc.collect()

    def collect(self) -> None:
        gc.collect()
        aten.memory.empty_cache()

    def take_memory(self) -> None:
        """Let freed blocks be somebody's, with other contents."""
        self.taken = [aten.full((size,), 7, dtype=aten.int64) for size in (1, 8, 100, 3000)]

    def switch_threads(self) -> None:
        aten.set_num_threads(self._random.choice((1, 2, 3)))

    def call_again(self) -> None:
        self.again()

    def interrupt(self) -> None:
        raise InterruptionError


_ACTIONS = (
    *(Actions.set, Actions.set, Actions.set_to_another, Actions.set_to_nothing, Actions.write_data),
    *(Actions.grow, Actions.grow, Actions.shrink, Actions.reshape_in_place, Actions.write),
    *(Actions.read, Actions.change_list, Actions.change_list, Actions.forget, Actions.collect),
    *(Actions.take_memory, Actions.switch_threads, Actions.call_again, Actions.interrupt),
)


# Values that act when they are asked


def _acting(base: type, names: tuple[str, ...], answer: Callable[[Any, str, tuple[Any, ...]], Any]):
    """A subclass of `base` whose methods act before they answer."""

    def method(name: str) -> Callable[..., Any]:
        def act(self: Any, *arguments: Any) -> Any:
            self._actions()
            return answer(self, name, arguments)

        return act

    return type(f"Acting{base.__name__.title()}", (base,), {name: method(name) for name in names})


def _as_base(base: type) -> Callable[[Any, str, tuple[Any, ...]], Any]:
    return lambda self, name, arguments: getattr(base, name)(self, *arguments)


_NUMBER_METHODS = ("__int__", "__float__", "__complex__", "__index__", "__bool__", "item")


def _as_number(self: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    value = self._value
    if name == "__complex__":
        return complex(value)
    if name in ("__int__", "__index__"):
        return int(value.real if isinstance(value, complex) else value)
    if name == "__float__":
        return float(value.real if isinstance(value, complex) else value)
    return bool(value) if name == "__bool__" else value


_AnyNumber = _acting(object, _NUMBER_METHODS, _as_number)
_Index = _acting(object, ("__index__",), _as_number)
_Real = _acting(object, ("__float__",), _as_number)
_Whole = _acting(int, ("__int__", "__index__", "__float__", "__eq__", "__hash__"), _as_base(int))
_Float = _acting(float, ("__float__", "__int__", "__eq__", "__hash__"), _as_base(float))
_Text = _acting(str, ("__eq__", "__hash__", "__str__", "__len__"), _as_base(str))
_LIST_METHODS = ("__len__", "__iter__", "__getitem__", "__bool__")


def _as_list(self: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    if name == "__bool__":
        return list.__len__(self) > 0
    return getattr(list, name)(self, *arguments)


def _as_tuple(self: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    if name == "__len__" and self._actions.lies:
        return 40
    return tuple.__len__(self) > 0 if name == "__bool__" else getattr(tuple, name)(self, *arguments)


_List = _acting(list, _LIST_METHODS, _as_list)
_Tuple = _acting(tuple, _LIST_METHODS, _as_tuple)
_TENSOR_METHODS = ("item", "size", "stride", "dim", "numel", "tolist", "is_contiguous", "clone")
_TENSOR_SLOTS = ("__float__", "__int__", "__index__", "__bool__", "__len__", "__iter__", "__eq__")
_Tensor = _acting(aten.Tensor, _TENSOR_METHODS + _TENSOR_SLOTS, _as_base(aten.Tensor))
_Tensor.__hash__ = aten.Tensor.__hash__  # type: ignore[method-assign]


class _Array:
    """An array of another library, which shows its memory in every way there is."""

    def __init__(self, actions: Actions, tensor: Any) -> None:
        self._actions = actions
        self._tensor = tensor

    def _attribute(self, name: str) -> Any:
        self._actions()
        return getattr(self._tensor, name)

    shape = property(lambda self: self._attribute("shape"))
    ndim = property(lambda self: self._attribute("ndim"))
    dtype = property(lambda self: self._attribute("dtype"))

    @property
    def __array_interface__(self) -> Any:
        self._actions()
        # Whoever hands out an address keeps the memory there.
        self._memory = memoryview(self._tensor.untyped_storage())
        described = construct.array_interface(self._tensor)
        self._actions()
        return described

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        self._actions()
        return self._tensor.__array__()

    def __dlpack__(self, **keywords: Any) -> Any:
        self._actions()
        capsule = self._tensor.__dlpack__(**keywords)
        self._actions()
        return capsule

    def __dlpack_device__(self) -> Any:
        self._actions()
        return self._tensor.__dlpack_device__()

    def tolist(self) -> Any:
        self._actions()
        return self._tensor.tolist()

    def item(self) -> Any:
        self._actions()
        return self._tensor.item()

    def __len__(self) -> int:
        self._actions()
        return len(self._tensor)


class _Cycle:
    """Garbage that acts when it is collected."""

    def __init__(self, actions: Actions) -> None:
        self._itself = self
        self._actions = actions

    def __del__(self) -> None:
        try:
            self._actions()
        except (*ALLOWED, InterruptionError):
            return
        except Exception as error:
            # What a finalizer raises goes nowhere.
            self._actions.fault = error


# Calls


class ReentrantCalls:
    """One call with values that act, drawn from a source."""

    def __init__(self, source: random.Random, operators: list[Any]) -> None:
        self._random = source
        self._operators = operators
        self._calls = Calls(source)
        self._actions = Actions(source)
        self._known: list[Any] = []

    def make(self) -> tuple[Callable[[], Any], str]:
        """The call, and what it is, in words."""
        form = self._random.choice(_FORMS)
        function, positional, keywords, name = form(self)
        operands = tensors_in([positional, list(keywords.values())])
        # Held for the checks; the actions may let go of what they hold.
        self._known += operands
        self._actions.tensors += operands
        acting = [self._replaced(value) for value in positional]
        named = {key: self._replaced(value) for key, value in keywords.items()}

        def call() -> Any:
            return function(*acting, **named)

        self._actions.again = call
        return call, name

    def _replaced(self, value: Any) -> Any:
        """The value, or one that stands for it and acts."""
        chance = self._random.random()
        if isinstance(value, list):
            members = [self._replaced(member) for member in value]
            if chance < 0.3:
                return self._made(_List, members)
            if chance < 0.5:
                return self._made(_Tuple, members)
            self._actions.lists.append(members)
            return members
        if chance < 0.6 or isinstance(value, bool):
            return value
        if isinstance(value, aten.Tensor):
            return self._tensor(value)
        if isinstance(value, int):
            return self._number(value, (_AnyNumber, _Index, _Index, _Whole))
        if isinstance(value, float):
            return self._number(value, (_AnyNumber, _Real, _Float, _Float))
        if isinstance(value, complex):
            return self._number(value, (_AnyNumber,))
        return self._made(_Text, value) if isinstance(value, str) else value

    def _number(self, value: Any, kinds: tuple[type, ...]) -> Any:
        kind = self._random.choice(kinds)
        if issubclass(kind, (int, float)):
            return self._made(kind, value)
        made = self._made(kind)
        made._value = value
        return made

    def _made(self, kind: type, *value: Any) -> Any:
        made = kind(*value)
        made._actions = self._actions
        if isinstance(made, list):
            self._actions.lists.append(made)
        return made

    def _tensor(self, tensor: Any) -> Any:
        if self._random.random() < 0.6:
            return tensor
        if self._random.random() < 0.2:
            return _Array(self._actions, tensor)
        acting = tensor.as_subclass(_Tensor)
        acting._actions = self._actions
        self._known.append(acting)
        self._actions.tensors.append(acting)
        return acting

    # The forms of calls: a function, its arguments, and its name.

    def operator(self) -> Any:
        op = self._random.choice(self._operators)
        positional, keywords = self._calls.arguments(op)
        return op, positional, keywords, str(op)

    def packet(self) -> Any:
        op = self._random.choice(self._operators)
        positional, keywords = self._calls.arguments(op)
        return op.overloadpacket, positional, keywords, f"{op.overloadpacket} as {op}"

    def method(self) -> Any:
        names = ("view", "reshape", "expand", "permute", "repeat", "tile", "flip", "new_zeros")
        name = self._random.choice((*names, "new_ones", "resize_", "size", "movedim", "unflatten"))
        sizes = [
            self._random.choice((-1, 0, 1, 2, 3, 6)) for _ in range(self._random.randint(1, 3))
        ]
        given = [sizes] if self._random.random() < 0.4 else sizes
        return _Method(name), [self._operand(), *given], {}, name

    def _operand(self) -> Any:
        return self._calls.some_tensor()

    def _index(self) -> Any:
        kind = self._random.choice(("int", "slice", "slice", "slice", "list", "tensor", "none"))
        if kind == "slice":
            parts = [self._random.choice((None, 0, 1, 2, 5, -1, 2**62)) for _ in range(3)]
            if self._random.random() < 0.7:
                parts[2] = None
            return slice(*[self._replaced(part) for part in parts])
        if kind == "list":
            return self._replaced([self._random.randint(-2, 2) for _ in range(3)])
        if kind == "tensor":
            return aten.tensor([self._random.randint(-2, 2) for _ in range(3)])
        if kind == "none":
            return self._random.choice((None, Ellipsis, True))
        return self._replaced(self._random.randint(-2, 3))

    def _indices(self) -> Any:
        parts = [self._index() for _ in range(self._random.choice((1, 1, 2, 3)))]
        return parts[0] if len(parts) == 1 else tuple(parts)

    def get_item(self) -> Any:
        index = self._indices()
        return lambda tensor: tensor[index], [self._operand()], {}, "getitem"

    def set_item(self) -> Any:
        index = self._indices()
        value = self._random.choice((3, 2.5, True, 1j, self._operand()))

        def write(tensor: Any, given: Any) -> None:
            tensor[index] = given

        return write, [self._operand(), value], {}, "setitem"

    def from_data(self) -> Any:
        members = self._nested(self._random.randint(1, 3))
        function = self._random.choice((aten.tensor, aten.as_tensor, aten.asarray))
        keywords = {}
        if self._random.random() < 0.5:
            keywords["dtype"] = self._random.choice(tuple(aten.DTYPES.values()))
        if self._random.random() < 0.2:
            return aten.ones(1).new_tensor, [members], keywords, "new_tensor"
        return function, [members], keywords, function.__name__

    def _nested(self, depth: int) -> Any:
        if depth == 0:
            return self._random.choice((1, 2, -3, 0.5, True, aten.tensor(3), 2**40))
        length = self._random.choice((1, 2, 2, 3, 40))
        return [self._nested(depth - 1) for _ in range(length if depth == 1 else min(length, 3))]

    def from_array(self) -> Any:
        function = self._random.choice(
            (aten.tensor, aten.as_tensor, aten.asarray, aten.from_dlpack, _compare, _index_by)
        )
        array = _Array(self._actions, self._operand())
        self._known.append(array._tensor)
        self._actions.tensors.append(array._tensor)
        return lambda: function(array), [], {}, f"{function.__name__} of an array"

    def slot(self) -> Any:
        names = (
            "add",
            "sub",
            "mul",
            "truediv",
            "pow",
            "matmul",
            "iadd",
            "imul",
            "lt",
            "eq",
            "radd",
        )
        name = f"__{self._random.choice(names)}__"
        other = self._random.choice((2, 2.5, 1j, self._operand(), self._operand()))
        return getattr(aten.Tensor, name), [self._operand(), other], {}, name

    def text(self) -> Any:
        function = self._random.choice((repr, str, bool, float, int, list, len, format, _reduced))
        return function, [self._operand()], {}, function.__name__

    def out(self) -> Any:
        """Outputs of other sizes: the warning's hook runs in the middle."""
        name = self._random.choice(
            ("add", "mm", "sum", "cat", "sort", "dot", "bmm", "where", "exp")
        )
        candidates = [op for op in self._operators if op.name == name and op.entry.variant == "out"]
        op = self._random.choice(candidates)
        positional, keywords = self._calls.arguments(op)
        return op, positional, keywords, str(op)

    # The hooks that are there while the call runs.

    @contextmanager
    def hooks(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(_shown_warnings(self._actions))
            if self._random.random() < 0.2:
                stack.enter_context(self._acting_kernel())
            if self._random.random() < 0.25:
                stack.enter_context(_collecting(self._actions, self._random.randint(1, 4)))
            yield

    @contextmanager
    def _acting_kernel(self) -> Iterator[None]:
        """A kernel that acts, for an operator that others call."""
        op = registry.operator(f"aten::{self._random.choice(_INNER)}")
        handles: list[Any] = []

        def kernel(*arguments: Any, **keywords: Any) -> Any:
            while handles:
                handles.pop().destroy()
            self._actions()
            return op(*arguments, **keywords)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            handles.append(op.register(DispatchKey.CPU, kernel))
        try:
            yield
        finally:
            while handles:
                handles.pop().destroy()

    def check(self, result: Any) -> None:
        if self._actions.fault is not None:
            raise AssertionError(f"a finalizer's call raised {self._actions.fault!r}")
        for tensor in [*self._known, *tensors_in([result])]:
            check_window(tensor)


class _Method:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, tensor: Any, *arguments: Any) -> Any:
        if not isinstance(tensor, aten.Tensor):
            raise TypeError("only tensors have methods")
        return getattr(tensor, self._name)(*arguments)


def _compare(array: Any) -> Any:
    return aten.ones(3) == array


def _index_by(array: Any) -> Any:
    return aten.ones(5, 5)[array]


def _reduced(tensor: Any) -> Any:
    return tensor.__reduce_ex__(2)


_FORMS = (
    *(ReentrantCalls.operator,) * 6,
    *(ReentrantCalls.packet,) * 3,
    *(ReentrantCalls.get_item, ReentrantCalls.get_item, ReentrantCalls.set_item),
    *(ReentrantCalls.from_data, ReentrantCalls.from_data, ReentrantCalls.from_array),
    *(ReentrantCalls.method, ReentrantCalls.slot, ReentrantCalls.text, ReentrantCalls.out),
)


@contextmanager
def _shown_warnings(actions: Actions) -> Iterator[None]:
    def show(*_: Any, **__: Any) -> None:
        actions()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


@contextmanager
def _collecting(actions: Actions, count: int) -> Iterator[None]:
    """Garbage that acts, collected at the next object that is made."""
    before = gc.get_threshold()
    for _ in range(count):
        _Cycle(actions)
    gc.set_threshold(1, 1, 1)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def check_window(tensor: Any) -> None:
    """Raises AssertionError for a tensor that is no window on its storage, and reads all of it."""
    base = aten.Tensor
    shape, strides = base.shape.__get__(tensor), base.stride(tensor)
    offset, width = base.storage_offset(tensor), base.element_size(tensor)
    count = 1
    for size in shape:
        count *= size
    assert len(shape) == len(strides) == base.dim(tensor), (shape, strides)
    assert min(shape, default=0) >= 0, shape
    assert base.numel(tensor) == count, (base.numel(tensor), shape)
    if not count:
        return
    last = offset + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    held = base.untyped_storage(tensor).nbytes()
    steps = [step for size, step in zip(shape, strides, strict=True) if size > 1]
    assert min(offset, *steps, 0) >= 0, (offset, strides)
    # A tensor of the meta device is a window on nothing, and `as_strided_` makes it of any size.
    is_meta = base.is_meta.__get__(tensor)
    assert is_meta or (last + 1) * width <= held, f"{shape}, {strides}, {offset} on {held} bytes"
    if base.device.__get__(tensor).type != "cpu" or count > _MOST_READ:
        return
    plain = base.as_subclass(tensor, base)
    if base.is_conj(plain) or base.is_neg(plain):
        bytes(memoryview(base.untyped_storage(plain)))
    else:
        as_bits(plain).tobytes()


def reentrant_call(source: random.Random, operators: list[Any]) -> bool:
    """Whether a call succeeded.

    Raises AssertionError for an exception that no call may raise, and for tensors that are no
    windows on their storages afterwards.
    """
    made = ReentrantCalls(source, operators)
    name, result = "the arguments", None
    raised: BaseException | None = None
    threads = aten.get_num_threads()
    try:
        call, name = made.make()
        with made.hooks():
            result = call()
    except (*ALLOWED, InterruptionError) as error:
        raised = error
    except Exception as error:
        raise AssertionError(f"{name} raised {type(error).__name__}: {error}") from error
    finally:
        aten.set_num_threads(threads)
    if isinstance(raised, RecursionError):
        raise AssertionError(f"{name} raised RecursionError") from raised
    try:
        made.check(result)
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from error
    return raised is None
