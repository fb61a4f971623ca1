"""Which results a checkpointed function keeps, and which it computes again."""

from __future__ import annotations

import enum
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

from aten._core.dispatch.dispatcher import OpOverload
from aten._core.tensor.tensor import Tensor
from aten.backends.modes import DispatchMode
from aten.registry import ops
from aten.transforms.trees import tensors_in
from aten.utils._pytree import tree_map

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
]


class CheckpointPolicy(enum.Enum):
    """What becomes of an operator's results: a compiler may overrule those that prefer."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


# Memory of the host's is where tensors lie anyway: to offload is to save.
_KEPT = frozenset(
    {
        CheckpointPolicy.MUST_SAVE,
        CheckpointPolicy.PREFER_SAVE,
        CheckpointPolicy.MUST_CPU_OFFLOAD,
        CheckpointPolicy.PREFER_CPU_OFFLOAD,
    }
)
# Operators that no policy is asked about: they compute nothing.
SAC_IGNORED_OPS = frozenset({ops.aten.detach.default})


class SelectiveCheckpointContext:
    """What a policy is told besides the call: whether it is made again, and what it gave."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Kept:
    """Results of one call, with the versions of their tensors."""

    def __init__(self, results: Any) -> None:
        self._results = tree_map(_detached, results)
        self._versions = [one._version for one in tensors_in(self._results)]

    def taken(self, op: OpOverload, may_change: bool) -> Any:
        """The results, as tensors that nothing is recorded of."""
        versions = [one._version for one in tensors_in(self._results)]
        if versions != self._versions and not may_change:
            raise RuntimeError(
                f"checkpoint: a result of {op} that was kept has been written to since; "
                f"allow_cache_entry_mutation=True takes it as it is"
            )
        return tree_map(_detached, self._results)


_Decided = dict[OpOverload, deque["_Kept | None"]]


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _writes(op: OpOverload) -> bool:
    """Whether a call changes an argument: then it has to be made again, whatever is kept."""
    return any(argument.is_write for argument in op._schema.arguments)


class _Keeping(DispatchMode):
    """The first run: `decided` has for each operator what became of its calls, None for nothing."""

    def __init__(self, policy: Callable[..., Any], decided: _Decided) -> None:
        self._policy = policy
        self._decided = decided

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        results = op(*args, **kwargs)
        if op in SAC_IGNORED_OPS:
            return results
        context = SelectiveCheckpointContext(is_recompute=False, op_output=results)
        chosen = self._policy(context, op, *args, **kwargs)
        if isinstance(chosen, bool):
            chosen = CheckpointPolicy.MUST_SAVE if chosen else CheckpointPolicy.PREFER_RECOMPUTE
        if not isinstance(chosen, CheckpointPolicy):
            raise TypeError(
                f"create_selective_checkpoint_contexts: the policy gave "
                f"{type(chosen).__name__} for {op}, and should give a CheckpointPolicy"
            )
        keeps = chosen in _KEPT and not _writes(op)
        self._decided[op].append(_Kept(results) if keeps else None)
        return results


class _Taking(DispatchMode):
    """The second run: what was kept is not computed."""

    def __init__(self, decided: _Decided, may_change: bool) -> None:
        self._decided = decided
        self._may_change = may_change

    def call(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op in SAC_IGNORED_OPS:
            return op(*args, **kwargs)
        waiting = self._decided.get(op)
        if waiting is None:
            raise RuntimeError(f"checkpoint: {op} is called when run again, and was not before")
        if not waiting:
            raise RuntimeError(
                f"checkpoint: {op} is called more often than before: a function that is "
                f"selectively checkpointed does the same every time, and goes back once"
            )
        kept = waiting.popleft()
        return op(*args, **kwargs) if kept is None else kept.taken(op, self._may_change)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | Sequence[OpOverload],
    allow_cache_entry_mutation: bool = False,
) -> tuple[DispatchMode, DispatchMode]:
    """The contexts for `checkpoint`'s `context_fn` that keep the results of some operators.

    A policy is called as `policy(context, op, *args, **kwargs)` in the first run, with a
    `SelectiveCheckpointContext`, and gives a `CheckpointPolicy`; a list names the operators that
    are kept. Operators that write to an argument are called again. A kept result that was written
    to is an error, unless `allow_cache_entry_mutation`.

    Raises:
        TypeError: what is given is neither; an element of the list is no overload.

    Example:

        >>> from functools import partial
        >>> from aten.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
        >>> keep = partial(create_selective_checkpoint_contexts, [aten.ops.aten.mm.default])
        >>> x = aten.eye(2).requires_grad_()
        >>> y = checkpoint(lambda x: (x @ x).sin(), x, use_reentrant=False, context_fn=keep)
        >>> y.sum().backward()
        >>> x.grad
        tensor([[1.0806, 2.0000],
                [2.0000, 1.0806]])
    """
    decided: _Decided = defaultdict(deque)
    policy = _policy_of(policy_fn_or_list)
    return _Keeping(policy, decided), _Taking(decided, allow_cache_entry_mutation)


def _policy_of(given: Any) -> Callable[..., Any]:
    if callable(given) and not isinstance(given, OpOverload):
        policy: Callable[..., Any] = given
        return policy
    if not isinstance(given, (list, tuple)):
        raise TypeError(
            f"create_selective_checkpoint_contexts: expected a function or a list of operators, "
            f"got {type(given).__name__}"
        )
    for one in given:
        if not isinstance(one, OpOverload):
            raise TypeError(
                f"create_selective_checkpoint_contexts: expected overloads, as "
                f"aten.ops.aten.mm.default, got {one!r}"
            )
    saved = frozenset(given)

    def chosen(context: Any, op: OpOverload, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        if op in saved:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    return chosen
