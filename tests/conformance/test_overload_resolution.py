"""Which overload a call resolves to, against torch's dispatch of the same call.

Only calls that torch does not decompose before dispatch can be compared.
"""

import pytest

from aten._core.base.dtypes import DTYPES
from aten._core.dispatch.arguments import ArgumentParser
from aten._core.tensor.making import tensor_from_buffer
from aten._generated.table import OPERATORS, PACKETS
from aten.schema import FunctionSchema

torch = pytest.importorskip("torch")
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

X = torch.rand(2, 3)
MASK = X > 0.5
INTEGERS = torch.tensor([[1, 2, 3], [1, 2, 3]])
INDEX = torch.tensor(1)
OUT = torch.empty(0)

CALLS = [
    ("add", (X, 1), {}),
    ("add", (X, X), {"alpha": 2}),
    ("add", (X, X), {"out": OUT}),
    ("mul", (X, 1.5), {}),
    ("div", (X, 2), {}),
    ("div", (X, 2), {"rounding_mode": "floor"}),
    ("div", (X, X), {"rounding_mode": None}),
    ("floor_divide", (X, 2), {}),
    ("remainder", (X, 2), {}),
    ("remainder", (X, X), {}),
    ("remainder", (2, X), {}),
    ("fmod", (X, 2), {}),
    ("pow", (X, 2), {}),
    ("pow", (X, X), {}),
    ("pow", (2, X), {}),
    ("rsub", (X, 1), {}),
    ("xlogy", (X, 2), {}),
    ("xlogy", (2, X), {}),
    ("copysign", (X, 1), {}),
    ("lerp", (X, X, 0.5), {}),
    ("lerp", (X, X, X), {}),
    ("eq", (X, 1), {}),
    ("gt", (X, INDEX), {}),
    ("bitwise_and", (INTEGERS, 1), {}),
    ("bitwise_and", (1, INTEGERS), {}),
    ("bitwise_left_shift", (INTEGERS, INTEGERS), {}),
    ("where", (MASK, X, X), {}),
    ("clamp", (X, 0, 1), {}),
    ("clamp", (X, INDEX, X), {}),
    ("clamp", (X,), {"max": X}),
    ("clamp_min", (X, 0), {}),
    ("max", (X,), {}),
    ("max", (X, 0), {}),
    ("min", (X,), {"dim": 1, "keepdim": True}),
    ("sum", (X,), {}),
    ("sum", (X, 0), {}),
    ("sum", (X, [0, 1]), {}),
    ("sum", (X,), {"dim": None}),
    ("sum", (X, 0), {"out": OUT}),
    ("prod", (X, 0), {}),
    ("any", (X, 0), {}),
    ("any", (X, (0, 1)), {}),
    ("var", (X,), {"correction": 0}),
    ("count_nonzero", (X, 0), {}),
    ("amax", (X,), {}),
    ("squeeze", (X, 0), {}),
    ("squeeze", (X, (0, 1)), {}),
    ("round", (X,), {"decimals": 2}),
    ("arange", (5,), {}),
    ("arange", (1, 5), {}),
    ("arange", (1, 5, 2), {}),
    ("linspace", (INDEX, 1, 5), {}),
    ("eye", (3, 2), {}),
    ("zeros", (2, 3), {}),
    ("fill", (X, INDEX), {}),
]


class DispatchLog(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.operators = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.operators.append(str(function).removeprefix("aten.").removesuffix(".default"))
        return function(*args, **(kwargs or {}))


def as_ours(value):
    if not isinstance(value, torch.Tensor):
        return value
    memory = bytearray(max(value.numel(), 1) * value.element_size())
    return tensor_from_buffer(memory, DTYPES[str(value.dtype)[6:]], tuple(value.shape))


def resolve(packet, args, kwargs):
    for key in PACKETS[packet]:
        schema, _, _, _, _, options = OPERATORS[key]
        parser = ArgumentParser(FunctionSchema.parse(schema), "numbers_as_tensors" in options)
        try:
            parser.bind(*args, **kwargs)
        except TypeError:
            continue
        return key
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("packet", "args", "kwargs"), CALLS, ids=[f"{i}-{call[0]}" for i, call in enumerate(CALLS)]
)
def test_calls_resolve_as_in_torch(packet, args, kwargs):
    with DispatchLog() as log:
        getattr(torch, packet)(*args, **kwargs)
    ours = resolve(
        packet,
        [as_ours(value) for value in args],
        {name: as_ours(value) for name, value in kwargs.items()},
    )
    assert ours == log.operators[0]
