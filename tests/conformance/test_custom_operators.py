"""Programs with operators of one's own, as torch documents them, run by both."""

import itertools

import numpy
import pytest
import torch

import aten
from aten.library.checking import OpCheckError

MODULES = {"torch": torch, "aten": aten}
spaces = (f"own_{number}" for number in itertools.count())

NUMPY_SINE = """
@torch.library.custom_op(f"{space}::numpy_sin", mutates_args=())
def numpy_sin(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(numpy.sin(x.detach().numpy()))

@numpy_sin.register_fake
def _(x):
    return torch.empty_like(x)

def setup_context(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)

def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * x.cos()

numpy_sin.register_autograd(backward, setup_context=setup_context)
x = torch.tensor([-2.0, -1.0, 0.0, 0.5, 2.0], requires_grad=True)
y = numpy_sin(x)
(slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
(second,) = torch.autograd.grad(slope.sum(), x)
fake = numpy_sin(torch.ones(2, 3, device="meta"))
results = [y, slope, second, list(fake.shape), str(fake.device), y.requires_grad]
"""

KEYWORDS = """
@torch.library.custom_op(f"{space}::scaled", mutates_args=())
def scaled(x: torch.Tensor, *, by: float = 2.0) -> torch.Tensor:
    return x * by

def setup_context(ctx, inputs, keyword_only_inputs, output):
    ctx.by = keyword_only_inputs["by"]

scaled.register_autograd(lambda ctx, grad: grad * ctx.by, setup_context=setup_context)
x = torch.ones(3, requires_grad=True)
scaled(x, by=5.0).sum().backward()
results = [scaled(x), x.grad]
"""

LISTS = """
from typing import List, Sequence, Tuple
@torch.library.custom_op(f"{space}::weighed", mutates_args=())
def weighed(xs: Sequence[torch.Tensor], w: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    return xs[0] * w, xs[1] + w

def setup_context(ctx, inputs, output):
    xs, w = inputs
    ctx.save_for_backward(xs[0], w)

def backward(ctx, first, second):
    x, w = ctx.saved_tensors
    return [first * w, second], first * x + second

weighed.register_autograd(backward, setup_context=setup_context)
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0])
w = torch.tensor([5.0, 6.0], requires_grad=True)
first, second = weighed([a, b], w)
(first.sum() * 3 + second.sum()).backward()
results = [first, second, a.grad, b.grad, w.grad]
"""

WRITTEN = """
@torch.library.custom_op(f"{space}::sine_into", mutates_args={"output"}, device_types="cpu")
def sine_into(x: torch.Tensor, output: torch.Tensor) -> None:
    assert x.shape == output.shape
    numpy.sin(x.numpy(), out=output.numpy())

x = torch.linspace(0, 1, 5)
out = torch.empty(5)
given = sine_into(x, out)
results = [given, out, str(torch.library.infer_schema(sine_into._init_fn, mutates_args={"output"}))]
"""

LIBRARY = """
torch.library.define(f"{space}::mysum", "(Tensor x, int dim) -> Tensor")

@torch.library.impl(f"{space}::mysum", "CompositeExplicitAutograd")
def mysum(x, dim):
    return x.detach().sum(dim)

def backward(ctx, grad):
    return grad.unsqueeze(ctx.dim).expand(ctx.shape), None

def setup_context(ctx, inputs, output):
    x, ctx.dim = inputs
    ctx.shape = x.shape

torch.library.register_autograd(f"{space}::mysum", backward, setup_context=setup_context)
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
op = getattr(torch.ops, space).mysum
y = op(x, 1)
y.backward(torch.tensor([1.0, 2.0]))
results = [y, x.grad]
"""

KERNELS = """
@torch.library.custom_op(f"{space}::doubled", mutates_args=(), device_types="cpu")
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2

@doubled.register_kernel("cpu")
def _(x):
    return x * 3

y = doubled(torch.ones(2))
with doubled.set_kernel_enabled("cpu", enabled=False):
    pass
results = [y, doubled(torch.ones(2))]
"""

INSIDE = """
library = torch.library.Library(space, "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
x = torch.ones(3, requires_grad=True)
y = getattr(torch.ops, space).twice(x)
y.sum().backward()
results = [y, x.grad]
"""


def run(program, module):
    names = {"torch": MODULES[module], "numpy": numpy, "space": next(spaces)}
    exec(compile(program, "<program>", "exec"), names)
    return names["results"]


def plain(value):
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize(
    "program",
    [NUMPY_SINE, KEYWORDS, LISTS, WRITTEN, LIBRARY, KERNELS, INSIDE],
    ids=["numpy", "keywords", "lists", "written", "library", "kernels", "inside"],
)
def test_programs(program):
    ours, theirs = run(program, "aten"), run(program, "torch")
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        if hasattr(other, "tolist"):
            numpy.testing.assert_allclose(plain(one), plain(other), rtol=2e-6)
        else:
            assert one == other


def made(module, body, **options):
    torch_or_aten = MODULES[module]
    names = {"torch": torch_or_aten}
    exec(body, names)
    return torch_or_aten.library.custom_op(
        f"{next(spaces)}::made", names["made"], mutates_args=(), **options
    )


SAME = "def made(x: torch.Tensor) -> torch.Tensor:\n    return x"
VIEW = "def made(x: torch.Tensor) -> torch.Tensor:\n    return x[1:]"
CLONE = "def made(x: torch.Tensor) -> torch.Tensor:\n    return x.clone()"
WRITING = "def made(x: torch.Tensor) -> torch.Tensor:\n    return x.add_(1).clone()"
WRONG = "def made(x: torch.Tensor) -> torch.Tensor:\n    return 3"
TWICE = (
    "def made(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:\n"
    "    y = x + 1\n    return y, y.view(-1)"
)


@pytest.mark.parametrize("module", MODULES)
def test_wrong_use(module):
    library = MODULES[module]
    ones = library.ones(3)
    for body in (SAME, VIEW, TWICE):
        with pytest.raises(RuntimeError, match="may"):
            made(module, body)(ones)
    leaf = library.ones(3, requires_grad=True)
    result = made(module, CLONE)(leaf)
    assert result.requires_grad
    with pytest.raises(RuntimeError, match="register_autograd"):
        result.sum().backward()
    with pytest.raises(RuntimeError, match="fake"):
        made(module, CLONE)(library.ones(3, device="meta"))
    with pytest.raises(ValueError, match="annotation"):
        library.library.custom_op(f"{next(spaces)}::f", lambda x: x, mutates_args=())
    with pytest.raises(ValueError, match=r"mutates_args|mutate"):
        library.library.custom_op(f"{next(spaces)}::f", made(module, CLONE)._init_fn,
                                  mutates_args=("y",))  # fmt: skip
    own = made(module, CLONE)
    with pytest.raises((TypeError, RuntimeError)):
        own(3)
    own.register_autograd(lambda ctx, grad: (grad, grad))
    with pytest.raises(RuntimeError):
        own(leaf).sum().backward()


def test_a_result_of_another_type_is_refused():
    with pytest.raises(TypeError, match="expected Tensor from its kernel"):
        made("aten", WRONG)(aten.ones(3))


def test_what_writes_to_arguments_has_no_gradient():
    @aten.library.custom_op(f"{next(spaces)}::writing", mutates_args=("x",))
    def writing(x: aten.Tensor) -> None:
        x.add_(1)

    with pytest.raises(RuntimeError, match="writes to arguments"):
        writing.register_autograd(lambda ctx: None)
    assert writing(aten.ones(2, device="meta")) is None


def test_rules_for_batches_are_kept():
    own = made("aten", CLONE)
    rule = own.register_vmap(lambda info, dims, x: (own(x), dims[0]))
    assert aten.library.vmap_rule_of(own._opoverload) is rule
    own._lib._destroy()
    assert aten.library.vmap_rule_of(own._opoverload) is None


def checked(module, body, *args, fake="lambda x: torch.empty_like(x)", backward=None):
    library = MODULES[module]
    own = made(module, body)
    own.register_fake(eval(fake, {"torch": library}))
    if backward is not None:
        own.register_autograd(backward)
    outcome = library.library.opcheck(own, args, raise_exception=False)
    return {name: text == "SUCCESS" for name, text in outcome.items()}


@pytest.mark.parametrize(
    ("body", "fake"),
    [
        (CLONE, "lambda x: torch.empty_like(x)"),
        (CLONE, "lambda x: x.new_empty(4)"),
        (CLONE, "lambda x: torch.empty_like(x, dtype=torch.int64)"),
        (WRITING, "lambda x: torch.empty_like(x)"),
    ],
)
def test_opcheck_finds_what_torch_finds(body, fake):
    ours = checked("aten", body, aten.ones(3), fake=fake)
    theirs = checked("torch", body, torch.ones(3), fake=fake)
    for name in ("test_schema", "test_faketensor", "test_autograd_registration"):
        assert ours[name] == theirs[name], name


def test_opcheck_of_gradients():
    x = aten.ones(3, requires_grad=True)
    assert all(checked("aten", CLONE, x, backward=lambda ctx, grad: grad).values())
    library = aten.library.Library(next(spaces), "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x * 2, "CPU")
    op = getattr(aten.ops, library.ns).f
    with pytest.raises(OpCheckError, match="test_autograd_registration"):
        aten.library.opcheck(op, (x,))
    with pytest.raises(ValueError, match="no check"):
        aten.library.opcheck(op, (x,), test_utils="test_everything")
