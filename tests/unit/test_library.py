"""Libraries, custom operators, the registry behind them, and the invariants over all of it."""

import array
import gc
import itertools
import re

import pytest

import aten.library
from aten import dispatch, registry
from aten._core.base.device import device
from aten._core.base.dtypes import DTYPES, dtype
from aten._core.base.keys import DispatchKey, DispatchKeySet
from aten._core.tensor.making import tensor_from_buffer
from aten._core.tensor.tensor import Tensor
from aten._generated.table import OPERATORS, PACKETS
from aten.library import Library, custom_op, fallthrough_kernel, infer_schema
from aten.registry import ops
from aten.schema import SchemaError

spaces = (f"space_{number}" for number in itertools.count())


@pytest.fixture
def space():
    return next(spaces)


@pytest.fixture
def tensor():
    return tensor_from_buffer(array.array("f", [1, 2, 3, 4]), DTYPES["float32"], [4])


@pytest.fixture(autouse=True)
def _invariants_hold_after_each_test():
    yield
    dispatch.check_invariants()


def namespace(name):
    return getattr(ops, name)


# Library


def test_define_impl_call_destroy(space, tensor):
    with Library(space, "DEF") as library:
        assert library.define("scale(Tensor x, float by) -> Any") == f"{space}::scale"
        library.impl("scale", lambda x, by: by, "CPU")
        assert namespace(space).scale(tensor, 2.0) == 2.0
        assert namespace(space).scale.default(tensor, by=3) == 3.0
        assert dir(namespace(space)) == ["scale"]
    with pytest.raises(AttributeError, match=f"namespace '{space}' has no operator 'scale'"):
        namespace(space).scale  # noqa: B018


def test_registrations_die_with_the_library(space, tensor):
    library = Library(space, "DEF")
    library.define("scale(Tensor x) -> Any")
    library.impl("scale", lambda x: x, "CPU")
    assert namespace(space).scale(tensor) is tensor
    del library
    gc.collect()
    assert registry.find_operator(f"{space}::scale") is None
    Library(space, "DEF")


def test_kernels_may_come_before_the_definition(space, tensor):
    with Library(space, "IMPL", "CPU") as kernels, Library(space, "DEF") as definitions:
        kernels.impl("scale", lambda x: "early")
        definitions.define("scale(Tensor x) -> Any")
        assert namespace(space).scale(tensor) == "early"


def test_a_namespace_is_opened_once(space):
    with Library(space, "DEF"):
        place = re.escape(f"{__file__}:")
        with pytest.raises(RuntimeError, match=f"opened with DEF at {place}"):
            Library(space, "DEF")
        with Library(space, "FRAGMENT") as fragment:
            fragment.define("extra(Tensor x) -> Any")
    with Library(space, "DEF"):
        pass
    with pytest.raises(RuntimeError, match="aten was opened with DEF"):
        Library("aten", "DEF")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("x", "NEW"), ValueError, "Unsupported kind: NEW"),
        (("prim", "DEF"), ValueError, "prim is a reserved namespace"),
        (("x", "IMPL", "Cpu"), ValueError, "could not parse dispatch key: Cpu"),
    ],
)
def test_wrong_libraries(arguments, error, message):
    with pytest.raises(error, match=message):
        Library(*arguments)


def test_wrong_definitions(space):
    with Library(space, "DEF") as library:
        library.define("scale(Tensor x) -> Any")
        with pytest.raises(RuntimeError, match=r"defined already, at .*test_library"):
            library.define("scale(Tensor x, int n) -> Any")
        with pytest.raises(SchemaError):
            library.define("scale(Tensor")
        with pytest.raises(RuntimeError, match="of the namespace 'other'"):
            library.define("other::scale(Tensor x) -> Any")
        with pytest.raises(RuntimeError, match="Invalid alias_analysis"):
            library.define("other(Tensor x) -> Any", "GUESS")
    with (
        Library(space, "IMPL", "CPU") as library,
        pytest.raises(RuntimeError, match="needs a library of kind DEF or FRAGMENT"),
    ):
        library.define("scale(Tensor x) -> Any")


def test_wrong_kernels(space):
    with Library(space, "DEF") as library:
        library.define("scale(Tensor x) -> Any")
        with pytest.raises(TypeError, match="fn must be callable, not int"):
            library.impl("scale", 3, "CPU")
        with pytest.raises(ValueError, match="could not parse dispatch key"):
            library.impl("scale", lambda x: x, "Abacus")
        library.impl("scale", lambda x: x, "CPU")
        with pytest.raises(RuntimeError, match="has a kernel for CPU already, registered at"):
            library.impl(f"{space}::scale", lambda x: x, "CPU")


def test_an_override_serves_until_its_library_goes(space, tensor):
    with Library(space, "DEF") as library:
        library.define("scale(Tensor x) -> Any")
        library.impl("scale", lambda x: "first", "CPU")
        with Library(space, "IMPL") as other:
            with pytest.warns(UserWarning, match="overridden"):
                other.impl("scale", lambda x: "second", "CPU", allow_override=True)
            assert namespace(space).scale(tensor) == "second"
        assert namespace(space).scale(tensor) == "first"


def test_overloads_of_one_name(space, tensor):
    with Library(space, "DEF") as library:
        library.define("pick.text(Tensor x, str y) -> Any")
        library.impl("pick.text", lambda x, y: "text", "CPU")
        packet = namespace(space).pick
        assert packet(tensor, "y") == "text"
        library.define("pick(Tensor x) -> Any", tags=("pointwise",))
        library.impl("pick", lambda x: "plain", "CPU")
        assert packet(tensor) == "plain"
        assert packet.overloads() == ["text", "default"]
        assert packet.default.entry.tags == ("pointwise",)
        assert packet.default.overloadpacket is packet


def test_composite_is_the_default_key(space, tensor):
    with Library(space, "DEF") as library:
        library.define("twice(Tensor x) -> Any")
        library.impl("twice", lambda x: "composite")
        assert namespace(space).twice(tensor) == "composite"
        assert "CompositeImplicitAutograd" in dispatch.table(f"{space}::twice")


def test_with_keyset_and_fallthrough(space, tensor):
    with Library(space, "DEF") as library:
        library.define("scale(Tensor x) -> Any")
        library.impl("scale", lambda keys, x: keys, "CPU", with_keyset=True)
        library.impl("scale", fallthrough_kernel, "AutogradCPU")
        assert namespace(space).scale(tensor) == DispatchKeySet(DispatchKey.CPU)
    with pytest.raises(NotImplementedError):
        fallthrough_kernel()


def test_fallbacks_need_the_namespace_of_all_operators(space, tensor):
    with Library(space, "FRAGMENT") as library, pytest.raises(RuntimeError, match="namespace '_'"):
        library.fallback(lambda op, *args: op, "ZeroTensor")
    with Library(space, "DEF") as library, Library("_", "IMPL", "ZeroTensor") as every:
        library.define("scale(Tensor x) -> Any")
        every.fallback(lambda op, *args: (op, *args))
        with dispatch.IncludeDispatchKeyGuard(DispatchKey.ZeroTensor):
            called, x = namespace(space).scale(tensor)
        assert called is namespace(space).scale.default
        assert x is tensor


@pytest.mark.parametrize("number", [1, 2, 3])
def test_private_use_keys(number, space):
    words = ("one", "two", "three")
    with Library(space, "DEF") as library:
        library.define("make(*, Device? device=None) -> Any")
        library.impl("make", lambda device: device, f"PrivateUse{number}")
        place = namespace(space).make(device=f"privateuse{words[number - 1]}:1")
        assert place == device(f"privateuse{words[number - 1]}", 1)


def test_an_operator_outlives_its_library_without_kernels(space, tensor):
    with Library(space, "DEF") as library:
        library.define("scale(Tensor x) -> Any")
        library.impl("scale", lambda x: "first", "CPU")
        held = namespace(space).scale.default
        assert held(tensor) == "first"
    with Library(space, "DEF") as library:
        library.define("scale(Tensor x, int n=1) -> Any")
        library.impl("scale", lambda x, n: "second", "CPU")
        assert namespace(space).scale(tensor) == "second"
        with pytest.raises(NotImplementedError):
            held(tensor)
    with Library("_", "IMPL", "CPU") as every:
        every.fallback(lambda op, *args: "fallback")
        assert held(tensor) == "fallback"
    with pytest.raises(NotImplementedError):
        held(tensor)


def test_kernels_for_the_packages_own_operators(tensor):
    with Library("aten", "IMPL", "PrivateUse3") as library:
        given = []
        made = tensor.to("privateusethree")

        def add(self, other, *, alpha):
            given.append((self, other, alpha))
            return made

        library.impl("add.Tensor", add)
        keys = DispatchKeySet(DispatchKey.PrivateUse3)
        assert ops.aten.add.Tensor.redispatch(keys, tensor, 2.0) is made
        assert given == [(tensor, 2.0, 1)]
    assert not ops.aten.add.Tensor.has_kernel_for_dispatch_key(DispatchKey.PrivateUse3)


# The functions


def test_define_and_impl_by_qualified_name(space, tensor):
    with Library(space, "FRAGMENT") as library:
        aten.library.define(f"{space}::scale", "(Tensor x) -> Any", lib=library)

        @aten.library.impl(f"{space}::scale", "cpu", lib=library)
        def scale(x):
            return "cpu"

        aten.library.register_fake(f"{space}::scale", lambda x: "fake", lib=library)
        aten.library.register_kernel(f"{space}::scale", "cuda", scale, lib=library)
        registered = namespace(space).scale.default.registrations.kernels
        assert [key.name for key in registered] == ["CPU", "Meta", "CUDA"]
        assert namespace(space).scale(tensor) == "cpu"
        with pytest.raises(RuntimeError):
            aten.library.impl(f"{space}::scale", "abacus", scale, lib=library)
    with pytest.raises(ValueError, match="expected a name like"):
        aten.library.define("scale", "(Tensor x) -> Any")


def test_scoped_library(space):
    with aten.library._scoped_library(space, "DEF") as library:
        library.define("scale(Tensor x) -> Any")
        assert namespace(space).scale
    assert registry.find_packet(space, "scale") is None


def test_custom_op(space, tensor):
    @custom_op(
        f"{space}::scale",
        mutates_args=(),
        schema="(Tensor x, float by=2.0, *, str[]? names=None) -> Any",
    )
    def scale(x: Tensor, by: float = 2.0, *, names: list[str] | None = None) -> Tensor:
        """Scales."""
        return (by, names)

    assert scale(tensor) == (2.0, None)
    assert namespace(space).scale(tensor, names=["a"]) == (2.0, ("a",))
    assert scale.__doc__ == "Scales."
    scale.register_kernel("cpu", lambda x, by, *, names: "cpu")
    scale.register_fake(lambda x, by, *, names: "fake")
    assert scale(tensor) == "cpu"
    assert scale._opoverload.redispatch(DispatchKeySet(DispatchKey.Meta), tensor) == "fake"
    again = custom_op(
        f"{space}::scale", lambda x: "again", mutates_args=(), schema="(Tensor x) -> Any"
    )
    assert again(tensor) == "again"
    with pytest.raises(ValueError, match="expected a name like"):
        custom_op("scale", lambda x: x, mutates_args=())


def test_schemas_from_annotations():
    def everything(
        a: Tensor,
        b: list[Tensor],
        c: Tensor | None,
        d: int = 1,
        e: float = 0.5,
        *,
        f: bool | int | float = 1,
        g: dtype | None = None,
        h: str = "mean",
        i: list[int] | None = None,
        j: device | None = None,
    ) -> tuple[Tensor, list[Tensor]]: ...

    assert infer_schema(everything, mutates_args=("a", "b"), op_name="everything") == (
        "everything(Tensor(a0!) a, Tensor(a1!)[] b, Tensor? c, SymInt d=1, float e=0.5, *, "
        'Scalar f=1, ScalarType? g=None, str h="mean", SymInt[]? i=None, Device? j=None) '
        "-> (Tensor, Tensor[])"
    )

    def nothing(x: "Tensor") -> None: ...

    assert infer_schema(nothing, mutates_args="unknown") == "(Tensor(a0!) x) -> ()"


def test_annotations_without_a_schema_type():
    def unannotated(x) -> Tensor: ...

    def wrong(x: dict[str, int]) -> Tensor: ...

    def variadic(*x: Tensor) -> Tensor: ...

    def returning(x: Tensor) -> dict[str, int]: ...

    def default(x: list[int] = [1]) -> Tensor: ...  # noqa: B006

    for function, message in (
        (unannotated, "x must have a type annotation"),
        (wrong, "x has unsupported type"),
        (variadic, r"no \*args"),
        (returning, "return type"),
        (default, "cannot have the default"),
    ):
        with pytest.raises(ValueError, match=message):
            infer_schema(function, mutates_args=())
    with pytest.raises(ValueError, match="names no parameter"):
        infer_schema(default, mutates_args=("y",))


# The registry


def test_the_generated_operators_are_there():
    assert ops.aten.add.Tensor is registry.operator("aten::add.Tensor")
    assert ops.aten.add.Tensor is registry.operator("add.Tensor")
    assert ops.aten.add.overloads()[0] == PACKETS["add"][0].partition(".")[2]
    assert "add" in dir(ops.aten)
    assert ops.aten.add is ops.aten.add
    with pytest.raises(LookupError, match="there is no operator aten::ad"):
        registry.operator("aten::ad")
    with pytest.raises(AttributeError, match="namespace 'aten' has no operator 'ad'"):
        ops.aten.ad  # noqa: B018


def test_every_generated_operator_can_be_prepared():
    for key in OPERATORS:
        op = registry.operator(f"aten::{key}")
        assert op._schema.name.without_namespace == key
        assert op.entry.base in OPERATORS


def test_kinds_install_once_each_whenever_they_are_registered(space):
    seen = []
    with Library(space, "DEF") as library:
        library.define("first(Tensor x) -> Any")
        registry.register_kind(registry.USER_DEFINED, lambda op: seen.append(op.qualified_name))
        try:
            library.define("second(Tensor x) -> Any")
            own = [name for name in seen if name.startswith(f"{space}::")]
            assert own == [f"{space}::first", f"{space}::second"]
        finally:
            registry._installers[registry.USER_DEFINED].pop()


def test_violated_invariants_are_found(space):
    with Library(space, "DEF") as library:
        library.define("scale(Tensor x) -> Any")
        kernels = namespace(space).scale.default.registrations.kernels
        kernels[DispatchKey.CPU] = []
        with pytest.raises(AssertionError, match=f"{space}::scale: an empty list of kernels"):
            dispatch.check_invariants()
        del kernels[DispatchKey.CPU]


def test_outdated_rows_are_found(space, tensor):
    with Library(space, "DEF") as library:
        library.define("scale(Tensor x) -> Any")
        library.impl("scale", lambda x: x, "CPU")
        op = namespace(space).scale.default
        op(tensor)
        kernels = op.registrations.kernels.pop(DispatchKey.CPU)
        with pytest.raises(AssertionError, match="kernel for CPU is out of date"):
            dispatch.check_invariants()
        op.registrations.kernels[DispatchKey.CPU] = kernels


# What kernels return


def place_here(function):
    return (
        rf"{re.escape(function.__qualname__.replace('<locals>.', ''))} registered at .*test_library"
    )


@pytest.mark.parametrize(
    ("returns", "right", "wrong"),
    [
        ("Tensor", [aten.ones(2)], [None, 2.0, [aten.ones(2)], (aten.ones(2),), "text"]),
        ("Tensor?", [aten.ones(2), None], [1, [None]]),
        ("Tensor[]", [[], [aten.ones(2)], (aten.ones(2),)], [aten.ones(2), None, [None], [1]]),
        (
            "(Tensor, Tensor)",
            [(aten.ones(2), aten.ones(2))],
            [
                [aten.ones(2), aten.ones(2)],
                (aten.ones(2),),
                (aten.ones(2),) * 3,
                (aten.ones(2), None),
                aten.ones(2),
                None,
            ],
        ),
        ("(Tensor, int)", [(aten.ones(2), 3)], [(aten.ones(2), 3.0), (3, aten.ones(2)), 3]),
        ("int", [3, True], [3.0, None, "3", aten.ones(2)]),
        ("float", [3, 2.5], [None, "3", 1j, aten.ones(())]),
        ("bool", [True], [1, None, aten.ones(())]),
        ("Scalar", [True, 1, 2.5, 1j], [None, "1", aten.ones(())]),
        ("str", ["text"], [b"text", None]),
        ("ScalarType", [aten.float32], ["float32", None]),
        ("int[]", [[1, 2], (1,)], [1, [1.5], [None]]),
        ("()", [None], [aten.ones(2), ()]),
    ],
)
def test_kernels_return_what_the_schema_says(space, tensor, returns, right, wrong):
    results = []

    def kernel(x):
        return results[-1]

    with Library(space, "DEF") as library:
        library.define(f"made(Tensor x) -> {returns}")
        library.impl("made", kernel)
        op = namespace(space).made.default
        for result in right:
            results.append(result)
            assert op(tensor) is result
        for result in wrong:
            results.append(result)
            with pytest.raises(
                TypeError,
                match=f"^{space}::made: expected .*{place_here(kernel)}.* but it returned",
            ):
                op(tensor)


def test_the_message_names_what_was_expected_and_what_was_returned(space, tensor):
    with Library(space, "DEF") as library:
        library.define("pair(Tensor x) -> (Tensor values, Tensor indices)")
        library.impl("pair", lambda x: (x, [x]))
        with pytest.raises(
            TypeError,
            match=r"expected Tensor as result 1 from .*"
            r"returned a list of 1 \(a aten\.float32 tensor of shape \[4\] on cpu\)",
        ):
            namespace(space).pair(tensor)


def test_kernels_that_write_return_what_they_wrote_to(space, tensor):
    returned = {"x": lambda x, y: x, "y": lambda x, y: y, "copy": lambda x, y: x.clone()}
    with Library(space, "DEF") as library:
        library.define("fill(Tensor(a!) x, Tensor y) -> Tensor(a!)")
        library.define("both(Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))")
        for name, function in returned.items():
            with Library(space, "IMPL") as kernels:
                kernels.impl("fill", function)
                kernels.impl("both", lambda x, y, one=function: (one(x, y), y))
                fill, both = namespace(space).fill, namespace(space).both
                other = tensor.clone()
                if name == "x":
                    assert fill(tensor, other) is tensor
                    assert both(tensor, other) == (tensor, other)
                    continue
                for op in (fill, both):
                    with pytest.raises(RuntimeError, match="expected its argument 'x', written to"):
                        op(tensor, other)


def test_kernels_of_a_backend_return_tensors_of_its_device(space, tensor):
    far = tensor.to("privateuseone")
    with Library(space, "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.define("both(Tensor x) -> (Tensor, Tensor)")
        library.define("parts(Tensor x) -> Tensor[]")
        library.define("make(int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor")
        for name, result in {
            "twice": lambda x: x,
            "both": lambda x: (x, x),
            "parts": lambda x: [x],
        }.items():
            library.impl(name, lambda x, made=result: made(tensor), "PrivateUse1")
            library.impl(name, lambda x, made=result: made(tensor), "Meta")
            library.impl(name, lambda x, made=result: made(x), "CPU")
            op = getattr(namespace(space), name)
            assert op(tensor) is not None
            for elsewhere in ("privateuseone", "meta"):
                with pytest.raises(
                    RuntimeError,
                    match=rf"{space}::{name}: expected a tensor on the device {elsewhere} .*"
                    r"registered at .*test_library.*returned .*on cpu",
                ):
                    op(tensor.to(elsewhere))
        library.impl("make", lambda size, *, dtype, device: tensor, "PrivateUse1")
        with pytest.raises(RuntimeError, match="on the device privateuseone"):
            namespace(space).make((4,), device="privateuseone")
    with Library("aten", "IMPL", "PrivateUse1") as library:
        library.impl("add.Tensor", lambda self, other, *, alpha: tensor)
        with pytest.raises(RuntimeError, match=r"aten::add\.Tensor: expected a tensor on the dev"):
            far + far


def test_factories_of_a_backend_make_what_they_were_asked_for(tensor):
    made = []
    with Library("aten", "IMPL", "PrivateUse1") as library:
        library.impl("zeros", lambda size, **options: made[-1])
        made.append(aten.empty(2, 3, device="privateuseone"))
        assert aten.zeros(2, 3, device="privateuseone") is made[-1]
        with pytest.raises(RuntimeError, match=r"expected a tensor of shape \[5\]"):
            aten.zeros(5, device="privateuseone")
        with pytest.raises(RuntimeError, match=r"expected a tensor of aten\.int64"):
            aten.zeros(2, 3, dtype=aten.int64, device="privateuseone")


def test_what_out_and_in_place_would_take_over_is_checked_first(tensor):
    far, out = tensor.to("privateuseone"), tensor.clone().to("privateuseone")
    with Library("aten", "IMPL", "PrivateUse1") as library:
        library.impl("cumsum", lambda self, dim, *, dtype: [self])
        library.impl("cumsum_", lambda self, dim, *, dtype: far)
        with pytest.raises(TypeError, match=r"aten::cumsum: expected Tensor from .* a list of 1"):
            aten.cumsum(far, 0, out=out)
        with pytest.raises(RuntimeError, match=r"aten::cumsum_: expected its argument 'self'"):
            out.cumsum_(0)
    assert out.to("cpu").tolist() == tensor.tolist()
