"""Plans of operators with folds as files keep them: what a call walks over, and with which kernels.

A plan depends on element types, sizes, strides and attributes alone. A process that is told it by a
file neither traces the operator nor lays out loops, and does not import what does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten._core.base.dtypes import DTYPES, dtype, get_default_dtype
from aten._core.tensor.tensor import Tensor
from aten.backends.cpu import brought
from aten.backends.cpu.kernels.folding.plan import Launch, Plan
from aten.backends.terms import LaunchTerms

# Plans that are noted: a process with more of them is after something else than one program.
_MOST_PLANS = 512
# Element type, sizes and strides of a tensor that a plan makes.
Fresh = tuple[dtype, tuple[int, ...], tuple[int, ...]]
_PLAIN = frozenset({bool, int, float, complex, str, dtype, type(None)})


def call_of(name: str, arguments: Sequence[Any]) -> str | None:
    """What a call of the operator `name` is known by in files; None where its arguments are more
    than tensors, numbers and types, and lists of these."""
    described = [_described(one) for one in arguments]
    if None in described:
        return None
    return f"{name} {get_default_dtype().name} {described}"


def _described(value: Any) -> str | None:
    if isinstance(value, Tensor):
        return f"{value.dtype.name} {tuple(value.shape)} {value.stride()}"
    if type(value) in (list, tuple):
        return repr(value) if all(type(one) in _PLAIN for one in value) else None
    return repr(value) if type(value) in _PLAIN else None


def plan_of(call: str) -> Plan | None:
    """The plan of a call, where a file told it and brought its kernels."""
    told = brought.plans.get(call)
    if told is None:
        return None
    launches = []
    for one in told["launches"]:
        found = brought.kernels.get(bytes.fromhex(one["kernel"]))
        if found is None:
            return None
        terms = LaunchTerms(**{name: one[name] for name in LaunchTerms.__slots__})
        launches.append(Launch(terms, *found))
    outputs, temporaries = (list(map(_fresh, told[kind])) for kind in ("outputs", "temporaries"))
    about = (told["inputs"], told["single"], told["device_type"])
    return Plan(launches, outputs, temporaries, *about, executes=True)


def _fresh(described: Sequence[Any]) -> Fresh:
    element, sizes, strides = described
    return DTYPES[element], tuple(sizes), tuple(strides)


class Notes:
    """Notes what a plan is made of, while it is made with `generate`, `launch` and `plan`."""

    def __init__(self, call: str, generate: Callable[[Any], tuple[int, Any]]) -> None:
        self._call = call
        self._generate = generate
        self._kernel = ""
        self._launches: list[dict[str, Any]] = []

    def generate(self, program: Any) -> tuple[int, Any]:
        """The code of the launch that is made next."""
        self._kernel = brought.digest(str(program)).hex()
        return self._generate(program)

    def launch(self, terms: LaunchTerms, address: int, owner: object) -> Launch:
        """See `Launch`."""
        self._launches.append({"kernel": self._kernel, **terms.as_dict()})
        return Launch(terms, address, owner)

    def plan(
        self,
        launches: Sequence[Launch],
        outputs: Sequence[Fresh],
        temporaries: Sequence[Fresh],
        inputs: int,
        single: bool,
        device_type: int,
        executes: bool,
    ) -> Plan:
        """See `Plan`."""
        if len(brought.plans) < _MOST_PLANS:
            brought.plans[self._call] = {
                "launches": self._launches,
                "outputs": [(one.name, *rest) for one, *rest in outputs],
                "temporaries": [(one.name, *rest) for one, *rest in temporaries],
                "inputs": inputs,
                "single": single,
                "device_type": device_type,
            }
        return Plan(launches, outputs, temporaries, inputs, single, device_type, executes)
