"""What a checkpointed function keeps and computes again, beside torch."""

from functools import partial

import pytest
import torch
import torch.utils.checkpoint

import aten
import aten.utils.checkpoint

LIBRARIES = {"aten": aten, "torch": torch}


def training(lib, context_fn):
    """Gradients of a function, and what it calls when it is run again."""
    x = (lib.arange(9.0).reshape(3, 3) / 9).requires_grad_()
    w = (lib.arange(9.0).reshape(3, 3) / 7).requires_grad_()

    def block(x, w):
        return ((x @ w).sin() @ w.cos()).exp()

    y = lib.utils.checkpoint.checkpoint(block, x, w, use_reentrant=False, context_fn=context_fn)
    y.sum().backward()
    return x.grad.tolist(), w.grad.tolist()


def asked_by(lib, policy_of):
    """Gradients, and what the policy was asked: the run, the operator."""
    asked = []

    def policy(context, op, *args, **kwargs):
        asked.append((context.is_recompute, str(op)))
        return policy_of(lib.utils.checkpoint.CheckpointPolicy, op)

    contexts = partial(lib.utils.checkpoint.create_selective_checkpoint_contexts, policy)
    return training(lib, contexts), asked


POLICIES = {
    "products": lambda policy, op: policy.MUST_SAVE if "mm" in str(op) else policy.PREFER_RECOMPUTE,
    "all": lambda policy, op: policy.PREFER_SAVE,
    "none": lambda policy, op: policy.MUST_RECOMPUTE,
}


@pytest.mark.parametrize("name", POLICIES)
def test_policies_are_asked_and_followed_as_in_torch(name):
    (ours, asked), (theirs, asked_there) = (asked_by(lib, POLICIES[name]) for lib in (aten, torch))
    assert asked == asked_there
    torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs))


def test_what_is_listed_is_not_computed_again():
    calls = []

    class Counting(aten.transforms.DispatchMode):
        def call(self, op, args, kwargs):
            calls.append(str(op))
            return op(*args, **kwargs)

    def run(listed):
        calls.clear()
        contexts = partial(aten.utils.checkpoint.create_selective_checkpoint_contexts, listed)
        with Counting():
            training(aten, contexts)
        return calls.count("aten.mm.default"), calls.count("aten.exp.default")

    products, _ = run([])
    kept, _ = run([aten.ops.aten.mm.default])
    assert products - kept == 2


@pytest.mark.parametrize("lib", LIBRARIES.values(), ids=LIBRARIES)
def test_kept_results_that_are_written_to(lib):
    mm = lib.ops.aten.mm.default
    contexts = lib.utils.checkpoint.create_selective_checkpoint_contexts

    def block(x):
        y = x @ x
        z = y.sin()
        with lib.no_grad():
            y.add_(1)
        return z.exp()

    for allowed in (False, True):
        x = lib.eye(2).requires_grad_()
        y = lib.utils.checkpoint.checkpoint(
            block,
            x,
            use_reentrant=False,
            context_fn=partial(contexts, [mm], allow_cache_entry_mutation=allowed),
        )
        if allowed:
            y.sum().backward()
            continue
        with pytest.raises(RuntimeError):
            y.sum().backward()


def test_operators_that_write_are_called_again():
    """Their results are kept by nobody: what they write to would be as it was before."""

    def block(x):
        y = x.sin()
        y.add_(0.5)
        return y.exp() * y.cos()

    def gradient(run):
        x = aten.tensor([0.3, -0.7], requires_grad=True)
        run(x).sum().backward()
        return x.grad

    contexts = partial(
        aten.utils.checkpoint.create_selective_checkpoint_contexts, [aten.ops.aten.add_.Tensor]
    )
    checkpointed = partial(
        aten.utils.checkpoint.checkpoint, block, use_reentrant=False, context_fn=contexts
    )
    assert aten.equal(gradient(checkpointed), gradient(block))


@pytest.mark.parametrize("lib", LIBRARIES.values(), ids=LIBRARIES)
def test_it_goes_back_once(lib):
    x = lib.eye(2).requires_grad_()
    contexts = partial(
        lib.utils.checkpoint.create_selective_checkpoint_contexts, [lib.ops.aten.mm.default]
    )
    y = lib.utils.checkpoint.checkpoint(
        lambda x: (x @ x).sin().exp(), x, use_reentrant=False, context_fn=contexts
    )
    y.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError):
        y.sum().backward()


def test_what_is_no_policy():
    contexts = aten.utils.checkpoint.create_selective_checkpoint_contexts
    with pytest.raises(TypeError, match="a function or a list"):
        contexts(3)
    with pytest.raises(TypeError, match="expected overloads"):
        contexts([aten.ops.aten.mm])
    with pytest.raises(TypeError, match="CheckpointPolicy"):
        training(aten, partial(contexts, lambda context, op, *args, **kwargs: "keep"))
