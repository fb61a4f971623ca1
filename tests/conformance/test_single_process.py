"""What is made for several processes, in one: against torch without a group of processes."""

from __future__ import annotations

import pytest
import torch

import aten


def test_synchronized_batch_norms():
    for library in (torch, aten):
        nn = library.nn
        given = nn.Sequential(nn.BatchNorm2d(3), nn.Sequential(nn.BatchNorm1d(2, affine=False)))
        made = nn.SyncBatchNorm.convert_sync_batchnorm(given)
        assert type(made[0]) is nn.SyncBatchNorm
        assert type(made[1][0]) is nn.SyncBatchNorm
        for shape in ((3,), (2, 0)):
            with pytest.raises(ValueError, match=r"2D|channels"):
                nn.SyncBatchNorm(3)(library.ones(shape))
    texts = [str(library.nn.SyncBatchNorm(3)) for library in (torch, aten)]
    assert texts[0] == texts[1]
    x = torch.randn(4, 3, 5)
    layers = [library.nn.SyncBatchNorm(3) for library in (torch, aten)]
    for training in (True, False):
        ours, theirs = (layer.train(training) for layer in reversed(layers))
        found, expected = ours(aten.from_numpy(x.numpy())), theirs(x)
        torch.testing.assert_close(torch.tensor(found.tolist()), expected.detach())


@pytest.mark.parametrize("count", [0, 1, 5, 6])
@pytest.mark.parametrize("replicas", [2, 3])
@pytest.mark.parametrize("drops", [True, False])
def test_distributed_samplers(count, replicas, drops):
    found = []
    for library in (torch, aten):
        orders = []
        for rank in range(replicas):
            made = library.utils.data.DistributedSampler(
                range(count), replicas, rank, seed=3, drop_last=drops
            )
            orders.append((len(made), list(made)))
            made.set_epoch(1)
            orders.append(list(made))
        found.append(orders)
    assert found[0] == found[1]


def test_distributed_samplers_need_a_group_or_numbers():
    for library in (torch, aten):
        for numbers in ((), (2, 2), (2, -1)):
            with pytest.raises(ValueError, match=r"group|rank"):
                library.utils.data.DistributedSampler([1, 2, 3], *numbers)


def test_sparse_adam_refuses_dense_gradients():
    for library in (torch, aten):
        parameter = library.ones(2, requires_grad=True)
        optimizer = library.optim.SparseAdam([parameter])
        optimizer.step()
        parameter.grad = library.ones(2)
        with pytest.raises(RuntimeError, match="dense"):
            optimizer.step()
        for wrong in ({"lr": 0.0}, {"eps": 0.0}, {"betas": (1.0, 0.9)}):
            with pytest.raises(ValueError, match=r"lr|learning|eps|beta"):
                library.optim.SparseAdam([parameter], **wrong)


@pytest.mark.parametrize("sizes", [(), (3, 2)])
def test_a_layer_and_its_loss(sizes):
    found = []
    for library in (torch, aten):
        library.manual_seed(0)
        made = library.nn.LinearCrossEntropyLoss(4, 5, out_features=sizes, bias=True)
        loss = made(library.ones(7, 4), library.zeros(7, *sizes, dtype=library.int64))
        shapes = [(name, tuple(value.shape)) for name, value in made.state_dict().items()]
        found.append((str(made), shapes, loss.item()))
    assert found[0][:2] == found[1][:2]
    assert found[0][2] == pytest.approx(found[1][2], rel=1e-6)


def test_hints_of_a_layer_and_its_loss():
    for library in (torch, aten):
        made = library.nn.LinearCrossEntropyOptions
        assert made(chunking_method="aspect_ratio:2").acc_policy == "auto"
        for wrong in (
            {"batch_chunk_size": 0},
            {"chunking_method": "x"},
            {"acc_policy": "x"},
            {"acc_dtype": library.int64},
        ):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                made(**wrong)
