"""Autocast on the CPU beside torch: types, values, gradients, settings, scaled losses."""

import warnings

import pytest
import torch

import aten
from aten._generated.table import OPERATORS
from aten.amp import autocast_operators

LIBRARIES = {"aten": aten, "torch": torch}
EXPRESSIONS = (
    "a @ b",
    "lib.mm(a, b)",
    "lib.addmm(a, a, b)",
    "lib.bmm(a[None], b[None])",
    "lib.nn.functional.linear(a, b)",
    "lib.nn.functional.conv1d(a[None], b[:, :, None])",
    "lib.nn.functional.conv2d(a[None, None], b[None, None])",
    "lib.nn.functional.scaled_dot_product_attention(a[None], b[None], a[None])",
    "lib.mm(a.double(), b.double())",
    "a + b",
    "a.half() + b",
    "lib.nn.functional.softmax(a, -1)",
    "lib.nn.functional.layer_norm(a, (4,))",
    "lib.nn.functional.mse_loss(a.bfloat16(), b.bfloat16())",
    "lib.nn.functional.l1_loss(a.half(), b.half())",
    "lib.nn.functional.cross_entropy(a.bfloat16(), lib.tensor([1, 2, 3, 0]))",
    "lib.prod(a.bfloat16())",
    "lib.linalg.inv(i.bfloat16())",
    "lib.trace(a.half())",
    "lib.cat([a, b.to(e)])",
    "lib.stack([a.to(e), b.to(e)])",
    "lib.cat([a, b])",
    "lib.mm(k, k)",
    "lib.einsum('ij,jk->ik', a, b)",
    "lib.nn.functional.relu(a @ b)",
    "(a @ b).sum()",
)


def computed(name, expression, element):
    lib = LIBRARIES[name]
    names = {
        "lib": lib,
        "a": lib.arange(16.0).reshape(4, 4) / 16,
        "b": lib.arange(16.0).reshape(4, 4).t() / 8 - 1,
        "i": lib.eye(4),
        "e": getattr(lib, element),
        "k": lib.arange(4).reshape(2, 2),
    }
    with lib.autocast("cpu", dtype=getattr(lib, element)):
        return eval(expression, names)


@pytest.mark.parametrize("element", ["bfloat16", "float16"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_types_and_values(expression, element):
    ours, theirs = computed("aten", expression, element), computed("torch", expression, element)
    assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2]
    tolerance = {"bfloat16": 2e-2, "float16": 2e-3}[element]
    torch.testing.assert_close(
        torch.tensor(ours.double().tolist()).float(), theirs.float(), rtol=tolerance, atol=tolerance
    )


def test_lists_are_those_of_torch():
    registered = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")
    theirs = {name.removeprefix("aten::") for name in registered if name.startswith("aten::")}
    ours = {
        *autocast_operators.LOWER,
        *autocast_operators.FLOAT32,
        *autocast_operators.PROMOTED,
    }
    assert ours <= theirs
    assert {name for name in theirs - ours if name in OPERATORS} <= {"index_copy.dimname"}


def trained(lib):
    """Gradients of a small network under autocast, and their types."""
    weight = (lib.arange(12.0).reshape(3, 4) / 12).requires_grad_()
    bias = lib.ones(3).requires_grad_()
    x = lib.arange(8.0).reshape(2, 4) / 8
    with lib.autocast("cpu", dtype=lib.bfloat16):
        hidden = lib.nn.functional.linear(x, weight, bias)
        again = lib.nn.functional.linear(x, weight, bias)
        loss = lib.nn.functional.mse_loss((hidden + again).relu(), lib.ones(2, 3))
    loss.backward()
    return [str(one.dtype)[-7:] for one in (hidden, loss, weight.grad, bias.grad)], weight.grad


def test_gradients_have_the_types_of_parameters():
    (ours, slope), (theirs, other) = trained(aten), trained(torch)
    assert ours == theirs
    torch.testing.assert_close(torch.tensor(slope.tolist()), other, rtol=2e-2, atol=2e-2)


def test_parameters_are_converted_once_in_a_region():
    class Counting(aten.utils._python_dispatch.TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += func.name == "_to_copy" or func.name == "to"
            return func(*args, **(kwargs or {}))

    weight = aten.ones(3, 3, requires_grad=True)
    x = aten.ones(3, 3, dtype=aten.bfloat16)

    def conversions(**options):
        with Counting() as counting, aten.autocast("cpu", **options):
            for _ in range(4):
                x @ weight
        return counting.count

    assert conversions(cache_enabled=False) == 4 * conversions() > 0
    with aten.autocast("cpu"):
        first = x @ weight
        with aten.no_grad():
            weight.mul_(3)
    with aten.autocast("cpu"):
        assert (x @ weight)[0, 0].item() == 3 * first[0, 0].item()


def test_settings_follow_regions():
    def seen(lib):
        found = []

        def note():
            found.append((
                lib.is_autocast_enabled("cpu"),
                str(lib.get_autocast_dtype("cpu"))[-8:], lib.is_autocast_cache_enabled(),
            ))  # fmt: skip

        note()
        with lib.autocast("cpu", dtype=lib.float16, cache_enabled=False):
            note()
            with lib.autocast("cpu", enabled=False):
                note()
                found.append(str((lib.ones(2, 2) @ lib.ones(2, 2)).dtype)[-7:])
            note()
        note()

        @lib.autocast("cpu")
        def product():
            return lib.ones(2, 2) @ lib.ones(2, 2)

        found.append(str(product().dtype)[-8:])
        lib.set_autocast_enabled("cpu", True)
        note()
        lib.set_autocast_enabled("cpu", False)
        note()
        return found

    assert seen(aten) == seen(torch)


@pytest.mark.parametrize("name", LIBRARIES)
def test_wrong_use(name):
    lib = LIBRARIES[name]
    with pytest.raises(ValueError, match="device_type"):
        lib.autocast(3)
    with pytest.raises(RuntimeError):
        lib.autocast("nowhere")
    with pytest.warns(UserWarning, match="float16"):
        region = lib.autocast("cpu", dtype=lib.float64)
    with region:
        assert (lib.ones(2, 2) @ lib.ones(2, 2)).dtype == lib.float32


def test_half_types_may_be_mixed():
    with aten.autocast("cpu"):
        made = aten.cat([aten.ones(2).bfloat16(), aten.ones(2).half()])
    assert made.dtype is aten.float32


def test_errors_leave_the_region():
    with pytest.raises(ZeroDivisionError), aten.autocast("cpu"):
        raise ZeroDivisionError
    assert not aten.is_autocast_enabled("cpu")
    assert (aten.ones(2, 2) @ aten.ones(2, 2)).dtype is aten.float32


def functions(lib):
    class Product(lib.autograd.Function):
        @staticmethod
        @lib.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a.mm(b)

        @staticmethod
        @lib.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad.mm(b.t()), a.t().mm(grad)

    class InFloat32(lib.autograd.Function):
        @staticmethod
        @lib.amp.custom_fwd(device_type="cpu", cast_inputs=lib.float32)
        def forward(ctx, a):
            ctx.seen = a.dtype
            return a.mm(a)

        @staticmethod
        @lib.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad.mm(grad)

    a = lib.ones(2, 2, requires_grad=True)
    with lib.autocast("cpu"):
        first = Product.apply(a, a)
        second = InFloat32.apply(a.bfloat16())
    first.sum().backward()
    return [str(first.dtype)[-8:], str(second.dtype)[-7:], a.grad.tolist(), str(a.grad.dtype)[-7:]]


def test_functions_of_ones_own():
    assert functions(aten) == functions(torch)


def test_operators_of_ones_own():
    def result(lib, name):
        @lib.library.custom_op(f"autocast_{name}::product", mutates_args=())
        def product(a: lib.Tensor, b: lib.Tensor) -> lib.Tensor:
            return a @ b

        product.register_autocast("cpu", lib.float16)
        with lib.autocast("cpu"):
            inside = product(lib.ones(2, 2), lib.ones(2, 2))
        outside = product(lib.ones(2, 2), lib.ones(2, 2))
        return str(inside.dtype)[-7:], str(outside.dtype)[-7:]

    product = {}
    for name, lib in LIBRARIES.items():
        product[name] = result(lib, name)
    assert product["aten"] == product["torch"]


def scaled(lib):
    weight = lib.ones(2, requires_grad=True)
    optimizer = lib.optim.SGD([weight], lr=0.1)
    scaler = lib.amp.GradScaler("cpu", init_scale=16.0, growth_interval=2)
    found = []
    for factor in (1.0, 2.0, float("inf"), 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        found.append((scaler.get_scale(), [round(one, 5) for one in weight.tolist()]))
    state = scaler.state_dict()
    other = lib.amp.GradScaler("cpu")
    other.load_state_dict(state)
    return found, state, other.get_scale(), lib.amp.GradScaler("cpu", enabled=False).state_dict()


def test_scaled_losses():
    assert scaled(aten) == scaled(torch)


@pytest.mark.parametrize("name", LIBRARIES)
def test_wrong_scaling(name):
    lib = LIBRARIES[name]
    weight = lib.ones(2, requires_grad=True)
    optimizer = lib.optim.SGD([weight], lr=0.1)
    scaler = lib.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="unscale_"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step"):
        scaler.step(optimizer)
    scaler.update()
    with pytest.raises(RuntimeError):
        scaler.load_state_dict({})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not lib.amp.GradScaler("cuda").is_enabled()
