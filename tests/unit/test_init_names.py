"""Initial values under their names of old."""

import pytest

import aten

NAMES = [name for name in aten.nn.init.__all__ if f"{name}_" in aten.nn.init.__all__]


def test_which_names_there_are():
    assert len(NAMES) == 11


@pytest.mark.parametrize("name", NAMES)
def test_the_same_values_with_a_warning(name):
    given = {"constant": (2.0,), "sparse": (0.5,)}.get(name, ())
    sizes = (2, 2, 3) if name == "dirac" else (4, 3)
    results = []
    for called in (name, f"{name}_"):
        aten.manual_seed(0)
        x = aten.empty(sizes)
        function = getattr(aten.nn.init, called)
        if called == name:
            with pytest.warns(FutureWarning, match=f"{name}_ does the same"):
                assert function(x, *given) is x
        else:
            assert function(x, *given) is x
        results.append(x)
    assert aten.equal(*results)
