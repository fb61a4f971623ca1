"""`gradcheck` and `gradgradcheck`: what they accept, and what they find."""

import pytest

import aten
from aten.autograd import Function, GradcheckError, gradcheck, gradgradcheck


def numbers(*shape, dtype=aten.float64):
    generator = aten.Generator().manual_seed(len(shape))
    return aten.randn(shape, dtype=dtype, generator=generator).requires_grad_()


class Twice(Function):
    """2x, with a gradient of one's own."""

    @staticmethod
    def forward(ctx, x, slope):
        ctx.slope = slope
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.slope, None


class Unprepared(Function):
    """Two results, neither of which may be without a gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        return first * 2 + second * 3


RIGHT = {
    "real": (lambda x: x.sin() * x, [numbers(3, 2)]),
    "conjugates": (lambda z: z * z.conj() + z**3, [numbers(3, dtype=aten.complex128)]),
    "complex to real": (lambda z: z.abs(), [numbers(3, dtype=aten.complex128)]),
    "real to complex": (lambda x: aten.complex(x, x * x), [numbers(3)]),
    "several": (
        lambda z, x: (z.real @ x, x.std(0), x > 0),
        [numbers(3, dtype=aten.complex128), numbers(3, 2)],
    ),
    "strided": (lambda x: x.t().cumsum(0), [numbers(4, 3).detach()[::2].requires_grad_()]),
    "no elements": (lambda x: x.exp(), [numbers(0, 2)]),
    "a number": (lambda x: x**3, [numbers()]),
    "chosen": (lambda x: aten.where(x > 0, x * 2, x.exp() * x.pow(2)), [numbers(4)]),
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", list(RIGHT))
def test_right_gradients(name, fast):
    function, inputs = RIGHT[name]
    assert gradcheck(function, inputs, fast_mode=fast, check_batched_grad=True) is True
    assert gradgradcheck(function, inputs, fast_mode=fast, gen_non_contig_grad_outputs=fast) is True


@pytest.mark.parametrize("fast", [False, True])
def test_wrong_gradients(fast):
    x = numbers(2)
    assert gradcheck(Twice.apply, (x, 2), fast_mode=fast)
    with pytest.raises(GradcheckError, match="result 0 with respect to input 0"):
        gradcheck(Twice.apply, (x, 3), fast_mode=fast)
    assert gradcheck(Twice.apply, (x, 3), fast_mode=fast, raise_exception=False) is False


def test_wrong_second_gradients():
    def function(x):
        return x * x.detach() + x.detach() * (x - x.detach())

    assert gradcheck(function, numbers(2))
    with pytest.raises(GradcheckError):
        gradgradcheck(function, numbers(2))


def test_results_without_a_gradient():
    with pytest.raises(TypeError, match="NoneType"):
        gradcheck(Unprepared.apply, numbers(2))


def test_a_graph_that_is_cut():
    with pytest.raises(GradcheckError, match="no result requires gradients"):
        gradcheck(lambda x: x.detach() * 2, numbers(2))


def test_walks_that_differ():
    calls = []

    class Restless(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            calls.append(gradient)
            return gradient * (2 + 1e-7 * len(calls))

    with pytest.raises(GradcheckError, match="two walks back"):
        gradcheck(Restless.apply, numbers(2))
    assert gradcheck(Restless.apply, numbers(2), nondet_tol=1e-3)


def test_what_was_overwritten_has_no_gradient():
    places = aten.tensor([[[0, 2, 2, 3]]])

    def unpooled(x):
        return aten.nn.functional.max_unpool1d(x, places, 2, output_size=[7])

    x = numbers(1, 1, 4)
    (gradient,) = aten.autograd.grad(unpooled(x).sum(), x)
    assert gradient.flatten().tolist() == [1, 0, 1, 1]
    assert gradcheck(unpooled, x, check_forward_ad=True)
    assert gradgradcheck(unpooled, x)


def test_inputs_stay_as_they_were():
    x = numbers(2)
    before, version = x.tolist(), x._version
    gradcheck(lambda _: x * x, x)
    assert (x.tolist(), x._version, x.grad) == (before, version, None)


def test_bad_inputs():
    with pytest.raises(ValueError, match="requires gradients"):
        gradcheck(lambda x: x, aten.ones(2, dtype=aten.float64))
    with pytest.raises(RuntimeError, match="stride of 0"):
        gradcheck(lambda x: x * 2, numbers(1).detach().expand(3).requires_grad_())
    with pytest.warns(UserWarning, match="float32"):
        gradcheck(lambda x: x * 2, numbers(1, dtype=aten.float32), atol=1, rtol=1, eps=1e-2)


@pytest.mark.parametrize(
    ("check", "options", "named"),
    [
        (gradcheck, {"check_backward_ad": False}, "check_forward_ad"),
        (gradcheck, {"check_batched_forward_grad": True}, "check_batched_forward_grad"),
        (
            gradcheck,
            {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
            "check_batched_grad",
        ),
        (gradgradcheck, {"check_rev_over_rev": False}, "check_fwd_over_rev"),
        (
            gradgradcheck,
            {"check_rev_over_rev": False, "check_fwd_over_rev": True},
            "check_undefined_grad",
        ),
    ],
)
def test_checks_that_do_not_go_together(check, options, named):
    with pytest.raises(AssertionError, match=named):
        check(lambda x: x * x, numbers(2), **options)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", list(RIGHT))
def test_forward_mode(name, fast):
    function, inputs = RIGHT[name]
    assert gradcheck(
        function,
        inputs,
        fast_mode=fast,
        check_forward_ad=True,
        check_backward_ad=False,
        check_batched_forward_grad=True,
    )
    assert gradgradcheck(function, inputs, fast_mode=fast, check_fwd_over_rev=True)


@pytest.mark.parametrize("fast", [False, True])
def test_wrong_forward_mode(fast):
    options = {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": fast}
    x = numbers(2)
    assert gradcheck(Twice.apply, (x, 2), **options)
    with pytest.raises(GradcheckError, match="forward mode"):
        gradcheck(Twice.apply, (x, 3), **options)
    assert gradcheck(Twice.apply, (x, 3), raise_exception=False, **options) is False


def test_second_derivatives_forward():
    def function(x):
        return x * x.detach() + x.detach() * (x - x.detach())

    with pytest.raises(GradcheckError, match="forward mode"):
        gradgradcheck(
            function,
            numbers(2),
            check_fwd_over_rev=True,
            check_rev_over_rev=False,
            check_undefined_grad=False,
        )
