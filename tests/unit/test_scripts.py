"""What scripts set and ask: modes, devices, settings, results, legacy forms, shared memory."""

import copy
import os
import pickle
import re
import subprocess
import sys
import threading
import warnings

import pytest

import aten


def test_modes_say_what_the_thread_wants():
    assert aten.is_grad_enabled()
    with aten.no_grad():
        assert not aten.is_grad_enabled()
        with aten.enable_grad():
            assert aten.is_grad_enabled()
        with aten.set_grad_enabled(True):
            assert aten.is_grad_enabled()
        assert not aten.is_grad_enabled()
    with aten.inference_mode():
        assert aten.is_inference_mode_enabled()
        assert not aten.is_grad_enabled()
        with aten.inference_mode(False):
            assert not aten.is_inference_mode_enabled()
    assert aten.is_grad_enabled()
    assert not aten.is_inference_mode_enabled()


def test_set_grad_enabled_counts_at_once():
    aten.set_grad_enabled(False)
    try:
        assert not aten.is_grad_enabled()
    finally:
        aten.set_grad_enabled(True)
    with aten.set_grad_enabled(False):
        assert not aten.is_grad_enabled()
    assert aten.is_grad_enabled()

    @aten.set_grad_enabled(False)
    def asked():
        return aten.is_grad_enabled()

    assert aten.is_grad_enabled()
    assert not asked()
    assert aten.is_grad_enabled()


@pytest.mark.parametrize("decorator", [aten.no_grad, aten.no_grad(), aten.inference_mode])
def test_modes_over_functions(decorator):
    @decorator
    def asked(value):
        """Words."""
        if value > 0:
            return [*asked(value - 1), aten.is_grad_enabled()]
        return [aten.is_grad_enabled()]

    assert asked(2) == [False] * 3
    assert asked.__doc__ == "Words."
    assert aten.is_grad_enabled()


def test_modes_over_generators_leave_the_caller_alone():
    @aten.no_grad()
    def steps():
        received = []
        for number in range(3):
            received.append((yield number, aten.is_grad_enabled()))
        return received

    running = steps()
    assert next(running) == (0, False)
    assert aten.is_grad_enabled()
    assert running.send("a") == (1, False)
    assert running.send("b") == (2, False)
    with pytest.raises(StopIteration) as stop:
        running.send("c")
    assert stop.value.value == ["a", "b", "c"]


def test_a_mode_ends_with_an_error_and_is_of_its_thread():
    with pytest.raises(KeyError), aten.no_grad():
        raise KeyError
    assert aten.is_grad_enabled()
    seen = []
    with aten.no_grad():
        thread = threading.Thread(target=lambda: seen.append(aten.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_gradients_are_refused_in_one_line_where_there_are_none():
    x = aten.ones(2)
    assert x.grad is None
    assert not x.requires_grad
    assert x.requires_grad_(False) is x
    x.requires_grad = False
    calls = [
        lambda: x.backward(),
        lambda: x.register_hook(print),
        lambda: x.retain_grad(),
        lambda: aten.ones(2, dtype=aten.int64, requires_grad=True),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=r"grad") as error:
            call()
        assert "\n" not in str(error.value)


def test_devices_answer():
    for module in (aten.cuda, aten.mps, aten.xpu, aten.mtia, aten.accelerator):
        assert module.is_available() is False
        assert module.device_count() == 0
        with pytest.raises(RuntimeError):
            module.synchronize()
    assert aten.cpu.is_available()
    assert aten.cuda.manual_seed_all(0) is None
    assert aten.cuda.memory_allocated() == 0
    assert aten.accelerator.current_accelerator() is None
    for call in (
        lambda: aten.ones(2, device="cuda"),
        lambda: aten.ones(2).to("cuda:1"),
        lambda: aten.ones(2).cuda(),
        lambda: aten.ones(2).xpu(),
        lambda: aten.cuda.current_device(),
    ):
        # By the device torch raises one or the other.
        with pytest.raises(AssertionError) as error:
            call()
        assert isinstance(error.value, NotImplementedError)
        assert "no backend" in str(error.value)


def test_the_default_device():
    aten.set_default_device("meta")
    try:
        assert aten.get_default_device() == aten.device("meta")
        for made in (
            aten.ones(2),
            aten.empty(2),
            aten.full((2,), 1.0),
            aten.arange(3),
            aten.randn(2),
            aten.tensor([1.0]),
            aten.linspace(0, 1, 3),
            aten.eye(2),
            aten.hann_window(4),
            aten.as_tensor([1]),
            aten.asarray([1]),
            aten.fft.fftfreq(4),
        ):
            assert made.is_meta
        assert aten.ones(2, device="cpu").is_cpu
        assert aten.ones_like(aten.ones(2, device="cpu")).is_cpu
        given = aten.ones(3, 3, device="cpu")
        for result in (
            given.new_zeros(2),
            given @ given,
            given.softmax(0),
            given.nonzero(),
            given[given > 0],
            given.sort().indices,
            given.bernoulli(0.5),
            aten.nn.functional.interpolate(given[None, None], scale_factor=2, mode="bilinear"),
            aten.linalg.inv(given + aten.eye(3, device="cpu")),
        ):
            assert result.is_cpu
        seen = []
        thread = threading.Thread(target=lambda: seen.append(aten.ones(1).device.type))
        thread.start()
        thread.join()
        assert seen == ["cpu"]
    finally:
        aten.set_default_device(None)
    assert aten.ones(1).is_cpu
    with aten.device("meta"):
        with aten.device("cpu"):
            assert aten.ones(1).is_cpu
        assert aten.ones(1).is_meta
    assert aten.get_default_device() == aten.device("cpu")


def test_named_results_have_a_module_and_travel():
    found = aten.ones(2, 2).max(1)
    kind = type(found)
    assert (kind.__module__, kind.__qualname__) == ("aten.return_types", "max")
    assert aten.return_types.max is kind
    assert repr(found) == (
        "aten.return_types.max(\nvalues=tensor([1., 1.]),\nindices=tensor([0, 0]))"
    )
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(found, protocol))
        assert type(back) is kind
        assert back.values.tolist() == [1.0, 1.0]
    assert type(copy.deepcopy(found)) is kind
    assert type(aten.linalg.svd(aten.eye(2))) is aten.return_types.linalg_svd
    assert type(aten.linalg.svd(aten.eye(2))) is type(aten.linalg.svd(aten.eye(3)))
    assert {"max", "topk", "linalg_svd", "sort"} <= set(dir(aten.return_types))
    for name in dir(aten.return_types):
        assert getattr(aten.return_types, name).__name__ == name
    with pytest.raises(AttributeError, match="no_such_type"):
        print(aten.return_types.no_such_type)


def test_named_results_are_found_in_a_fresh_process():
    data = pickle.dumps(aten.ones(3).sort())
    code = f"import pickle; print(type(pickle.loads({data!r})).__qualname__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "sort"


def test_operators_travel():
    for one in (aten.sum, aten.linalg.svd, aten.ops.aten.add.Tensor, aten.ops.aten._softmax):
        assert pickle.loads(pickle.dumps(one)) is one


def test_names_are_those_of_users():
    for name in ("Tensor", "Size", "dtype", "device", "layout", "Generator", "UntypedStorage"):
        kind = getattr(aten, name)
        assert (kind.__module__, kind.__qualname__) == ("aten", name)
        assert pickle.loads(pickle.dumps(kind)) is kind
    assert aten.finfo.__module__ == aten.einsum.__module__ == aten.tensor.__module__ == "aten"
    assert (aten.linalg.svd.__module__, aten.linalg.svd.__qualname__) == ("aten.linalg", "svd")
    assert (aten.sum.__module__, aten.sum.__qualname__) == ("aten", "sum")
    assert aten.nn.functional.relu.__module__ == "aten.nn.functional"
    assert aten.Tensor.requires_grad_.__qualname__ == "Tensor.requires_grad_"
    assert not [
        name
        for name in dir(aten)
        if not name.startswith("_")
        and "_core" in getattr(getattr(aten, name), "__module__", "")
        and callable(getattr(aten, name))
    ]


def test_saved_pickles_are_read_wherever_the_code_went():
    """What pickles said when the functions stood in modules of these names."""
    told = {
        "aten._core.device:_layout_named": (("strided",), aten.strided),
        "aten._core.device:_memory_format_named": (("channels_last",), aten.channels_last),
        "aten._core.dispatcher:packet_named": (("aten", "add"), aten.ops.aten.add),
        "aten._core.dtypes:dtype_by_name": (("float32",), aten.float32),
        "aten._core.keys:parse_dispatch_key": (("CPU",), aten.DispatchKey.CPU),
    }
    for name, (arguments, expected) in told.items():
        module, _, function = name.partition(":")
        items = "".join(f"V{one}\n" for one in arguments)
        saved = f"c{module}\n{function}\n({items}tR.".encode()
        assert pickle.loads(saved) is expected
        assert name.replace(":", "\n").encode() in pickle.dumps(expected, 0)
    for value in (aten.arange(2), aten.Generator()):
        modules = re.findall(rb"caten\._core\.(\w+)\n", pickle.dumps(value, 0))
        assert modules
        assert set(modules) <= {b"dtypes", b"generator", b"storage"}


def test_legacy_forms_warn_and_mean_the_same():
    x, y, z = aten.ones(2), aten.full((2,), 2.0), aten.full((2,), 3.0)
    a, b = aten.ones(2, 2), aten.eye(2)
    forms = [
        (lambda: aten.addcmul(x, 5, y, z), lambda: aten.addcmul(x, y, z, value=5)),
        (lambda: x.addcdiv(5, y, z), lambda: aten.addcdiv(x, y, z, value=5)),
        (lambda: aten.add(x, 2, y), lambda: aten.add(x, y, alpha=2)),
        (lambda: x.sub(2, y), lambda: aten.sub(x, y, alpha=2)),
        (lambda: aten.addmm(2, a, 3, a, b), lambda: aten.addmm(a, a, b, beta=2, alpha=3)),
        (lambda: aten.addmm(2, a, a, b), lambda: aten.addmm(a, a, b, beta=2)),
        (lambda: a.addmm(2, 3, a, b), lambda: aten.addmm(a, a, b, beta=2, alpha=3)),
        (lambda: x.clone().add_(2, y), lambda: x + 2 * y),
    ]
    for old, new in forms:
        with pytest.warns(UserWarning, match="deprecated"):
            found = old()
        assert aten.equal(found, new())
    for wrong in (
        lambda: aten.addcmul("a", x, y, z),
        lambda: aten.addcmul(x, y, z, 5),
        lambda: aten.mul(x, 2, y),
        lambda: aten.addmm(1, 2, a, 3, a, b),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_shared_memory_is_seen_by_forks():
    tensor = aten.zeros(4)
    view = tensor[2:]
    assert not tensor.is_shared()
    assert tensor.share_memory_() is tensor
    assert tensor.is_shared()
    assert view.is_shared()
    child = os.fork()
    if child == 0:
        tensor[3] = 7
        os._exit(0)
    os.waitpid(child, 0)
    assert view.tolist() == [0.0, 7.0]
    large = aten.arange(100_000)
    lazy = large.clone()
    large.share_memory_()[0] = 5
    assert lazy[0] == 0


def test_shared_memory_leaves_what_is_held():
    tensor = aten.ones(3)
    with memoryview(tensor.untyped_storage()), pytest.raises(BufferError):
        tensor.share_memory_()
    assert tensor.tolist() == [1.0] * 3


def test_settings_are_kept():
    aten.use_deterministic_algorithms(True, warn_only=True)
    assert aten.get_deterministic_debug_mode() == 1
    aten.set_deterministic_debug_mode("error")
    assert aten.are_deterministic_algorithms_enabled()
    aten.set_deterministic_debug_mode(0)
    assert not aten.are_deterministic_algorithms_enabled()
    with pytest.warns(UserWarning, match="none of"):
        aten.set_float32_matmul_precision("lowest")
    assert aten.get_float32_matmul_precision() == "highest"
    with aten.backends.cudnn.flags(enabled=False):
        assert not aten.backends.cudnn.enabled
    assert aten.backends.cudnn.enabled
    assert aten.set_flush_denormal(False)
    assert not aten.set_flush_denormal(True)
    assert aten.version.__version__ == aten.__version__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with aten.autocast("cpu", enabled=False), aten.amp.autocast("cuda"):
            pass


def test_control_flow():
    double = lambda x: x * 2  # noqa: E731
    assert aten.cond(aten.tensor(True), double, aten.neg, (aten.tensor(3),)) == 6
    assert aten.cond(False, double, aten.neg, (aten.tensor(3),)) == -3
    found = aten.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, aten.tensor(1)))
    assert found == (3, aten.tensor(8))


def test_tensors_over_files(tmp_path):
    path = tmp_path / "numbers"
    made = aten.from_file(str(path), shared=True, size=4)
    made.copy_(aten.arange(4.0))
    again = aten.from_file(str(path), size=4)
    assert again.tolist() == [0.0, 1.0, 2.0, 3.0]
    again[0] = 9
    assert made[0] == 0
    with pytest.raises(OSError, match="bytes"):
        aten.from_file(str(path), size=5)
    with pytest.raises(RuntimeError):
        aten.from_file(str(path), size=-1)
    assert aten.from_file(str(path), size=0).shape == (0,)
