"""Tensors in other libraries: each does with them what it does with NumPy's arrays."""

import math
import multiprocessing
import operator
import os
import pickle
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import aten
from aten import array_api as xp

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((60, 5))
Y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(np.int64)


def tensor(array):
    return aten.from_numpy(np.array(array))


def run(program, **environment):
    """Run a program of its own process; its last line of output."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().rpartition("\n")[2]


# NumPy

SYMBOLS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "@": lambda a, b: a @ b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
}


@pytest.mark.parametrize("symbol", SYMBOLS)
@pytest.mark.parametrize("make", [tensor, xp.asarray], ids=["tensor", "array"])
def test_numpy_arrays_beside_tensors(symbol, make):
    a, b = np.array([1.0, 2.5, -3.0, 4.0]), np.array([2.0, 1.0, 2.0, 0.5])
    with np.errstate(all="ignore"):
        expected = SYMBOLS[symbol](a, b)
        for found in (SYMBOLS[symbol](a, make(b)), SYMBOLS[symbol](make(a), b)):
            assert isinstance(found, aten.Tensor)
            np.testing.assert_allclose(np.asarray(found), expected)


@pytest.mark.parametrize("symbol", ["and_", "or_", "xor", "lshift", "rshift"])
def test_numpy_integers_beside_tensors(symbol):
    a, b = np.array([1, 2, 12]), np.array([3, 1, 2])
    apply = getattr(operator, symbol)
    expected = apply(a, b)
    for found in (apply(a, tensor(b)), apply(tensor(a), b)):
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_numpy_of_other_shapes_and_types():
    x = aten.arange(3.0)
    assert (np.ones((2, 1), np.float32) + x).shape == (2, 3)
    assert (np.array(2.0) * x).tolist() == [0, 2, 4]
    assert (np.float64(2) - x).tolist() == [2, 1, 0]
    assert (np.arange(6.0)[::2] / (x + 1)).tolist() == pytest.approx([0, 1, 4 / 3])
    array = np.ones(3)
    array /= x + 1
    np.testing.assert_allclose(array, [1, 0.5, 1 / 3])
    with pytest.raises(TypeError):
        np.array(["a", "b", "c"]) + x


@pytest.mark.parametrize("name", ["min", "max", "sum", "prod", "mean", "any", "all", "argmax"])
def test_numpy_functions_of_tensors(name):
    x = aten.tensor([1.0, 3.0, 2.0])
    assert float(getattr(np, name)(x)) == getattr(np, name)(np.asarray(x))


def test_numpy_dtypes():
    for name in ("bool", "int8", "uint64", "float16", "float32", "complex128", "bfloat16"):
        assert np.dtype(getattr(aten, name)).name == name
        assert np.zeros(1, dtype=getattr(aten, name)).dtype.name == name
    with pytest.raises(TypeError):
        np.dtype(aten.complex32)


def test_rounding_by_python():
    assert round(aten.tensor(2.567), 2) == pytest.approx(2.57)
    assert (round(aten.tensor(2.5)), type(round(aten.tensor(2.5)))) == (2, int)
    with pytest.raises(ValueError, match="one element"):
        round(aten.ones(2))


# Other tensors


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    given = torch.arange(6).reshape(2, 3).T
    shared = aten.as_tensor(given)
    shared[0, 0] = 7
    assert given[0, 0] == 7
    assert shared.stride() == given.stride()
    copied = aten.tensor(given)
    copied[0, 0] = 8
    assert given[0, 0] == 7
    assert aten.asarray(given).data_ptr() == given.data_ptr()
    assert aten.as_tensor(given, dtype=aten.float32).dtype is aten.float32
    assert aten.as_tensor(torch.ones(2, dtype=torch.bfloat16)).dtype is aten.bfloat16
    assert aten.tensor([torch.tensor(2.5), torch.tensor(2)]).tolist() == [2.5, 2]
    assert aten.tensor([torch.tensor(1j)]).tolist() == [1j]
    with pytest.raises(BufferError, match="grad"):
        aten.as_tensor(torch.ones(2, requires_grad=True))


def test_oracle_arrays():
    strict = pytest.importorskip("array_api_strict")
    assert aten.as_tensor(strict.asarray([1.0, 2.0])).tolist() == [1, 2]
    assert strict.from_dlpack(aten.arange(3)).shape == (3,)


# Pickle, processes

PICKLED = {
    "function": lambda: aten.sum,
    "overload": lambda: aten.add.Tensor,
    "of a namespace": lambda: aten.linalg.svd,
    "method": lambda: aten.Tensor.exp,
    "of the standard": lambda: xp.exp,
    "its extension": lambda: xp.fft.fft,
    "functional": lambda: aten.nn.functional.softmax,
}


@pytest.mark.parametrize("name", PICKLED)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_functions_are_themselves(name, protocol):
    function = PICKLED[name]()
    assert pickle.loads(pickle.dumps(function, protocol)) is function


RESULTS = {
    "topk": lambda: aten.ones(3).topk(1),
    "max": lambda: aten.max(aten.ones(2, 2), 0),
    "sort": lambda: aten.sort(aten.ones(2)),
    "slogdet": lambda: aten.linalg.slogdet(aten.eye(2)),
    "svd": lambda: aten.linalg.svd(aten.eye(2)),
    "svd of the standard": lambda: xp.linalg.svd(xp.eye(2)),
    "unique of the standard": lambda: xp.unique_all(xp.asarray([1, 1])),
}


@pytest.mark.parametrize("name", RESULTS)
def test_pickled_results_keep_names(name):
    result = RESULTS[name]()
    found = pickle.loads(pickle.dumps(result))
    assert type(found) is type(result)
    assert found._fields == result._fields
    assert all(a.equal(b) for a, b in zip(found, result, strict=True))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes(method):
    program = f"""
        import multiprocessing
        import aten

        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                sums = pool.map(aten.sum, [aten.ones(2), aten.ones(3)])
                found = pool.apply(aten.topk, (aten.arange(4.0), 2))
                powers = pool.apply(aten.Tensor.exp, (aten.zeros(2),))
            print([one.item() for one in sums], found.values.tolist(), powers.tolist())
    """
    environment = {"PYTHONWARNINGS": "ignore"}
    assert run(program, **environment) == "[2.0, 3.0] [3.0, 2.0] [1.0, 1.0]"


def test_joblib(tmp_path):
    joblib = pytest.importorskip("joblib")
    x = aten.arange(6.0).reshape(2, 3)
    file = tmp_path / "x.joblib"
    joblib.dump({"x": x, "top": x.topk(1)}, file)
    loaded = joblib.load(file)
    assert loaded["x"].equal(x)
    assert loaded["top"].indices.tolist() == [[2], [2]]
    assert joblib.hash(x) == joblib.hash(x.clone())
    program = """
        import joblib
        import aten

        sums = joblib.Parallel(2)(joblib.delayed(aten.sum)(aten.ones(n)) for n in range(3))
        call = joblib.delayed(aten.linalg.svd)(aten.eye(50))
        (found,) = joblib.Parallel(2, max_nbytes=100)([call])
        print([one.item() for one in sums], found.S.sum().item())
    """
    assert run(program, PYTHONWARNINGS="ignore") == "[0.0, 1.0, 2.0] 50.0"


# scikit-learn and SciPy


def estimators():
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        MaxAbsScaler,
        MinMaxScaler,
        Normalizer,
        PolynomialFeatures,
        StandardScaler,
    )

    return {
        "scaled": StandardScaler(),
        "between 0 and 1": MinMaxScaler(),
        "by the greatest": MaxAbsScaler(),
        "of length 1": Normalizer(),
        "powers": PolynomialFeatures(2),
        "components": PCA(2, svd_solver="full"),
        "components of covariances": PCA(2, svd_solver="covariance_eigh"),
        "discriminants": LinearDiscriminantAnalysis(),
        "ridge": Ridge(solver="svd"),
        "pipeline": make_pipeline(StandardScaler(), PCA(2, svd_solver="full")),
    }


ESTIMATORS = [
    "scaled", "between 0 and 1", "by the greatest", "of length 1", "powers", "components",
    "components of covariances", "discriminants", "ridge", "pipeline",
]  # fmt: skip


@pytest.mark.parametrize("make", [tensor, xp.asarray], ids=["tensor", "array"])
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn(name, make):
    sklearn = pytest.importorskip("sklearn")

    def results(data, target):
        fitted = estimators()[name].fit(data, target)
        # Discriminants have no sign of their own.
        transforms = hasattr(fitted, "transform") and name != "discriminants"
        return (fitted.transform if transforms else fitted.predict)(data)

    expected = results(X, Y.astype(float) if name == "ridge" else Y)
    with sklearn.config_context(array_api_dispatch=True):
        target = make(Y.astype(float) if name == "ridge" else Y)
        found = results(make(X), target)
    assert isinstance(found, aten.Tensor)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_measures():
    sklearn = pytest.importorskip("sklearn")
    from sklearn import metrics
    from sklearn.model_selection import train_test_split

    with sklearn.config_context(array_api_dispatch=True):
        parts = train_test_split(tensor(X), tensor(Y), random_state=0)
        assert metrics.accuracy_score(tensor(Y), tensor(1 - Y)) == 0
        assert metrics.r2_score(tensor(X[:, 0]), tensor(X[:, 1])) == pytest.approx(
            metrics.r2_score(X[:, 0], X[:, 1])
        )
        distances = metrics.pairwise.euclidean_distances(tensor(X))
    np.testing.assert_allclose(
        np.asarray(distances), metrics.pairwise.euclidean_distances(X), atol=1e-6
    )
    expected = train_test_split(X, Y, random_state=0)
    for found, other in zip(parts, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(found), other)


SCIPY = """
    import warnings
    warnings.simplefilter("ignore")
    import numpy as np
    import aten
    import scipy.cluster.vq, scipy.fft, scipy.integrate, scipy.interpolate, scipy.ndimage
    import scipy.signal, scipy.special, scipy.stats
    from scipy.spatial.transform import Rotation

    aten.set_default_dtype(aten.float64)
    x = np.linspace(0.1, 3, 24)
    m = np.random.default_rng(0).standard_normal((12, 3))
    calls = {
        **{f"fft.{name}": lambda a, name=name: getattr(scipy.fft, name)(a(x))
           for name in ("fft", "ifft", "rfft", "hfft", "dct", "dst", "fftshift")},
        **{f"special.{name}": lambda a, name=name: getattr(scipy.special, name)(a(x / 4))
           for name in ("gammaln", "erf", "i0", "expit", "logit", "ndtri", "psi", "entr")},
        **{f"stats.{name}": lambda a, name=name: getattr(scipy.stats, name)(a(x))
           for name in ("zscore", "gmean", "hmean", "skew", "kurtosis", "sem", "variation", "tstd",
                        "rankdata", "iqr", "gstd")},
        "logsumexp": lambda a: scipy.special.logsumexp(a(m), axis=1),
        "softmax": lambda a: scipy.special.softmax(a(m), axis=1),
        "pearsonr": lambda a: scipy.stats.pearsonr(a(m[:, 0]), a(m[:, 1])).statistic,
        "ttest": lambda a: scipy.stats.ttest_1samp(a(m), 0.1).pvalue,
        "convolve": lambda a: scipy.signal.fftconvolve(a(x), a(x)),
        "lfilter": lambda a: scipy.signal.lfilter(a([1.0, 0.5]), a([1.0, 0.2]), a(x)),
        "hilbert": lambda a: scipy.signal.hilbert(a(x)),
        "gaussian": lambda a: scipy.ndimage.gaussian_filter(a(m), 1.0),
        "whiten": lambda a: scipy.cluster.vq.whiten(a(m)),
        "rotation": lambda a: Rotation.from_rotvec(a(m[:2])).as_matrix(),
        "trapezoid": lambda a: scipy.integrate.trapezoid(a(x)),
        "pchip": lambda a: scipy.interpolate.PchipInterpolator(a(x), a(x**2))(a(x[3:5])),
    }
    for name, call in calls.items():
        expected = np.asarray(call(np.asarray))
        for make in (aten.array_api.asarray, lambda a: aten.from_numpy(np.array(a))):
            found = call(make)
            assert isinstance(found, aten.Tensor), (name, type(found))
            assert found.dtype is getattr(aten, expected.dtype.name), name
            np.testing.assert_allclose(np.asarray(found), expected, 1e-7, 1e-9, err_msg=name)
    print(len(calls), "calls")
"""


def test_scipy():
    pytest.importorskip("scipy")
    assert run(SCIPY, SCIPY_ARRAY_API="1", PYTHONWARNINGS="ignore") == "38 calls"


# einops, jaxtyping, safetensors, pandas, Pillow


def test_einops():
    einops = pytest.importorskip("einops")
    array = np.arange(24.0).reshape(2, 3, 4)
    x = tensor(array)
    cases = [
        lambda t: einops.rearrange(t, "a b c -> (c a) b"),
        lambda t: einops.rearrange([t, t], "n a b c -> a n c b"),
        lambda t: einops.repeat(t, "a b c -> a 2 b (c 3)"),
        lambda t: einops.einsum(t, t, "a b c, a d c -> b d"),
        lambda t: einops.pack([t, t], "* b c")[0],
        *(
            lambda t, name=name: einops.reduce(t, "a b c -> b", name)
            for name in ("min", "max", "sum", "mean", "prod")
        ),
        *(lambda t, name=name: einops.reduce(t > 3, "a b c -> a", name) for name in ("any", "all")),
    ]
    for case in cases:
        found = case(x)
        assert isinstance(found, aten.Tensor)
        np.testing.assert_allclose(np.asarray(found), case(array))
    assert einops.parse_shape(x, "a _ c") == {"a": 2, "c": 4}
    assert einops.asnumpy(x).tolist() == array.tolist()
    packed, shapes = einops.pack([x, x], "* b c")
    assert [one.shape for one in einops.unpack(packed, shapes, "* b c")] == [(2, 3, 4)] * 2


@pytest.mark.parametrize("order", ["import aten, einops", "import einops, aten"])
def test_einops_in_either_order(order):
    pytest.importorskip("einops")
    program = f"{order}\nprint(tuple(einops.rearrange(aten.ones(2, 3), 'a b -> b a').shape))"
    assert run(program) == "(3, 2)"


def test_nothing_is_imported_for_others():
    program = """
        import sys
        import aten
        aten.ones(2) + 1
        others = ("einops", "scipy", "sklearn", "pandas", "numpy")
        print([name for name in others if name in sys.modules])
    """
    assert run(program) == "[]"


def test_jaxtyping():
    jaxtyping = pytest.importorskip("jaxtyping")
    x = aten.ones(2, 3)
    assert isinstance(x, jaxtyping.Float[aten.Tensor, "rows columns"])
    assert isinstance(x, jaxtyping.Float32[aten.Tensor, "2 3"])
    assert isinstance(x.bfloat16(), jaxtyping.BFloat16[aten.Tensor, "..."])
    assert isinstance(x > 0, jaxtyping.Bool[aten.Tensor, "_ _"])
    assert isinstance(xp.ones(2), jaxtyping.Num[xp.Array, "n"])
    assert not isinstance(x, jaxtyping.Int[aten.Tensor, "rows columns"])
    assert not isinstance(x, jaxtyping.Float[aten.Tensor, "n"])


def test_safetensors(tmp_path):
    pytest.importorskip("safetensors")
    from safetensors.numpy import load_file, save_file

    names = ("bool", "uint8", "int64", "float16", "float32", "float64")
    tensors = {name: aten.arange(6).reshape(2, 3).to(getattr(aten, name)) for name in names}
    save_file({name: x.numpy() for name, x in tensors.items()}, tmp_path / "theirs")
    found = aten.safetensors.load_file(tmp_path / "theirs")
    assert all(found[name].equal(x) and found[name].dtype is x.dtype for name, x in tensors.items())
    aten.safetensors.save_file(tensors, tmp_path / "ours")
    for name, array in load_file(tmp_path / "ours").items():
        assert aten.from_numpy(array).equal(tensors[name])


def test_pandas():
    pandas = pytest.importorskip("pandas")
    array = np.arange(6.0).reshape(2, 3)
    x = tensor(array)
    pandas.testing.assert_frame_equal(
        pandas.DataFrame(x, columns=list("abc")), pandas.DataFrame(array, columns=list("abc"))
    )
    assert pandas.DataFrame({"a": x[0], "b": x[1]}).dtypes.tolist() == [np.float64] * 2
    series = pandas.Series(x[0])
    assert (series.dtype, series.sum()) == (np.float64, 3)
    pandas.testing.assert_series_equal(series + x[0], series * 2)
    pandas.testing.assert_series_equal(x[0] * series, series**2, check_names=False)
    assert series.iloc[aten.tensor([0, 2])].tolist() == [0, 2]
    assert aten.tensor(series).tolist() == [0, 1, 2]
    assert aten.as_tensor(pandas.DataFrame(array).to_numpy()).equal(x)
    assert pandas.Index(aten.arange(3)).dtype == np.int64


def test_pillow():
    image = pytest.importorskip("PIL.Image")
    pixels = RANDOM.integers(0, 256, (8, 6, 3)).astype(np.uint8)
    for array in (pixels, pixels[..., 0], pixels.transpose(1, 0, 2), pixels[::2, ::3]):
        found = image.fromarray(aten.from_numpy(array))
        assert found.size == array.shape[1::-1]
        np.testing.assert_array_equal(np.asarray(found), array)
        assert aten.tensor(np.asarray(found)).tolist() == array.tolist()
    assert image.fromarray(aten.rand(3, 4)).mode == "F"


# matplotlib

LINE = np.linspace(0, 1, 20)
WAVE = np.sin(6 * LINE)
NOISE = RANDOM.random(20)
GRID = RANDOM.random((10, 12))
PLOTS = {
    "plot": lambda ax, t: ax.plot(t(LINE), t(WAVE)),
    "lines of columns": lambda ax, t: ax.plot(t(X)),
    "integers": lambda ax, t: ax.plot(t(Y)),
    "booleans": lambda ax, t: ax.plot(t(NOISE > 0.5)),
    "points of no dimensions": lambda ax, t: ax.plot(t(NOISE)[0], t(NOISE)[1], "o"),
    "turned": lambda ax, t: ax.plot(t(LINE)[::2], t(WAVE)[::2], lw=t(NOISE)[0]),
    "scatter": lambda ax, t: ax.scatter(t(LINE), t(WAVE), c=t(WAVE), s=t(NOISE)),
    "bar": lambda ax, t: ax.bar_label(ax.bar(t(np.arange(20)), t(NOISE))),
    "barh": lambda ax, t: ax.barh(t(np.arange(20)), t(NOISE)),
    "hist": lambda ax, t: ax.hist(t(NOISE), bins=5),
    "hist of several": lambda ax, t: ax.hist([t(NOISE), t(NOISE)]),
    "hist2d": lambda ax, t: ax.hist2d(t(LINE), t(WAVE)),
    "hexbin": lambda ax, t: ax.hexbin(t(LINE), t(WAVE), gridsize=5),
    "imshow": lambda ax, t: ax.imshow(t(GRID), vmin=t(GRID).min(), vmax=t(GRID).max()),
    "matshow": lambda ax, t: ax.matshow(t(GRID)),
    "spy": lambda ax, t: ax.spy(t(GRID > 0.5)),
    "pcolormesh": lambda ax, t: ax.pcolormesh(t(GRID)),
    "pcolor": lambda ax, t: ax.pcolor(t(GRID)),
    "contour": lambda ax, t: ax.contour(t(GRID)),
    "contourf": lambda ax, t: ax.contourf(t(GRID)),
    "quiver": lambda ax, t: ax.quiver(t(GRID), t(GRID)),
    "barbs": lambda ax, t: ax.barbs(t(GRID), t(GRID)),
    "streamplot": lambda ax, t: ax.streamplot(np.arange(12.0), np.arange(10.0), t(GRID), t(GRID)),
    "errorbar": lambda ax, t: ax.errorbar(t(LINE), t(WAVE), yerr=t(NOISE), xerr=t(NOISE)),
    "boxplot": lambda ax, t: ax.boxplot(t(GRID)),
    "violinplot": lambda ax, t: ax.violinplot(t(GRID)),
    "pie": lambda ax, t: ax.pie(t(NOISE)),
    "stem": lambda ax, t: ax.stem(t(LINE), t(WAVE)),
    "step": lambda ax, t: ax.step(t(LINE), t(WAVE)),
    "stairs": lambda ax, t: ax.stairs(t(NOISE)),
    "fill": lambda ax, t: ax.fill(t(LINE), t(WAVE)),
    "fill_between": lambda ax, t: ax.fill_between(t(LINE), t(WAVE), 0, where=t(WAVE > 0)),
    "fill_betweenx": lambda ax, t: ax.fill_betweenx(t(LINE), t(WAVE), t(WAVE + 1)),
    "stackplot": lambda ax, t: ax.stackplot(t(LINE), t(NOISE), t(NOISE)),
    "eventplot": lambda ax, t: ax.eventplot(t(NOISE)),
    "hlines": lambda ax, t: ax.hlines(t(NOISE), 0, 1),
    "vlines": lambda ax, t: ax.vlines(t(NOISE), t(LINE), t(WAVE)),
    "axvspan": lambda ax, t: ax.axvspan(t(NOISE)[0], t(NOISE)[1]),
    "loglog": lambda ax, t: ax.loglog(t(LINE + 1), t(NOISE + 1)),
    "ecdf": lambda ax, t: ax.ecdf(t(NOISE)),
    "tricontour": lambda ax, t: ax.tricontour(t(NOISE), t(NOISE[::-1].copy() ** 2), t(WAVE)),
    "tripcolor": lambda ax, t: ax.tripcolor(t(NOISE), t(NOISE[::-1].copy() ** 2), t(WAVE)),
    "acorr": lambda ax, t: ax.acorr(t(NOISE)),
    "psd": lambda ax, t: ax.psd(t(NOISE), NFFT=8),
    "cohere": lambda ax, t: ax.cohere(t(NOISE), t(WAVE), NFFT=8),
    "specgram": lambda ax, t: ax.specgram(t(RANDOM.random(300))),
    "magnitude": lambda ax, t: ax.magnitude_spectrum(t(NOISE)),
    "annotate": lambda ax, t: ax.annotate("a", (t(NOISE)[0], t(NOISE)[1])),
    "limits": lambda ax, t: (ax.set_xlim(t(LINE).min(), t(LINE).max()), ax.set_xticks(t(LINE))),
}
SOLID = {
    "surface": lambda ax, t: ax.plot_surface(*map(t, (*np.meshgrid(range(12), range(10)), GRID))),
    "wireframe": lambda ax, t: ax.plot_wireframe(
        *map(t, (*np.meshgrid(range(12), range(10)), GRID))
    ),
    "scatter": lambda ax, t: ax.scatter(t(LINE), t(WAVE), t(NOISE)),
    "plot": lambda ax, t: ax.plot(t(LINE), t(WAVE), t(NOISE)),
    "bars": lambda ax, t: ax.bar3d(t(LINE), t(WAVE), 0, 0.1, 0.1, t(NOISE)),
    "voxels": lambda ax, t: ax.voxels(t(np.ones((2, 2, 2), bool))),
}


@pytest.fixture(scope="module")
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def drawn(pyplot, call, make, **axes):
    figure = pyplot.figure(figsize=(2, 2), dpi=40)
    np.random.seed(0)
    call(figure.add_subplot(**axes), make)
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba()).copy()
    pyplot.close(figure)
    return pixels


@pytest.mark.parametrize("name", PLOTS)
def test_matplotlib(name, pyplot):
    call = PLOTS[name]
    if name == "specgram":
        drawn(pyplot, call, tensor)
        return
    np.testing.assert_array_equal(drawn(pyplot, call, tensor), drawn(pyplot, call, np.array))


@pytest.mark.parametrize("name", SOLID)
def test_matplotlib_in_three_dimensions(name, pyplot):
    pictures = [drawn(pyplot, SOLID[name], make, projection="3d") for make in (tensor, np.array)]
    np.testing.assert_array_equal(*pictures)


def test_matplotlib_of_rarer_types(pyplot):
    for name in ("float16", "bfloat16", "uint8"):
        x = aten.arange(5).to(getattr(aten, name))
        assert drawn(pyplot, lambda ax, t, x=x: ax.plot(x), tensor).size


def test_warnings_are_none():
    """NumPy's protocols are followed as they are now."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(np.sin(aten.tensor([0.0]))[0]) == 0
        assert math.isclose(float(np.add(aten.ones(1), np.ones(1))[0]), 2)
        np.asarray(aten.ones(2), copy=False)
