"""What hangs on modules: hooks, state dicts and their versions, places of parts; beside torch."""

from __future__ import annotations

import pickle

import pytest
import torch

import aten

LIBRARIES = (aten, torch)


def both(program):
    ours, theirs = (program(lib) for lib in LIBRARIES)
    assert ours == theirs
    return ours


def kinds(*programs):
    """The types of the exceptions that both libraries raise."""
    found = []
    for lib in LIBRARIES:
        for program in programs:
            with pytest.raises(Exception) as caught:
                program(lib)
            found.append(caught.type.__name__)
    half = len(programs)
    assert found[:half] == found[half:]
    return found[:half]


def test_hooks_are_called_where_forward_raises():
    def program(lib):
        class Failing(lib.nn.Module):
            def forward(self, x, factor=1):
                if factor == 0:
                    raise ValueError("no")
                return x * factor

        module, seen = Failing(), []
        module.register_forward_hook(lambda *given: seen.append("plain"))
        module.register_forward_hook(
            lambda module, args, kwargs, result: seen.append((kwargs, result is None)),
            with_kwargs=True,
            always_call=True,
            prepend=True,
        )
        module(lib.ones(1), factor=2)
        with pytest.raises(ValueError, match="no"):
            module(lib.ones(1), factor=0)
        return seen

    assert len(both(program)) == 3


def test_hooks_of_all_modules():
    def program(lib):
        hooks, seen = lib.nn.modules.module, []
        handles = [
            hooks.register_module_forward_pre_hook(lambda m, args: (args[0] * 2,)),
            hooks.register_module_forward_hook(lambda m, args, result: result + 1),
            hooks.register_module_full_backward_pre_hook(lambda m, came: seen.append("before")),
            hooks.register_module_full_backward_hook(lambda m, went, came: seen.append(went[0])),
            hooks.register_module_parameter_registration_hook(lambda m, name, p: seen.append(name)),
            hooks.register_module_buffer_registration_hook(lambda m, name, b: seen.append(name)),
            hooks.register_module_module_registration_hook(lambda m, name, c: seen.append(name)),
        ]
        module = lib.nn.Sequential(lib.nn.BatchNorm1d(2).eval())
        x = lib.ones(1, 2, requires_grad=True)
        y = module(x)
        y.sum().backward()
        for handle in handles:
            handle.remove()
        assert module(x).tolist() != y.tolist()
        lib.nn.Linear(1, 1)
        return [one.shape == (1, 2) if hasattr(one, "shape") else one for one in seen]

    both(program)


def test_hooks_of_state_dicts():
    def program(lib):
        module, seen = lib.nn.Sequential(lib.nn.Linear(1, 1)), []
        module.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
        module[0]._register_state_dict_hook(
            lambda m, state, prefix, noted: seen.append((list(state), prefix, noted))
        )
        module[0].register_load_state_dict_pre_hook(
            lambda m, state, prefix, noted, strict, missing, unexpected, errors: state.update(
                {f"{prefix}bias": state.pop(f"{prefix}shift")}
            )
        )
        module.register_load_state_dict_post_hook(lambda m, found: seen.append(str(found)))
        state = module.state_dict()
        state["0.shift"] = state.pop("0.bias") + 1
        module.load_state_dict(state)
        seen.append((module[0].bias.detach() - state["0.shift"]).tolist())
        return seen

    both(program)


def test_versions_are_noted():
    def program(lib):
        module = lib.nn.Sequential(lib.nn.Linear(1, 1), lib.nn.BatchNorm1d(1))
        state = module.state_dict()
        kept = pickle.loads(pickle.dumps(state))
        old = {name: one for name, one in state.items() if "tracked" not in name}
        module.load_state_dict(old)
        return dict(state._metadata), list(kept), dict(kept._metadata)

    both(program)


def test_parts_keep_their_places():
    def program(lib):
        nn = lib.nn
        parts = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.ELU()])
        parts[0] = nn.GELU()
        parts.insert(1, nn.SiLU())
        model = nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh()))
        model.set_submodule("1.0", nn.ELU())
        total = model + nn.Sequential(nn.SiLU())
        total *= 2
        total += nn.Sequential(nn.GELU())
        return repr(parts), repr(model), repr(total), repr(2 * model)

    both(program)
    assert kinds(lambda lib: lib.nn.Sequential() * 0, lambda lib: lib.nn.Sequential() * 1.5) == [
        "ValueError",
        "TypeError",
    ]
    assert kinds(
        lambda lib: lib.nn.Sequential() + 1,
        lambda lib: lib.nn.Linear(1, 1).set_submodule("", lib.nn.ReLU()),
        lambda lib: lib.nn.Sequential().set_submodule("a", lib.nn.ReLU(), strict=True),
        lambda lib: lib.nn.Module()(1),
    )


def test_memory_elsewhere():
    module = aten.nn.Linear(2, 3, device="meta").to_empty(device="cpu")
    assert module.weight.shape == (3, 2)
    assert module.weight.device.type == "cpu"
    assert module.weight.requires_grad
