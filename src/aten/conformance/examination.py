"""Does a device do what the CPU does: operator by operator, dtype by dtype.

Calls that the CPU takes are drawn from schemas (`calls`), repeated with their tensors on the
device, and compared: values within what the dtype holds, dtypes, shapes, which tensors share
memory, what is written to operands. Calls of operators that the CPU refuses have to be refused
there, with an exception of the same kind. The primitives are asked, too: where a kernel is wrong,
it is named itself. What a primitive refuses is nobody's promise: operators look first.
"""

from __future__ import annotations

import cmath
import itertools
import json
import math
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import aten
from aten import registry
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.base.errors import DataDependentOutputException, DynamicOutputShapeException
from aten._core.tensor.tensor import Tensor
from aten._generated.table import OPERATORS
from aten.conformance.calls import Chooser, Combination, ValidCalls
from aten.graph.pytree import map_tensors
from aten.transforms import (
    Decompose,
    DispatchMode,
    FakeTensorMode,
    UndecomposedError,
    functionalize,
    is_leaf,
)

PASSED, FAILED, MISSING, NOT_CALLED = "passed", "failed", "missing", "not called"
DEFAULT_DTYPES = ("float32", "int64", "bool")
# Relative to the largest element of a result, by the bits of the fraction that a dtype has.
_TOLERANCES = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 2e-5, "complex64": 2e-5}
_TOLERANCE = 1e-10
# Their results are drawn, or whatever memory held.
_RANDOM = ("nondeterministic_seeded",)
# A device may have a generator of its own.
_DRAWN = frozenset({"prims::uniform", "prims::normal"})
_UNINITIALIZED = ("empty", "new_empty", "resize", "_resize", "set_")
# Of several results those that are one thing only: equal elements may be taken in any order, and
# vectors may point either way. Of other operators all are compared.
_COMPARED: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("sort", "topk", "eigh", "_linalg_eigh", "linalg_eigh"), (0,)),
    **dict.fromkeys(("svd", "_linalg_svd", "linalg_svd"), (1,)),
    **dict.fromkeys(("eig", "linalg_eig", "linalg_eigvals", "geqrf", "qr", "linalg_qr"), ()),
    # Where a matrix is not definite, only where it is seen not to be.
    **dict.fromkeys(("cholesky", "linalg_cholesky_ex"), (1,)),
}
_RARE = ("float8", "float16", "bfloat16", "complex32", "uint16", "uint32", "uint64")
_FACTORIZATIONS = frozenset({"lu", "ldl", "cholesky", "geqrf", "eig", "eigh", "svd"})


class Outcome(NamedTuple):
    """What came of an operator's calls with one dtype."""

    operator: str
    dtype: str
    status: str
    calls: int
    reason: str = ""


class Limits(NamedTuple):
    """How many calls of an operator and dtype are compared, and how many are drawn for that."""

    compared: int = 4
    drawn: int = 60


def operator_names(opset: str, pattern: str = "") -> list[str]:
    """The qualified names that an opset asks for: "prims", "core", or "all"."""
    from aten.prims import Prim, StructuralPrim

    primitives = [f"prims::{name}" for name in (*Prim.table, *StructuralPrim.table)]
    chosen = [
        f"aten::{name}"
        for name, (_, _, variant, base, _, options) in OPERATORS.items()
        if opset == "all" or (opset == "core" and _is_core(name, variant, base, options))
    ]
    return [name for name in (*primitives, *chosen) if pattern in name]


def _is_core(name: str, variant: str, base: str, options: dict[str, object]) -> bool:
    tags = options.get("tags", ())
    assert isinstance(tags, tuple)
    return name == base and variant != "out" and "core" in tags


def check(
    device: str,
    opset: str = "core",
    dtypes: Sequence[str] = DEFAULT_DTYPES,
    *,
    pattern: str = "",
    limits: Limits | None = None,
    seed: int = 0,
) -> Iterator[Outcome]:
    """An outcome for each operator and dtype, as they come.

    Raises RuntimeError for an unknown device, ValueError for an unknown opset or dtype.
    """
    if opset not in ("prims", "core", "all"):
        raise ValueError(f"conformance: opset must be prims, core or all, got {opset!r}")
    unknown = [name for name in dtypes if name not in DTYPES]
    if unknown:
        raise ValueError(f"conformance: unknown dtypes {', '.join(unknown)}")
    place = aten.device(device)
    for name in operator_names(opset, pattern):
        op = registry.operator(name)
        for element in dtypes:
            yield _Examination(op, element, place, limits or Limits(), seed).outcome()


def check_decompositions(
    to: str,
    dtypes: Sequence[str] = DEFAULT_DTYPES,
    *,
    pattern: str = "",
    limits: Limits | None = None,
    seed: int = 0,
) -> Iterator[Outcome]:
    """The same for operators as what they are made of, on the CPU: `to` is "core" or "prims".

    Functional operators outside of the set; one without a definition is missing.
    """
    for name, (_, _, variant, _, _, _) in OPERATORS.items():
        op = registry.operator(f"aten::{name}")
        if variant != "functional" or pattern not in op.qualified_name or is_leaf(op, to):
            continue
        for element in dtypes:
            yield _Decomposed(op, element, limits or Limits(), seed, to).outcome()


def check_forms(
    form: str,
    names: Sequence[str],
    dtypes: Sequence[str] = DEFAULT_DTYPES,
    *,
    limits: Limits | None = None,
    seed: int = 0,
) -> Iterator[Outcome]:
    """The same for the operators named, in a form that programs can be brought into.

    `form` is "core" or "prims", what they are made of; "functional", without writes but for those
    to arguments at the end; or "fake", where sizes, strides and dtypes are compared, and operators
    pass whose results depend on values and which say so. Raises ValueError for other forms.
    """
    if form not in FORMS:
        raise ValueError(f"check_forms: form must be one of {', '.join(FORMS)}, got {form!r}")
    for name in names:
        for element in dtypes:
            examination = FORMS[form](registry.operator(name), element, limits or Limits(), seed)
            yield examination.outcome()


class _Examination:
    """One operator and dtype on a device."""

    def __init__(self, op: Any, dtype: str, device: Any, limits: Limits, seed: int) -> None:
        self._op = op
        self._dtype = dtype
        self._device = device
        self._is_primitive = op.qualified_name.startswith("prims::")
        self._limits = limits
        self._seed = f"{seed}/{op.qualified_name}/{dtype}"

    def outcome(self) -> Outcome:
        compared = 0
        for chosen, seed in self._chosen():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    compared += self._compare(chosen, seed)
                except UndecomposedError as missing:
                    return self._result(MISSING, compared, str(missing))
                except NotImplementedError as missing:
                    if "no kernel for the dispatch key" not in str(missing):
                        return self._result(FAILED, compared, _described(missing))
                    return self._result(MISSING, compared, str(missing).partition("; kernels")[0])
                except Exception as failure:
                    if "CPU tensor" in str(failure):
                        continue  # an argument that is a number's place, on every device
                    return self._result(FAILED, compared, _described(failure))
            if compared >= self._limits.compared:
                break
        return self._result(PASSED if compared else NOT_CALLED, compared)

    def _run(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return self._op(*args, **kwargs)

    def _result(self, status: str, calls: int, reason: str = "") -> Outcome:
        return Outcome(self._op.qualified_name, self._dtype, status, calls, reason)

    def _chosen(self) -> Iterator[tuple[Combination, str]]:
        source = random.Random(self._seed)
        self._chooser = Chooser((self._dtype,))
        for number in range(self._limits.drawn):
            chosen = self._chooser.choose(self._op, source)._replace(dtype=self._dtype)
            yield chosen, f"{self._seed}/{number}"

    def _compare(self, chosen: Combination, seed: str) -> int:
        """Compare one call; 1 where the CPU takes it, and it therefore counts."""
        try:
            host = self._arguments(chosen, seed)
            there = _moved(self._arguments(chosen, seed), self._device)
        except Exception:  # a story that is not for this operator
            return 0
        aten.manual_seed(0)
        expected, error = _called(self._op, host)
        self._chooser.note(self._op, chosen, error is None)
        if error is not None:
            if self._is_primitive or isinstance(error, (TypeError, AssertionError)):
                return 0  # the arguments, not the operator, are wrong
            if not isinstance(self, _Decomposed):
                _compare_error(self._op, there, error)
            return 0
        if self._is_beside(host, expected):
            return 0
        aten.manual_seed(0)
        given = self._run(*there)
        self._compare_results(given, expected, there, host)
        return 1

    def _is_beside(self, *values: Any) -> bool:
        """Whether a call is about types that few devices have, and that were not asked for."""
        elements = {one.dtype.name for one in _tensors_of(values)}
        elements |= {one.name for one in _leaves(values) if isinstance(one, dtype)}
        rare = {name for name in elements if name.startswith(_RARE)}
        return bool(rare - {self._dtype})

    def _arguments(self, chosen: Combination, seed: str) -> tuple[list[Any], dict[str, Any]]:
        """A call's arguments; dimensions of primitives count from the front, each once."""
        positional, keywords = ValidCalls(self._op, chosen, seed).arguments()
        if self._is_primitive:
            self._fit_primitive(positional)
        return positional, keywords

    def _fit_primitive(self, positional: list[Any]) -> None:
        """Raises LookupError for a call that no definition makes."""
        names = [one.name for one in self._op._schema.arguments][: len(positional)]
        elements = {one.dtype.name for one in _tensors_of(positional)}
        if elements & {"float16", "bfloat16"} or (
            self._op.name == "xor" and "64" not in self._dtype
        ):
            raise LookupError("arithmetic is not done in this dtype")
        if self._op.name in _FACTORIZATIONS and not self._dtype.startswith(("float", "complex")):
            raise LookupError("there are no factors in this dtype")
        rank = positional[0].dim() if isinstance(positional[0], Tensor) else 1
        if "dim" in names and rank == 0:
            raise LookupError("a dimension of none")
        if "dims" in names and positional[names.index("dims")] is not None:
            listed = positional[names.index("dims")]
            dims = sorted({dim % rank for dim in listed}) if rank else []
            is_scan = self._op.entry.kind == "prim scan"
            positional[names.index("dims")] = dims[:1] if is_scan else dims

    def _compare_results(self, given: Any, expected: Any, there: Any, host: Any) -> None:
        ours, theirs = _tensors_of(given), _tensors_of(expected)
        if len(ours) != len(theirs):
            raise AssertionError(f"{len(ours)} tensors, expected {len(theirs)}")
        pairs = [*zip(ours, theirs, strict=True)]
        written = [*zip(_tensors_of(there), _tensors_of(host), strict=True)]
        for one, other in (*pairs, *written):
            _compare_description(one, other)
        if not _is_drawn(self._op):
            places = _COMPARED.get(self._op.name, range(len(pairs)))
            loose = 1e-3 if "_estimate" in self._op.name else 0.0
            for place in places:
                if place < len(pairs):
                    _compare_values(*pairs[place], loose)
            for one, other in () if self._op.name in _COMPARED else written:
                _compare_values(one, other)
        if not theirs and type(given) is not type(expected):
            raise AssertionError(f"{given!r}, expected {expected!r}")
        _compare_sharing([*ours, *_tensors_of(there)], [*theirs, *_tensors_of(host)])


class _Decomposed(_Examination):
    """One operator and dtype, as what it is made of."""

    def __init__(self, op: Any, dtype: str, limits: Limits, seed: int, to: str) -> None:
        super().__init__(op, dtype, aten.device("cpu"), limits, seed)
        self._to = to

    def _run(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        with Decompose(self._to):
            return self._op(*args, **kwargs)


class _Functional(_Examination):
    """One operator and dtype, without writes."""

    def __init__(self, op: Any, dtype: str, limits: Limits, seed: int) -> None:
        super().__init__(op, dtype, aten.device("cpu"), limits, seed)

    def _run(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        with _Writes() as seen:
            result = functionalize(self._op)(*args, **kwargs)
        if seen.names - {"aten::copy_", self._op.qualified_name}:
            raise AssertionError(f"writes by {', '.join(sorted(seen.names))}")
        return result


class _Writes(DispatchMode):
    """The operators called that write to an argument."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def call(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(one.is_write for one in op._schema.arguments):
            self.names.add(op.qualified_name)
        return op(*args, **kwargs)


class _Fake(_Examination):
    """One operator and dtype on tensors without data."""

    def __init__(self, op: Any, dtype: str, limits: Limits, seed: int) -> None:
        super().__init__(op, dtype, aten.device("cpu"), limits, seed)

    def _run(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        mode = FakeTensorMode()
        with mode:
            made = map_tensors(mode.from_tensor, [args, kwargs])
            try:
                return self._op(*made[0], **made[1])
            except (DataDependentOutputException, DynamicOutputShapeException):
                return None

    def _compare_results(self, given: Any, expected: Any, there: Any, host: Any) -> None:
        ours, theirs = _tensors_of(given), _tensors_of(expected)
        if given is None:
            return
        for one, other in zip(ours, theirs, strict=True):
            _compare_description(one, other)
            if one.stride() != other.stride() and other.numel():
                raise AssertionError(f"strides {one.stride()}, expected {other.stride()}")


FORMS: dict[str, Callable[[Any, str, Limits, int], _Examination]] = {
    "core": partial(_Decomposed, to="core"),
    "prims": partial(_Decomposed, to="prims"),
    "functional": _Functional,
    "fake": _Fake,
}


def _is_drawn(op: Any) -> bool:
    if op.qualified_name in _DRAWN:
        return True
    return op.name.startswith(_UNINITIALIZED) or any(tag in op.entry.tags for tag in _RANDOM)


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _called(op: Any, arguments: Any) -> tuple[Any, Exception | None]:
    try:
        return op(*arguments[0], **arguments[1]), None
    except Exception as error:
        return None, error


def _compare_error(op: Any, there: Any, expected: Exception) -> None:
    _, raised = _called(op, there)
    if raised is None:
        raise AssertionError(f"accepts what the CPU refuses with {_described(expected)}")
    if "no kernel for the dispatch key" in str(raised):
        raise raised
    # Devices may look at values where they are used, and name the error for that.
    kinds = (RuntimeError, IndexError, ValueError)
    alike = isinstance(raised, kinds) and isinstance(expected, kinds)
    if not alike and type(raised) is not type(expected):
        raise AssertionError(f"raises {_described(raised)}, expected {_described(expected)}")


class _Mover:
    """Tensors to a device; those that share memory share it afterwards, strides stay."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._moved: dict[int, tuple[Any, Tensor]] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            return type(value)(map(self, value))
        if isinstance(value, dict):
            moved = {name: self(one) for name, one in value.items()}
            return moved | ({"device": self._device} if moved.get("device") == "cpu" else {})
        return self._device if isinstance(value, str) and value == "cpu" else value

    def _tensor(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        known = self._moved.get(id(storage))
        if known is None:
            count = storage.nbytes() // tensor.itemsize
            whole = tensor.as_strided((count,), (1,), 0).to(self._device)
            known = self._moved[id(storage)] = (storage, whole)
        whole = known[1] if known[1].dtype is tensor.dtype else known[1].view(tensor.dtype)
        return whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _moved(arguments: Any, device: Any) -> Any:
    return _Mover(device)(arguments)


def _tensors_of(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        return _tensors_of(list(value.values()))
    if isinstance(value, (list, tuple)):
        return [one for inner in value for one in _tensors_of(inner)]
    return []


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from _leaves(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _compare_description(given: Tensor, expected: Tensor) -> None:
    if given.dtype is not expected.dtype:
        raise AssertionError(f"dtype {given.dtype}, expected {expected.dtype}")
    if given.shape != expected.shape:
        raise AssertionError(f"shape {list(given.shape)}, expected {list(expected.shape)}")


def _compare_values(given: Tensor, expected: Tensor, loose: float = 0.0) -> None:
    if given.numel() == 0:
        return
    ours = _numbers(given.to("cpu"))
    theirs = _numbers(expected)
    if not (expected.dtype.is_floating_point or expected.dtype.is_complex):
        wrong = [
            place for place, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1]
        ]
        _report(wrong, ours, theirs)
        return
    finite = [abs(one) for one in theirs if math.isfinite(abs(one))]
    tolerance = max(loose, _TOLERANCES.get(expected.dtype.name, _TOLERANCE))
    bound = tolerance * max(1.0, *finite, 0.0)
    wrong = [
        place
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True))
        if not _near(one, other, bound)
    ]
    _report(wrong, ours, theirs)


def _numbers(tensor: Tensor) -> list[Any]:
    return tensor.resolve_conj().resolve_neg().reshape((-1,)).tolist()


def _near(given: Any, expected: Any, bound: float) -> bool:
    if isinstance(expected, complex):
        # A number of which a part is NaN is none; which part, arithmetic does not say.
        if cmath.isnan(expected) or cmath.isnan(given):
            return cmath.isnan(expected) and cmath.isnan(given)
        return _near(given.real, expected.real, bound) and _near(given.imag, expected.imag, bound)
    if math.isnan(expected) or math.isinf(expected):
        return given == expected or (math.isnan(given) and math.isnan(expected))
    return bool(abs(given - expected) <= bound)


def _report(wrong: list[int], ours: list[Any], theirs: list[Any]) -> None:
    if wrong:
        first = wrong[0]
        raise AssertionError(
            f"{len(wrong)} of {len(theirs)} elements differ; the first, at {first}, is "
            f"{ours[first]}, expected {theirs[first]}"
        )


def _compare_sharing(ours: list[Tensor], theirs: list[Tensor]) -> None:
    """The same pairs of results and operands share a storage."""
    for one, other in itertools.combinations(range(len(ours)), 2):
        shared = ours[one].untyped_storage() is ours[other].untyped_storage()
        expected = theirs[one].untyped_storage() is theirs[other].untyped_storage()
        if shared != expected and ours[one].numel() and ours[other].numel():
            raise AssertionError(
                f"tensors {one} and {other} of results and operands "
                f"{'share' if shared else 'do not share'} memory"
            )


def summary(outcomes: Sequence[Outcome]) -> str:
    """One line: how many operators and dtypes passed, failed, are missing, were not called."""
    counts = Counter(one.status for one in outcomes)
    order = (PASSED, FAILED, MISSING, NOT_CALLED)
    return f"{len(outcomes)}: " + ", ".join(f"{counts[status]} {status}" for status in order)


def write_json(path: Path, device: str, outcomes: Sequence[Outcome]) -> None:
    """The outcomes as a list of objects."""
    listed = [one._asdict() for one in outcomes]
    path.write_text(json.dumps({"device": device, "outcomes": listed}, indent=1) + "\n")


def write_junit(path: Path, device: str, outcomes: Sequence[Outcome]) -> None:
    """The outcomes as JUnit's XML: a case for each operator and dtype."""
    counts = Counter(one.status for one in outcomes)
    suite = ElementTree.Element(
        "testsuite",
        name=f"conformance of {device}",
        tests=str(len(outcomes)),
        failures=str(counts[FAILED]),
        errors=str(counts[MISSING]),
        skipped=str(counts[NOT_CALLED]),
    )
    kinds = {FAILED: "failure", MISSING: "error", NOT_CALLED: "skipped"}
    for one in outcomes:
        case = ElementTree.SubElement(
            suite, "testcase", classname=one.operator, name=f"{one.operator}[{one.dtype}]"
        )
        if one.status in kinds:
            ElementTree.SubElement(case, kinds[one.status], message=one.reason)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
