"""`vmap` against loops over rows, and torch's `vmap` where it refuses."""

import pickle
import subprocess
import sys

import batching_checks
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import aten

# Of each family a few entries; `tools/batching_database.py` calls all.
NAMES = """
    add mul.  where clamp pow masked_fill lerp addcmul sum mean.  prod var amax argmax norm. cumsum
    sort topk median softmax log_softmax gather scatter scatter_add index_select index_put index_add
    index_copy take_along_dim cat stack split unbind squeeze unsqueeze expand permute view reshape
    transpose narrow select diagonal unfold roll flip repeat tile matmul mm bmm mv dot addmm baddbmm
    linalg.solve linalg.cholesky linalg.inv linalg.svd linalg.pinv nn.functional.linear
    nn.functional.conv2d nn.functional.conv_transpose2d nn.functional.max_pool2d
    nn.functional.avg_pool2d nn.functional.interpolate.bilinear nn.functional.layer_norm
    nn.functional.embedding
    nn.functional.pad.constant nn.functional.cross_entropy fft.fft special.i0e as_strided new_zeros
""".split()


def _entries():
    wanted = {name.rstrip(".") for name in NAMES}
    for entry in op_db:
        name = f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name
        if name in wanted:
            yield pytest.param(entry, id=name)


@pytest.mark.parametrize("entry", list(_entries()))
def test_rows_are_what_a_loop_gives(entry):
    problem, compared = batching_checks.check(entry, torch.float32, 3)
    assert problem is None
    assert compared > 0


X = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def both(function, *args, **kwargs):
    """What `function` gives with aten; torch's is the same."""
    found = function(aten, *args, **kwargs)
    expected = function(torch, *args, **kwargs)
    assert found.tolist() == expected.tolist()
    return found


def test_dimensions_and_nesting():
    both(lambda t: t.vmap(lambda a: a * 2, in_dims=1, out_dims=1)(t.tensor(X)))
    both(lambda t: t.vmap(lambda a, b: a + b, in_dims=(None, 0))(t.tensor(X), t.ones(4)))
    both(
        lambda t: t.vmap(t.vmap(t.dot, in_dims=(None, 0)), in_dims=(0, None))(
            t.tensor(X), t.tensor(X)
        )
    )
    both(lambda t: t.vmap(lambda d: d["a"] @ d["b"])({"a": t.tensor(X), "b": t.tensor(X)}))
    both(
        lambda t: t.vmap(lambda a, b: a[0] * b, in_dims=((0, None), 1))(
            (t.tensor(X), 3), t.tensor(X).t()
        )
    )
    both(lambda t: t.vmap(lambda a: t.ones(2) + 0, out_dims=0)(t.tensor(X)))
    both(lambda t: t.vmap(lambda a: a.sum(), chunk_size=2)(t.tensor(X)))
    both(lambda t: t.vmap(lambda a, *, k: a + k)(t.tensor(X), k=t.tensor([1.0, 2.0])))


def test_numbers_and_types():
    both(lambda t: t.vmap(lambda a, b: a * b)(t.tensor([1, 2]), t.tensor([0.5, 0.25])))
    for second in (aten.float64, aten.int64, aten.float16):
        found = aten.vmap(lambda a, b: a + b)(
            aten.ones(3, dtype=second), aten.ones(3, 2, dtype=aten.float32)
        )
        expected = aten.ones((), dtype=second) + aten.ones(2, dtype=aten.float32)
        assert found.dtype == expected.dtype


def test_writes():
    x = aten.tensor(X)
    aten.vmap(lambda a: a.mul_(2))(x)
    assert x.tolist() == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]
    aten.vmap(lambda a: a[0].fill_(7))(x)
    assert x[:, 0].tolist() == [7.0] * 3
    both(lambda t: t.vmap(lambda a: a.new_zeros(2).add_(a))(t.tensor(X)))
    for library in (aten, torch):
        alike = (library.tensor(X), library.zeros(2))
        with pytest.raises(RuntimeError):
            library.vmap(lambda a, c: c.add_(a), in_dims=(0, None))(*alike)
        with pytest.raises(RuntimeError):
            library.vmap(_add_to, in_dims=(0, None, None))(*alike, library)


def _add_to(a, c, library):
    return library.add(a, a, out=c)


def test_indices_that_are_rows():
    both(lambda t: t.vmap(lambda a, i: a[i])(t.tensor(X), t.tensor([0, 1, 1])))
    both(lambda t: t.vmap(lambda i: t.tensor(X)[i])(t.tensor([2, 0, -1])))
    both(lambda t: t.vmap(lambda i: t.tensor(X)[:, i])(t.tensor([1, 0])))
    both(lambda t: t.vmap(lambda i: t.tensor(X)[i, 1])(t.tensor([2, 0])))
    both(
        lambda t: t.vmap(lambda a, i: a.index_select(0, i))(t.tensor(X), t.tensor([[0], [1], [1]]))
    )

    def put(t):
        def write(a, i):
            made = a.clone()
            made[i] = 7.0
            return made

        return t.vmap(write)(t.tensor(X), t.tensor([0, 1, 1]))

    both(put)


def test_chunks_draw_the_same_numbers():
    found = []
    for library in (aten, torch):
        library.manual_seed(3)
        drawing = library.func.vmap(
            lambda row, library=library: row + library.randn(2), randomness="same", chunk_size=2
        )
        found.append([drawing(library.zeros(5, 2)).tolist(), library.rand(1).item()])
    assert found[0] == found[1]


def test_random_numbers():
    x = aten.tensor(X)
    with pytest.raises(RuntimeError, match="randomness"):
        aten.vmap(lambda a: aten.rand(2))(x)
    with pytest.raises(RuntimeError, match="randomness"):
        aten.vmap(lambda a: a.bernoulli())(x.sigmoid())
    same = aten.vmap(lambda a: aten.randn(2), randomness="same")(x)
    assert same[0].tolist() == same[1].tolist() == same[2].tolist()
    same = aten.vmap(lambda a: aten.rand_like(a), randomness="same")(x)
    assert same[0].tolist() == same[1].tolist()
    for draw in (
        lambda a: aten.randn(2),
        lambda a: aten.rand_like(a),
        lambda a: aten.nn.functional.dropout(aten.ones(64)),
        lambda a: aten.nn.functional.dropout(a.expand(32, 2)),
        lambda a: aten.randperm(50),
        lambda a: a.new_empty(20).normal_(),
    ):
        rows = aten.vmap(draw, randomness="different")(x)
        assert rows[0].tolist() != rows[1].tolist() != rows[2].tolist()
    both_levels = aten.vmap(
        lambda a: aten.vmap(lambda b: aten.rand(()), randomness="different")(a),
        randomness="different",
    )(x)
    assert len(set(both_levels.flatten().tolist())) == 6


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.sum().item(),
        lambda a: a if a.sum() > 0 else -a,
        lambda a: a.tolist(),
        lambda a: a.nonzero(),
        lambda a: a[a > 2],
        lambda a: float(a[0]),
        lambda a: a.numpy(),
    ],
)
def test_what_depends_on_data_is_refused(function):
    with pytest.raises(RuntimeError, match="vmap"):
        aten.vmap(function)(aten.tensor(X))


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (lambda t: (t.ones(2), t.ones(3)), {}),
        (lambda t: (t.ones(2), t.ones(2)), {"in_dims": (0,)}),
        (lambda t: (t.ones(2), t.ones(2)), {"in_dims": (None, None)}),
        (lambda t: (t.ones(2), t.ones(2)), {"in_dims": (0, 1)}),
        (lambda t: (t.ones(2), t.ones(2)), {"in_dims": "x"}),
        (lambda t: (t.ones(2), 3), {"in_dims": (0, 0)}),
        (lambda t: (t.ones(2), t.ones(2)), {"out_dims": (0, 0)}),
        (lambda t: (t.ones(2), t.ones(2)), {"out_dims": None}),
        (lambda t: (t.ones(2), t.ones(2)), {"chunk_size": 0}),
    ],
)
def test_wrong_batches(arguments, options):
    for library in (aten, torch):
        with pytest.raises(ValueError):
            library.vmap(lambda a, b: a + b, **options)(*arguments(library))


def test_results_are_tensors_and_modes_are_known():
    with pytest.raises(ValueError, match="must return tensors"):
        aten.vmap(lambda a: 3)(aten.ones(2))
    with pytest.raises(RuntimeError, match="randomness"):
        aten.vmap(lambda a: a, randomness="none")
    # A level is left also where the function raises.
    with pytest.raises(ZeroDivisionError):
        aten.vmap(lambda a: 1 // 0)(aten.ones(2))
    assert aten.rand(2).shape == (2,)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.requires_grad_(),
        lambda a: aten.nn.Parameter(a) * 2,
        lambda a: a.as_subclass(type("Other", (aten.Tensor,), {})) * 2,
        lambda a: a.as_strided((100,), (1,)),
        lambda a: a.resize_(100),
        lambda a: aten.ones(2).set_(a),
        lambda a: aten.from_dlpack(a),
        lambda a: aten.save(a, "nowhere"),
    ],
)
def test_what_rows_cannot_be(function):
    with pytest.raises((RuntimeError, BufferError, pickle.PicklingError)):
        aten.vmap(function)(aten.tensor(X))


def test_what_goes_back_through_views():
    whole, sliced = aten.rand(3, 4, 2), aten.rand(3, 4, 2)
    for call, rows in (
        (lambda a: aten.ops.aten.select_backward(a, [4, 5, 2], 1, -1), whole),
        (lambda a: aten.ops.aten.select_backward(a, [4, 2, 3], -1, 0), whole),
        (lambda a: aten.ops.aten.slice_backward(a, [4, 9], 1, 2, 6, 2), sliced),
        (lambda a: aten.ops.aten.diagonal_backward(a, [2, 4, 3], 0, 0, -1), aten.rand(3, 4, 2)),
    ):
        expected = aten.stack([call(row) for row in rows])
        assert aten.vmap(call)(rows).tolist() == expected.tolist()


def test_operands_of_unlike_ranks():
    both(lambda t: t.vmap(lambda a, v: a.clone().fill_(v))(t.zeros(2, 3), t.tensor([1.0, 2.0])))
    filled = aten.vmap(aten.fill)(aten.zeros(2, 3), aten.tensor([1.0, 2.0]))
    assert filled.tolist() == [[1.0] * 3, [2.0] * 3]

    def drawn(t):
        means, deviations = t.zeros(2, 2), t.tensor([0.0, 1e6])
        rows = t.vmap(t.normal, randomness="different")(means, deviations)
        return rows.abs() > 100

    both(drawn)
    both(
        lambda t: t.vmap(lambda a, p: a.clone().bernoulli_(p), randomness="different")(
            t.zeros(2, 2), t.tensor([0.0, 1.0])
        )
    )
    images = aten.arange(48.0).reshape(2, 2, 4, 3)
    shuffled = aten.stack([aten.native_channel_shuffle(one, 2) for one in images])
    assert aten.vmap(lambda a: aten.native_channel_shuffle(a, 2))(images).equal(shuffled)
    for library in (aten, torch):
        with pytest.raises(RuntimeError):
            library.vmap(lambda a, t: t.ops.aten.upsample_nearest2d(a, [2, 2]), in_dims=(0, None))(
                library.ones(2, 3, 4, 4), library
            )


def test_threads_that_are_first():
    """The rules are registered once, whichever threads ask for them first."""
    program = """
import sys, threading, warnings
import aten
sys.setswitchinterval(1e-6)
warnings.simplefilter("error")
x, barrier, wrong = aten.ones(3, 2), threading.Barrier(8), []
def work():
    barrier.wait()
    try:
        assert aten.vmap(lambda a: a.sum() + 1)(x).tolist() == [3.0] * 3
        forward = aten.autograd.forward_ad
        with forward.dual_level():
            assert forward.unpack_dual(forward.make_dual(x, x) * 2).tangent.sum() == 12
    except BaseException as error:
        wrong.append(error)
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not wrong, wrong
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_conjugates():
    """A row does not know of what its batch puts off."""
    for function in (lambda a: a.conj().imag, lambda a: a.conj().imag.neg() * a.real):
        x = aten.view_as_complex(aten.tensor(X))
        expected = aten.stack([function(row) for row in x])
        assert aten.vmap(function)(x).tolist() == expected.tolist()


def test_no_rows():
    found = aten.vmap(lambda a: (a.sum(), a @ aten.ones(2, 3)))(aten.ones(0, 4, 2))
    assert [tuple(one.shape) for one in found] == [(0,), (0, 4, 3)]


def test_one_kernel_serves_the_batch():
    """Products and convolutions of a batch are one call, not one for each row."""
    calls = []

    class Counting(aten.transforms.DispatchMode):
        def call(self, op, args, kwargs):
            calls.append(op.name)
            return op(*args, **kwargs)

    weight, images = aten.rand(4, 3, 3, 3), aten.rand(6, 2, 3, 8, 8)
    for function, name in (
        (lambda i: aten.nn.functional.conv2d(i, weight), "convolution"),
        (lambda i: i.reshape(2, -1).mT @ i.reshape(2, -1), "bmm"),
    ):
        calls.clear()
        with Counting():
            aten.vmap(function)(images)
        assert calls.count(name) <= 2, calls
        assert not any("select" in one for one in calls), calls


def test_operators_of_ones_own():
    @aten.library.custom_op("test_batching::halved", mutates_args=())
    def halved(x: aten.Tensor) -> aten.Tensor:
        return x / 2

    x = aten.tensor(X)
    assert aten.vmap(halved)(x).tolist() == (x / 2).tolist()
    seen = []

    @aten.library.register_vmap("test_batching::halved")
    def rule(info, in_dims, x):
        seen.append((info.batch_size, in_dims))
        return halved(x), in_dims[0]

    assert aten.vmap(halved, in_dims=1)(x).tolist() == (x / 2).t().tolist()
    assert seen == [(2, (0,))]
