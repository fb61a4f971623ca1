"""Weights of which some are held at zero: masks over parameters, chosen by size or by chance.

A pruned parameter `weight` becomes `weight_orig`, which is trained, and a buffer `weight_mask`;
before each call of the module `weight` is their product.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aten._core.tensor.tensor import Tensor
from aten.nn.modules.module import Module
from aten.registry import ops

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod:
    """A way to choose what is pruned. Subclasses write `compute_mask`.

    `PRUNING_TYPE` is "unstructured" for single elements, "structured" for channels along `dim`,
    and "global" for what looks at no more than what it is given.
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """`default_mask` with zeros for what is to go, of a tensor."""
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Any) -> Any:
        """The parameter, with zeros where it is pruned."""
        name = self._tensor_name
        mask = getattr(module, f"{name}_mask")
        original = getattr(module, f"{name}_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Prune a module's parameter, on top of what is pruned already. Returns the method."""
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        before = _method_of(module, name)
        original = getattr(module, f"{name}_orig" if before else name)
        scores = getattr(module, name) if importance_scores is None else importance_scores
        if scores.shape != getattr(module, name).shape:
            raise AssertionError("prune: importance_scores must be of the parameter's shape")
        if before is None:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", original)
            default = ops.aten.ones_like(original.detach())
        else:
            number, earlier = before
            default = getattr(module, f"{name}_mask").detach().clone()
            several = (
                earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
            )
            several.add_pruning_method(method)
            method = several
            del module._forward_pre_hooks[number]
        mask = method.compute_mask(scores, default_mask=default)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Any:
        """A tensor with zeros where it is pruned; nothing is kept of it."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("prune: importance_scores must be of the tensor's shape")
        default = ops.aten.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Any) -> None:
        """Make the pruned parameter an ordinary one again, with its zeros."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        original = module._parameters.pop(f"{name}_orig")
        original.data = pruned.detach()
        del module._buffers[f"{name}_mask"]
        module.__dict__.pop(name, None)
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter, the later ones on what the earlier have left."""

    PRUNING_TYPE = "mixed"

    def __init__(self, *args: Any) -> None:
        given = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        self._pruning_methods: list[Any] = []
        for method in given:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """One more method, which has to be of the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"prune: {type(method).__name__} is no BasePruningMethod")
        if self._pruning_methods and method._tensor_name != self._tensor_name:
            raise ValueError(
                f"prune: a method of {method._tensor_name!r} cannot go with those of "
                f"{self._tensor_name!r}"
            )
        self._tensor_name = method._tensor_name
        self._pruning_methods.append(method)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """What the last method prunes of what the others have left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = [one for one in range(t.dim()) if one != dim]
            kept = mask.sum(others) != 0
            places = ops.aten.nonzero(kept).reshape(-1)
            part, part_mask = (ops.aten.index_select(one, dim, places) for one in (t, mask))
            found = method.compute_mask(part, default_mask=part_mask)
            return ops.aten.index_copy(mask, dim, places, found.to(t.dtype))
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, default_mask=mask)
        left = mask == 1
        found = method.compute_mask(t[left], default_mask=mask[left])
        made = mask.clone()
        made[left] = found.to(made.dtype)
        return made


class Identity(BasePruningMethod):
    """Prunes nothing, but has the mask there."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        return default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes where a mask of one's own has zeros."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        return default_mask * self.mask.to(default_mask.dtype)


class RandomUnstructured(BasePruningMethod):
    """Prunes elements by chance: a number of them, or a part of all."""

    def __init__(self, amount: int | float) -> None:
        self.amount = _checked(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        count, mask = _count(self.amount, t.numel()), default_mask.clone()
        if count:
            places = ops.aten.topk(ops.aten.rand_like(t).reshape(-1), count)[1]
            mask.reshape(-1)[places] = 0
        return mask


class L1Unstructured(BasePruningMethod):
    """Prunes the smallest elements: a number of them, or a part of all."""

    def __init__(self, amount: int | float) -> None:
        self.amount = _checked(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        count, mask = _count(self.amount, t.numel()), default_mask.clone()
        if count:
            places = ops.aten.topk(ops.aten.abs(t).reshape(-1), count, largest=False)[1]
            mask.reshape(-1)[places] = 0
        return mask


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        self.amount, self.dim = _checked(amount), dim

    def _sizes_of_channels(self, t: Tensor) -> Any:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        if t.dim() < 2:
            raise ValueError(
                f"prune: channels are of tensors of 2 dimensions or more, not {t.dim()}"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"prune: {self.dim} is no dimension of a tensor of {t.dim()}")
        count = _count(self.amount, t.shape[self.dim])
        if not count:
            return default_mask
        kept = ops.aten.topk(self._sizes_of_channels(t), t.shape[self.dim] - count)[1]
        mask = ops.aten.zeros_like(t)
        index: list[Any] = [slice(None)] * t.dim()
        index[self.dim] = kept
        mask[tuple(index)] = 1
        return mask * default_mask.to(mask.dtype)


class RandomStructured(_Structured):
    """Prunes channels along `dim` by chance: a number of them, or a part of all."""

    def _sizes_of_channels(self, t: Tensor) -> Any:
        return ops.aten.rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Prunes the channels along `dim` of the smallest `n`-norms: a number of them, or a part."""

    def __init__(self, amount: int | float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _sizes_of_channels(self, t: Tensor) -> Any:
        others = [one for one in range(t.dim()) if one != self.dim % t.dim()]
        return t.norm(p=self.n, dim=others)


def _checked(amount: Any) -> Any:
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"prune: amount must be a number, not {type(amount).__name__}")
    if amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(f"prune: amount is a count, or a part from 0 to 1, not {amount}")
    return amount


def _count(amount: Any, of: int) -> int:
    if isinstance(amount, int) and amount > of:
        raise ValueError(f"prune: {amount} are to go, and there are {of}")
    return amount if isinstance(amount, int) else round(amount * of)


def _method_of(module: Any, name: str) -> tuple[int, Any] | None:
    """The method that prunes a parameter already, and the number of its hook."""
    for number, (hook, _) in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return number, hook
    return None


def identity(module: Module, name: str) -> Module:
    """Put a mask over a parameter that prunes nothing.

    Example:

        >>> layer = aten.nn.utils.prune.identity(aten.nn.Linear(2, 1), "weight")
        >>> layer.weight_mask
        tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: int | float) -> Module:
    """Prune elements of a parameter by chance: a number of them, or a part of all.

    Example:

        >>> layer = aten.nn.utils.prune.random_unstructured(aten.nn.Linear(4, 1), "weight", 3)
        >>> layer.weight_mask.sum()
        tensor(1.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: int | float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the smallest elements of a parameter: a number of them, or a part of all.

    Example:

        >>> layer = aten.nn.Linear(2, 1)
        >>> scores = aten.tensor([[1.0, 2.0]])
        >>> aten.nn.utils.prune.l1_unstructured(layer, "weight", 0.5, scores).weight_mask
        tensor([[0., 1.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: int | float, dim: int) -> Module:
    """Prune channels of a parameter along `dim` by chance.

    Example:

        >>> layer = aten.nn.utils.prune.random_structured(aten.nn.Linear(2, 3), "weight", 2, 0)
        >>> layer.weight_mask.sum()
        tensor(2.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: int | float,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the channels of a parameter along `dim` of the smallest `n`-norms.

    Example:

        >>> layer, scores = aten.nn.Linear(1, 2), aten.tensor([[1.0], [2.0]])
        >>> aten.nn.utils.prune.ln_structured(layer, "weight", 1, 2, 0, scores).weight_mask
        tensor([[0.],
                [1.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter where a mask has zeros.

    Example:

        >>> layer = aten.nn.Linear(2, 1)
        >>> aten.nn.utils.prune.custom_from_mask(layer, "bias", aten.zeros(1)).bias.item()
        0.0
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: Any,
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters as if they were one, by a method for single elements.

    Example:

        >>> layer, prune = aten.nn.Linear(3, 1), aten.nn.utils.prune
        >>> chosen = [(layer, "weight"), (layer, "bias")]
        >>> prune.global_unstructured(chosen, pruning_method=prune.L1Unstructured, amount=0.5)
        >>> (layer.weight_mask.sum() + layer.bias_mask.sum()).item()
        2.0
    """
    listed = list(parameters)
    given = importance_scores or {}
    scores = [given.get((module, name), getattr(module, name)) for module, name in listed]
    masks = [
        getattr(module, f"{name}_mask", ops.aten.ones_like(getattr(module, name).detach()))
        for module, name in listed
    ]
    several = PruningContainer()
    several._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f"global_unstructured: {pruning_method.__name__} does not prune single elements"
        )
    several.add_pruning_method(method)
    flat = ops.aten.cat([one.detach().reshape(-1) for one in scores])
    default = ops.aten.cat([one.reshape(-1) for one in masks])
    found = several.compute_mask(flat, default_mask=default)
    parts = ops.aten.split_with_sizes(found, [one.numel() for one in masks])
    for (module, name), part, mask in zip(listed, parts, masks, strict=True):
        custom_from_mask(module, name, mask=part.reshape(mask.shape))


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter an ordinary one again, with its zeros.

    Raises ValueError where it is not pruned.

    Example:

        >>> prune = aten.nn.utils.prune
        >>> layer = prune.remove(prune.identity(aten.nn.Linear(1, 1), "weight"), "weight")
        >>> sorted(layer.state_dict())
        ['bias', 'weight']
    """
    found = _method_of(module, name)
    if found is None:
        raise ValueError(f"prune: {name!r} of {type(module).__name__} is not pruned")
    number, method = found
    method.remove(module)
    del module._forward_pre_hooks[number]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter within `module` is pruned.

    Example:

        >>> aten.nn.utils.prune.is_pruned(aten.nn.Linear(1, 1))
        False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for inner in module.modules()
        for hook, _ in inner._forward_pre_hooks.values()
    )
