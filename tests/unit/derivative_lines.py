"""Calls that reach lines of `derivatives.yaml` that no entry of torch's operator database reaches.

Each is a function of real or complex numbers in double precision, and numbers to begin with.
"""

from __future__ import annotations

import aten
from aten import ops

REAL = aten.float64
_aten, _prims, _fused = ops.aten, ops.prims, ops.fused


def numbers(*shape, low=0.2, high=1.8, dtype=REAL):
    """Numbers of a range that no two of are equal, in a fixed order."""
    count = aten.Size(shape).numel()
    order = aten.randperm(count, generator=aten.Generator().manual_seed(count))
    row = order * ((high - low) / max(count, 1)) + low
    made = row.to(dtype).reshape(shape)
    return (made * (1 + 0.5j) if dtype.is_complex else made).requires_grad_()


def _drawn(method, *args):
    def function(x):
        aten.manual_seed(0)
        return getattr(x * 1, method)(*args) + x

    return function


def _filled(method, *args):
    return lambda x, value: getattr(x * 1, method)(*args, value)


def _without_statistics(x, weight, bias):
    return _aten._native_batch_norm_legit.no_stats(x, weight, bias, True, 0.1, 1e-5)[0]


def _with_statistics(x, weight, bias):
    running = aten.zeros(3, dtype=REAL), aten.ones(3, dtype=REAL)
    op = _aten._native_batch_norm_legit_functional
    return op(x, weight, bias, *running, True, 0.1, 1e-5)[0]


def _updating(x, weight, bias):
    running = aten.zeros(3, dtype=REAL), aten.ones(3, dtype=REAL)
    return _aten._batch_norm_with_update_functional(x, weight, bias, *running, 0.1, 1e-5)[0]


def _attended(query, key, value):
    return _aten._scaled_dot_product_flash_attention_for_cpu(query, key, value)[0]


def _dropped(x):
    aten.manual_seed(0)
    return _aten.native_dropout(x, 0.3, True)[0]


def _normal(std):
    aten.manual_seed(0)
    return _aten.normal.float_Tensor(0.0, std) * 0 + std


def _largest_of_windows(gradient, x):
    window = [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1], False
    indices = _aten.max_pool3d_with_indices(x.detach(), *window)[1]
    return _aten.max_pool3d_with_indices_backward(gradient, x.detach(), *window, indices)


def _covariance(x):
    return x @ x.mT + 3 * aten.eye(3, dtype=REAL)


_NORMED = [numbers(4, 3, 2), numbers(3), numbers(3)]
_IMAGE, _VOLUME = [numbers(1, 2, 3, 4)], [numbers(1, 1, 3, 3, 4)]
_MATRIX = [numbers(3, 4)]
_COMPLEX = [numbers(3, 2, dtype=aten.complex128)]
_PLACES = aten.tensor([2, 0])
_ROWS, _STARTS = aten.tensor([3, 2, 0, 3, 1]), aten.tensor([0, 3, 3])
_MASK = aten.tensor([[True, False, True, False]])


def _product(pieces):
    """Another number for each place of each piece, so that none can stand for another."""
    return sum((place + 1) * piece**2 for place, piece in enumerate(pieces))


def _special(name):
    return getattr(_aten, f"special_{name}").default, [numbers(3, 2)]


_BESSEL = (
    *("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0"),
    *("modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1"),
    *("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"),
)


CALLS = {
    **{f"special_{name}": _special(name) for name in _BESSEL},
    "fused::lstm_sequence": (
        lambda *given: _fused.lstm_sequence(*given),
        [numbers(3, 2, 8), numbers(2, 2), numbers(2, 2), numbers(8, 2)],
    ),
    "split.Tensor": (lambda x: _product(_aten.split.Tensor(x, 2, 1)), _MATRIX),
    "split.sizes": (lambda x: _product(_aten.split.sizes(x, [2, 2], 1)), _MATRIX),
    "split_with_sizes": (lambda x: _product(_aten.split_with_sizes(x, [2, 2], 1)), _MATRIX),
    "unbind.int": (lambda x: _product(_aten.unbind.int(x, 1)), _MATRIX),
    "unsafe_split.Tensor": (lambda x: _product(_aten.unsafe_split.Tensor(x, 2, 1)), _MATRIX),
    "unsafe_split_with_sizes": (
        lambda x: _product(_aten.unsafe_split_with_sizes(x, [2, 2], 1)),
        _MATRIX,
    ),
    "_batch_norm_with_update_functional": (_updating, _NORMED),
    "_conj": (lambda x: _aten._conj(x) * x, _COMPLEX),
    "_embedding_bag": (
        lambda table, weights: (
            _aten._embedding_bag(table, _ROWS, _STARTS, per_sample_weights=weights, padding_idx=2)[
                0
            ]
            ** 2
        ),
        [numbers(4, 3), numbers(5)],
    ),
    "_index_put_impl": (
        lambda x, v: _aten._index_put_impl(x, [_PLACES], v, False),
        [numbers(3, 4), numbers(2, 4)],
    ),
    "_native_batch_norm_legit.no_stats": (_without_statistics, _NORMED),
    "_native_batch_norm_legit_functional": (_with_statistics, _NORMED),
    "_neg_view": (lambda x: _aten._neg_view(x) * x, _MATRIX),
    "_pdist_forward": (lambda x: _aten._pdist_forward(x, 2.0), _MATRIX),
    "_safe_softmax": (lambda x: _aten._safe_softmax(x, 1), _MATRIX),
    "_scaled_dot_product_flash_attention_for_cpu": (
        _attended,
        [numbers(1, 2, 3, 4), numbers(1, 2, 5, 4), numbers(1, 2, 5, 4)],
    ),
    "_stack": (lambda x, y: _aten._stack([x, y], 1) ** 2, [numbers(3, 4), numbers(3, 4)]),
    "_unsafe_index.Tensor": (lambda x: _aten._unsafe_index.Tensor(x, [_PLACES]) ** 2, _MATRIX),
    "_unsafe_view": (lambda x: _aten._unsafe_view(x, [4, 3]) ** 2, _MATRIX),
    "_upsample_bicubic2d_aa": (
        lambda x: _aten._upsample_bicubic2d_aa(x, [2, 6], False),
        _IMAGE,
    ),
    "_upsample_nearest_exact2d": (lambda x: _aten._upsample_nearest_exact2d(x, [5, 7]), _IMAGE),
    "_upsample_nearest_exact3d": (
        lambda x: _aten._upsample_nearest_exact3d(x, [5, 2, 7]),
        _VOLUME,
    ),
    "bernoulli.p": (lambda x: _aten.bernoulli.p(x, 1.0) * 2 + x, _MATRIX),
    "bernoulli_.float": (_drawn("bernoulli_", 0.5), _MATRIX),
    "cauchy_": (_drawn("cauchy_"), _MATRIX),
    "clamp_max": (lambda x: _aten.clamp_max(x, 0.9) ** 2, _MATRIX),
    "col2im": (
        lambda x: _aten.col2im(x, [3, 4], [2, 2], [1, 1], [0, 0], [1, 1]),
        [numbers(1, 8, 6)],
    ),
    "div.Scalar_mode": (
        lambda x: _aten.div.Scalar_mode(x, 0.7, rounding_mode=None) ** 2,
        _MATRIX,
    ),
    "exponential_": (_drawn("exponential_"), _MATRIX),
    "fill.Tensor": (lambda x, v: _aten.fill.Tensor(x, v) * x, [numbers(3), numbers()]),
    "fill_.Scalar": (_drawn("fill_", 2.5), _MATRIX),
    "fill_.Tensor": (_filled("fill_"), [numbers(3), numbers()]),
    "fmod.Scalar": (lambda x: _aten.fmod.Scalar(x, 0.37), _MATRIX),
    "geometric_": (_drawn("geometric_", 0.3), _MATRIX),
    "glu": (lambda x: _aten.glu(x, 1), _MATRIX),
    "igamma": (lambda x: _aten.igamma(aten.full_like(x, 1.5), x), _MATRIX),
    "igammac": (lambda x: _aten.igammac(aten.full_like(x, 1.5), x), _MATRIX),
    "log_normal_": (_drawn("log_normal_"), _MATRIX),
    "masked_fill_.Scalar": (lambda x: (x * 1).masked_fill_(_MASK, 2.0), [numbers(3, 4)]),
    "masked_fill_.Tensor": (_filled("masked_fill_", _MASK), [numbers(3, 4), numbers()]),
    "max_pool3d_with_indices_backward": (
        _largest_of_windows,
        [numbers(1, 1, 1, 2, 2), numbers(1, 1, 2, 4, 4)],
    ),
    "native_dropout": (_dropped, _MATRIX),
    "norm.Scalar": (lambda x: _aten.norm.Scalar(x, 3), _MATRIX),
    "norm.ScalarOpt_dim_dtype": (
        lambda x: _aten.norm.ScalarOpt_dim_dtype(x, 3, [1], True, dtype=REAL),
        _MATRIX,
    ),
    "norm.ScalarOpt_dtype": (lambda x: _aten.norm.ScalarOpt_dtype(x, 1.5, dtype=REAL), _MATRIX),
    "normal.float_Tensor": (_normal, _MATRIX),
    "normal_": (_drawn("normal_"), _MATRIX),
    "polygamma": (lambda x: _aten.polygamma(2, x), _MATRIX),
    "prims::amax": (lambda x: _prims.amax(x, [1]) ** 2, _MATRIX),
    "prims::amin": (lambda x: _prims.amin(x, [0]) ** 2, _MATRIX),
    "prims::cat": (lambda x, y: _prims.cat([x, y], 1) ** 2, [numbers(3, 4), numbers(3, 2)]),
    "prims::cholesky": (
        lambda x: _prims.cholesky(_covariance(x))[0].tril(),
        [numbers(3, 3)],
    ),
    "prims::convert_element_type": (
        lambda x: _prims.convert_element_type(x, aten.complex128).real ** 2,
        _MATRIX,
    ),
    "prims::copy_to": (
        lambda x, y: _prims.copy_to(x * 1, y) ** 2,
        [numbers(3, 4), numbers(3, 4)],
    ),
    "prims::cumprod": (lambda x: _prims.cumprod(x, [1]), _MATRIX),
    "prims::cumsum": (lambda x: _prims.cumsum(x, [1]) ** 2, _MATRIX),
    "prims::dot_general": (
        lambda x, y: _prims.dot_general(x, y, [2], [1], [0], [0]),
        [numbers(2, 3, 4), numbers(2, 4, 5)],
    ),
    "prims::imag": (lambda x: _prims.imag(x) ** 2, _COMPLEX),
    "prims::pad": (lambda x: _prims.pad(x, 0.5, [1, -1], [0, 2], [1, 0]) ** 2, _MATRIX),
    "prims::prod": (lambda x: _prims.prod(x, [1]), _MATRIX),
    "prims::real": (lambda x: _prims.real(x) ** 2, _COMPLEX),
    "prims::rev": (lambda x: _prims.rev(x, [0, 1]) * x, _MATRIX),
    "prims::windows": (lambda x: _prims.windows(x, [2, 2], [1, 1], [1, 2]) ** 2, _MATRIX),
    "random_": (lambda x: (x * 1).random_() * 0 + x, _MATRIX),
    "random_.from": (lambda x: (x * 1).random_(1, 3) * 0 + x, _MATRIX),
    "random_.to": (lambda x: (x * 1).random_(3) * 0 + x, _MATRIX),
    "reflection_pad2d": (lambda x: _aten.reflection_pad2d(x, [1, 2, 1, 0]) ** 2, _IMAGE),
    "reflection_pad3d": (lambda x: _aten.reflection_pad3d(x, [1, 2, 1, 0, 0, 1]) ** 2, _VOLUME),
    "remainder.Scalar": (lambda x: _aten.remainder.Scalar(x, 0.37), _MATRIX),
    "replication_pad3d": (lambda x: _aten.replication_pad3d(x, [1, 2, 1, 0, 0, 1]) ** 2, _VOLUME),
    "special_digamma": (_aten.special_digamma, _MATRIX),
    "special_psi": (_aten.special_psi, _MATRIX),
    "special_sinc": (_aten.special_sinc, _MATRIX),
    "special_zeta": (lambda x: _aten.special_zeta(aten.full_like(x, 2.5), x), _MATRIX),
    "special_zeta.self_scalar": (lambda x: _aten.special_zeta.self_scalar(2.5, x), _MATRIX),
    "std.correction": (lambda x: _aten.std.correction(x, [1], correction=0.5), _MATRIX),
    "std": (lambda x: _aten.std.default(x), _MATRIX),
    "std.dim": (lambda x: _aten.std.dim(x, [0], False, True), _MATRIX),
    "std_mean": (lambda x: _aten.std_mean.default(x, False), _MATRIX),
    "std_mean.dim": (lambda x: _aten.std_mean.dim(x, [1]), _MATRIX),
    "std_mean.correction": (lambda x: _aten.std_mean.correction(x, [0]), _MATRIX),
    "swapaxes": (lambda x: _aten.swapaxes(x, 0, 1) ** 2, _MATRIX),
    "swapdims": (lambda x: _aten.swapdims(x, 0, 1) ** 2, _MATRIX),
    "uniform_": (_drawn("uniform_"), _MATRIX),
    "upsample_nearest2d": (lambda x: _aten.upsample_nearest2d(x, [5, 7]) ** 2, _IMAGE),
    "upsample_nearest3d": (lambda x: _aten.upsample_nearest3d(x, [5, 2, 7]) ** 2, _VOLUME),
    "var.correction": (lambda x: _aten.var.correction(x, [1], correction=0.5), _MATRIX),
    "var_mean.correction": (lambda x: _aten.var_mean.correction(x, [0]), _MATRIX),
    "vdot": (_aten.vdot, [numbers(3, dtype=aten.complex128), numbers(3, dtype=aten.complex128)]),
}
