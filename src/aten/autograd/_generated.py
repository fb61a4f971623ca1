"""Made by `python -m aten.codegen` from derivatives.yaml. Do not edit."""

import math
from typing import Any

from aten.autograd.formulas import common, folds, linear_algebra, moving, networks, pointwise, products, spectra, views
from aten.registry import ops


def relu_self(gradient: Any, result: Any) -> Any:
    return ops.aten.threshold_backward(gradient, result, 0)


def threshold_self(gradient: Any, self: Any, threshold: Any) -> Any:
    return ops.aten.threshold_backward(gradient, self, threshold)


def leaky_relu_self(gradient: Any, self: Any, negative_slope: Any) -> Any:
    return ops.aten.leaky_relu_backward(gradient, self, negative_slope, False)


def hardtanh_self(gradient: Any, self: Any, min_val: Any, max_val: Any) -> Any:
    return ops.aten.hardtanh_backward(gradient, self, min_val, max_val)


def relu6_self(gradient: Any, self: Any) -> Any:
    return ops.aten.hardtanh_backward(gradient, self, 0, 6)


def elu_self(gradient: Any, alpha: Any, scale: Any, input_scale: Any, self: Any) -> Any:
    return ops.aten.elu_backward(gradient, alpha, scale, input_scale, False, self)


def gelu_self(gradient: Any, self: Any, approximate: Any) -> Any:
    return ops.aten.gelu_backward(gradient, self, approximate=approximate)


def silu_self(gradient: Any, self: Any) -> Any:
    return ops.aten.silu_backward(gradient, self)


def mish_self(gradient: Any, self: Any) -> Any:
    return ops.aten.mish_backward(gradient, self)


def hardswish_self(gradient: Any, self: Any) -> Any:
    return ops.aten.hardswish_backward(gradient, self)


def hardsigmoid_self(gradient: Any, self: Any) -> Any:
    return ops.aten.hardsigmoid_backward(gradient, self)


def softplus_self(gradient: Any, self: Any, beta: Any, threshold: Any) -> Any:
    return ops.aten.softplus_backward(gradient, self, beta, threshold)


def softshrink_self(gradient: Any, self: Any, lambd: Any) -> Any:
    return ops.aten.softshrink_backward(gradient, self, lambd)


def hardshrink_self(gradient: Any, self: Any, lambd: Any) -> Any:
    return ops.aten.hardshrink_backward(gradient, self, lambd)


def sigmoid_self(gradient: Any, result: Any) -> Any:
    return ops.aten.sigmoid_backward(gradient, result)


def tanh_self(gradient: Any, result: Any) -> Any:
    return ops.aten.tanh_backward(gradient, result)


def logit_self(gradient: Any, self: Any, eps: Any) -> Any:
    return ops.aten.logit_backward(gradient, self, eps)


def _prelu_kernel_self(gradient: Any, self: Any, weight: Any) -> Any:
    return ops.aten._prelu_kernel_backward(gradient, self, weight)


def glu_self(gradient: Any, self: Any, dim: Any) -> Any:
    return ops.aten.glu_backward(gradient, self, dim)


def clamp_self(gradient: Any, self: Any, min: Any, max: Any) -> Any:
    return pointwise.clamped(gradient, self, min, max)


def clamp_Tensor_self(gradient: Any, self: Any, min: Any, max: Any) -> Any:
    return pointwise.clamped_by_tensors(gradient, self, min, max)


def clamp_min_self(self: Any, min: Any, gradient: Any) -> Any:
    return ops.aten.where(self >= min, gradient, 0)


def clamp_max_self(self: Any, max: Any, gradient: Any) -> Any:
    return ops.aten.where(self <= max, gradient, 0)


def clamp_min_Tensor_self(self: Any, min: Any, gradient: Any) -> Any:
    return ops.aten.where(self >= min, gradient, 0)


def clamp_min_Tensor_min(self: Any, min: Any, gradient: Any) -> Any:
    return ops.aten.where(self < min, gradient, 0)


def clamp_max_Tensor_self(self: Any, max: Any, gradient: Any) -> Any:
    return ops.aten.where(self <= max, gradient, 0)


def clamp_max_Tensor_max(self: Any, max: Any, gradient: Any) -> Any:
    return ops.aten.where(self > max, gradient, 0)


def fmax_self(self: Any, other: Any, gradient: Any) -> Any:
    return ops.aten.where(pointwise.or_nan(self >= other, other), gradient, 0)


def fmax_other(self: Any, other: Any, gradient: Any) -> Any:
    return ops.aten.where(pointwise.or_nan(self >= other, other), 0, gradient)


def fmin_self(self: Any, other: Any, gradient: Any) -> Any:
    return ops.aten.where(pointwise.or_nan(self <= other, other), gradient, 0)


def fmin_other(self: Any, other: Any, gradient: Any) -> Any:
    return ops.aten.where(pointwise.or_nan(self <= other, other), 0, gradient)


def pow_Tensor_Scalar_self(gradient: Any, self: Any, exponent: Any) -> Any:
    return pointwise.power_of_number(gradient, self, exponent)


def hypot_self(gradient: Any, self: Any, result: Any) -> Any:
    return gradient * (self / result)


def hypot_other(gradient: Any, other: Any, result: Any) -> Any:
    return gradient * (other / result)


def div_Tensor_mode_self(gradient: Any, other: Any, rounding_mode: Any) -> Any:
    return pointwise.quotient_by(gradient, other, rounding_mode)


def div_Tensor_mode_other(gradient: Any, self: Any, other: Any, rounding_mode: Any) -> Any:
    return pointwise.quotient_of(gradient, self, other, rounding_mode)


def div_Scalar_mode_self(gradient: Any, other: Any, rounding_mode: Any) -> Any:
    return pointwise.quotient_by(gradient, other, rounding_mode)


def remainder_Tensor_self(gradient: Any) -> Any:
    return gradient


def remainder_Tensor_other(gradient: Any, self: Any, other: Any) -> Any:
    return -gradient * ops.aten.floor(self / other)


def remainder_Scalar_self(gradient: Any) -> Any:
    return gradient


def fmod_Scalar_self(gradient: Any) -> Any:
    return gradient


def xlogy_Tensor_self(self: Any, other: Any, gradient: Any) -> Any:
    return ops.aten.where((self == 0) & (other <= 0), 0, gradient * ops.aten.log(other))


def xlogy_Tensor_other(gradient: Any, self: Any, other: Any) -> Any:
    return gradient * self / other


def special_xlog1py_self(self: Any, other: Any, gradient: Any) -> Any:
    return ops.aten.where((self == 0) & (other <= -1), 0, gradient * ops.aten.log1p(other))


def special_xlog1py_other(gradient: Any, self: Any, other: Any) -> Any:
    return gradient * self / (other + 1)


def logaddexp_self(gradient: Any, self: Any, other: Any) -> Any:
    return gradient * ops.aten.conj(ops.aten.sigmoid(pointwise.apart(self, other)))


def logaddexp_other(gradient: Any, other: Any, self: Any) -> Any:
    return gradient * ops.aten.conj(ops.aten.sigmoid(pointwise.apart(other, self)))


def logaddexp2_self(gradient: Any, self: Any, other: Any) -> Any:
    return gradient * ops.aten.sigmoid(math.log(2) * pointwise.apart(self, other))


def logaddexp2_other(gradient: Any, other: Any, self: Any) -> Any:
    return gradient * ops.aten.sigmoid(math.log(2) * pointwise.apart(other, self))


def lgamma_self(gradient: Any, self: Any) -> Any:
    return gradient * ops.aten.digamma(self)


def digamma_self(gradient: Any, self: Any) -> Any:
    return gradient * ops.aten.polygamma(1, self)


def special_psi_self(gradient: Any, self: Any) -> Any:
    return gradient * ops.aten.polygamma(1, self)


def special_digamma_self(gradient: Any, self: Any) -> Any:
    return gradient * ops.aten.polygamma(1, self)


def polygamma_self(gradient: Any, n: Any, self: Any) -> Any:
    return gradient * ops.aten.polygamma(n + 1, self)


def special_zeta_other(gradient: Any, self: Any, other: Any) -> Any:
    return gradient * -self * ops.aten.special_zeta(self + 1, other)


def special_zeta_self_scalar_other(gradient: Any, self: Any, other: Any) -> Any:
    return gradient * -self * ops.aten.special_zeta(self + 1, other)


def igamma_other(gradient: Any, self: Any, other: Any) -> Any:
    return gradient * pointwise.gamma_density(self, other)


def igammac_other(gradient: Any, self: Any, other: Any) -> Any:
    return -gradient * pointwise.gamma_density(self, other)


def i0_self(gradient: Any, self: Any) -> Any:
    return gradient * ops.aten.special_i1(self)


def special_modified_bessel_i0_self(gradient: Any, self: Any) -> Any:
    return gradient * ops.aten.special_i1(self)


def special_i0e_self(gradient: Any, self: Any, result: Any) -> Any:
    return gradient * (ops.aten.special_i1e(self) - ops.aten.sgn(self) * result)


def special_i1_self(gradient: Any, self: Any, result: Any) -> Any:
    return gradient * pointwise.slope_of_i1(self, result)


def special_modified_bessel_i1_self(gradient: Any, self: Any, result: Any) -> Any:
    return gradient * pointwise.slope_of_i1(self, result)


def special_i1e_self(gradient: Any, self: Any, result: Any) -> Any:
    return gradient * pointwise.slope_of_i1e(self, result)


def special_bessel_j0_self(gradient: Any, self: Any) -> Any:
    return -gradient * ops.aten.special_bessel_j1(self)


def special_bessel_j1_self(gradient: Any, self: Any, result: Any) -> Any:
    return gradient * ops.aten.where(self == 0, 0.5, ops.aten.special_bessel_j0(self) - result / self)


def special_bessel_y0_self(gradient: Any, self: Any) -> Any:
    return -gradient * ops.aten.special_bessel_y1(self)


def special_bessel_y1_self(gradient: Any, self: Any, result: Any) -> Any:
    return gradient * (ops.aten.special_bessel_y0(self) - result / self)


def special_modified_bessel_k0_self(gradient: Any, self: Any) -> Any:
    return -gradient * ops.aten.special_modified_bessel_k1(self)


def special_modified_bessel_k1_self(gradient: Any, self: Any, result: Any) -> Any:
    return -gradient * (ops.aten.special_modified_bessel_k0(self) + result / self)


def special_scaled_modified_bessel_k0_x(gradient: Any, result: Any, x: Any) -> Any:
    return gradient * (result - ops.aten.special_scaled_modified_bessel_k1(x))


def special_scaled_modified_bessel_k1_x(gradient: Any, result: Any, x: Any) -> Any:
    return gradient * (result - ops.aten.special_scaled_modified_bessel_k0(x) - result / x)


def special_spherical_bessel_j0_x(gradient: Any, x: Any, result: Any) -> Any:
    return gradient * ops.aten.where(x == 0, 0, (ops.aten.cos(x) - result) / x)


def special_ndtr_self(gradient: Any, self: Any) -> Any:
    return gradient * ops.aten.exp(ops.aten.square(self) / -2) / (2 * math.pi) ** 0.5


def special_entr_self(gradient: Any, self: Any) -> Any:
    return gradient * ops.aten.where(ops.aten.isnan(self), self, -ops.aten.log(self) - 1)


def special_erfcx_self(gradient: Any, self: Any, result: Any) -> Any:
    return gradient * (2 * self * result - 2 / math.pi ** 0.5)


def special_ndtri_self(gradient: Any, result: Any) -> Any:
    return gradient * ops.aten.exp(ops.aten.square(result) / 2) * (2 * math.pi) ** 0.5


def special_log_ndtr_self(gradient: Any, self: Any) -> Any:
    return gradient / ops.aten.special_erfcx(self / -2 ** 0.5) * (2 / math.pi) ** 0.5


def sinc_self(gradient: Any, self: Any) -> Any:
    return pointwise.slope_of_sinc(gradient, self)


def special_sinc_self(gradient: Any, self: Any) -> Any:
    return pointwise.slope_of_sinc(gradient, self)


def where_self_self(condition: Any, gradient: Any) -> Any:
    return ops.aten.where(condition, gradient, 0)


def where_self_other(condition: Any, gradient: Any) -> Any:
    return ops.aten.where(condition, 0, gradient)


def nan_to_num_self(gradient: Any, self: Any) -> Any:
    return gradient * ops.aten.isfinite(self)


def masked_fill_Tensor_self(gradient: Any, mask: Any) -> Any:
    return ops.aten.masked_fill(gradient, mask, 0)


def masked_fill_Tensor_value(mask: Any, gradient: Any) -> Any:
    return ops.aten.sum(ops.aten.where(mask, gradient, 0))


def masked_fill__Tensor_self(gradient: Any, mask: Any) -> Any:
    return ops.aten.masked_fill(gradient, mask, 0)


def masked_fill__Tensor_value(mask: Any, gradient: Any) -> Any:
    return ops.aten.sum(ops.aten.where(mask, gradient, 0))


def masked_fill_Scalar_self(gradient: Any, mask: Any) -> Any:
    return ops.aten.masked_fill(gradient, mask, 0)


def masked_fill__Scalar_self(gradient: Any, mask: Any) -> Any:
    return ops.aten.masked_fill(gradient, mask, 0)


def fill_Scalar_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def fill__Scalar_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def zero_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def uniform__self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def normal__self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def bernoulli__float_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def exponential__self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def geometric__self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def cauchy__self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def log_normal__self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def random__self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def random__from_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def random__to_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def bernoulli_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def bernoulli_p_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def fill_Tensor_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def fill_Tensor_value(gradient: Any) -> Any:
    return ops.aten.sum(gradient)


def fill__Tensor_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def fill__Tensor_value(gradient: Any) -> Any:
    return ops.aten.sum(gradient)


def copy__self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def copy__src(gradient: Any) -> Any:
    return gradient


def copy_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def copy_src(gradient: Any) -> Any:
    return gradient


def _to_copy_self(gradient: Any) -> Any:
    return gradient


def nextafter_self(self: Any, other: Any, gradient: Any) -> Any:
    return ops.aten.where(self == other, 0, gradient)


def nextafter_other(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def frexp_Tensor_self(gradient: Any, result1: Any) -> Any:
    return ops.aten.ldexp(gradient, -result1)


def prims_real_self(gradient: Any) -> Any:
    return ops.aten.complex(gradient, ops.aten.zeros_like(gradient))


def prims_imag_self(gradient: Any) -> Any:
    return ops.aten.complex(ops.aten.zeros_like(gradient), gradient)


def complex_real(gradient: Any) -> Any:
    return ops.aten.real(gradient)


def complex_imag(gradient: Any) -> Any:
    return ops.aten.imag(gradient)


def polar_abs(gradient: Any, result: Any) -> Any:
    return ops.aten.real(gradient * ops.aten.conj(ops.aten.sgn(result)))


def polar_angle(gradient: Any, result: Any) -> Any:
    return ops.aten.imag(gradient * ops.aten.conj(result))


def normal_Tensor_float_mean(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def normal_float_Tensor_std(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def normal_Tensor_Tensor_mean(gradient: Any, mean_sizes: Any, std_sizes: Any) -> Any:
    return common.two_zeros(gradient, mean_sizes, std_sizes)


def native_dropout_input(gradient: Any, result1: Any, p: Any, train: Any) -> Any:
    return ops.aten.native_dropout_backward(gradient, result1, pointwise.unkept(p, train))


def alias_self(gradient: Any) -> Any:
    return gradient


def expand_self(gradient: Any, self_sizes: Any) -> Any:
    return common.sum_to_size(gradient, self_sizes)


def permute_self(gradient: Any, dims: Any) -> Any:
    return common.inverted(gradient, dims)


def t_self(gradient: Any) -> Any:
    return ops.aten.t(gradient)


def transpose_int_self(gradient: Any, dim0: Any, dim1: Any) -> Any:
    return ops.aten.transpose(gradient, dim0, dim1)


def swapdims_self(gradient: Any, dim0: Any, dim1: Any) -> Any:
    return ops.aten.transpose(gradient, dim0, dim1)


def swapaxes_self(gradient: Any, axis0: Any, axis1: Any) -> Any:
    return ops.aten.transpose(gradient, axis0, axis1)


def unsqueeze_self(gradient: Any, dim: Any) -> Any:
    return ops.aten.squeeze(gradient, dim)


def squeeze_self(gradient: Any, self_sizes: Any) -> Any:
    return ops.aten.reshape(gradient, self_sizes)


def squeeze_dim_self(gradient: Any, self_sizes: Any) -> Any:
    return ops.aten.reshape(gradient, self_sizes)


def squeeze_dims_self(gradient: Any, self_sizes: Any) -> Any:
    return ops.aten.reshape(gradient, self_sizes)


def view_self(gradient: Any, self_sizes: Any) -> Any:
    return ops.aten.reshape(gradient, self_sizes)


def _unsafe_view_self(gradient: Any, self_sizes: Any) -> Any:
    return ops.aten.reshape(gradient, self_sizes)


def select_int_self(gradient: Any, self_sizes: Any, dim: Any, index: Any) -> Any:
    return ops.aten.select_backward(gradient, self_sizes, dim, index)


def slice_Tensor_self(gradient: Any, self_sizes: Any, dim: Any, start: Any, end: Any, step: Any) -> Any:
    return views.slice_backward_of(gradient, self_sizes, dim, start, end, step)


def split_Tensor_self(gradients: Any, dim: Any) -> Any:
    return ops.aten.cat(gradients, dim)


def split_sizes_self(gradients: Any, dim: Any) -> Any:
    return ops.aten.cat(gradients, dim)


def split_with_sizes_self(gradients: Any, dim: Any) -> Any:
    return ops.aten.cat(gradients, dim)


def unsafe_split_Tensor_self(gradients: Any, dim: Any) -> Any:
    return ops.aten.cat(gradients, dim)


def unsafe_split_with_sizes_self(gradients: Any, dim: Any) -> Any:
    return ops.aten.cat(gradients, dim)


def unbind_int_self(gradients: Any, dim: Any) -> Any:
    return ops.aten.stack(gradients, dim)


def diagonal_self(gradient: Any, self_sizes: Any, offset: Any, dim1: Any, dim2: Any) -> Any:
    return ops.aten.diagonal_backward(gradient, self_sizes, offset, dim1, dim2)


def unfold_self(gradient: Any, self_sizes: Any, dimension: Any, size: Any, step: Any) -> Any:
    return ops.aten.unfold_backward(gradient, self_sizes, dimension, size, step)


def as_strided_self(gradient: Any, self: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    return views.restrided(gradient, self, size, stride, storage_offset)


def _conj_self(gradient: Any) -> Any:
    return ops.aten.conj(gradient)


def _neg_view_self(gradient: Any) -> Any:
    return -gradient


def view_dtype_self(gradient: Any, self: Any) -> Any:
    return views.reinterpreted(gradient, common.dtype_of(self))


def prims_windows_a(gradient: Any, a_sizes: Any, window: Any, stride: Any, dilation: Any) -> Any:
    return views.rewindowed(gradient, a_sizes, window, stride, dilation)


def prims_broadcast_in_dim_a(gradient: Any, a_sizes: Any, broadcast_dimensions: Any) -> Any:
    return views.gathered_up(gradient, a_sizes, broadcast_dimensions)


def prims_convert_element_type_a(gradient: Any) -> Any:
    return gradient


def prims_copy_to_a(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def prims_copy_to_b(gradient: Any) -> Any:
    return gradient


def prims_sum_inp(gradient: Any, inp_sizes: Any, dims: Any) -> Any:
    return common.spread(gradient, inp_sizes, dims)


def prims_prod_inp(gradient: Any, inp: Any, dims: Any) -> Any:
    return folds.product_of_folded(gradient, inp, dims)


def prims_amax_inp(gradient: Any, inp: Any, result: Any, dims: Any) -> Any:
    return folds.to_extremes(gradient, inp, result, dims)


def prims_amin_inp(gradient: Any, inp: Any, result: Any, dims: Any) -> Any:
    return folds.to_extremes(gradient, inp, result, dims)


def prims_cumsum_inp(gradient: Any, dims: Any) -> Any:
    return folds.reversed_sums(gradient, common.first(dims))


def prims_cumprod_inp(gradient: Any, inp: Any, result: Any, dims: Any) -> Any:
    return folds.slope_of_running_product(gradient, inp, result, common.first(dims))


def sum_self(gradient: Any, self_sizes: Any) -> Any:
    return ops.aten.expand(gradient, self_sizes)


def sum_dim_IntList_self(gradient: Any, self_sizes: Any, dim: Any, keepdim: Any) -> Any:
    return common.spread(gradient, self_sizes, dim, keepdim)


def nansum_self(gradient: Any, self_sizes: Any, dim: Any, keepdim: Any, self: Any) -> Any:
    return common.spread(gradient, self_sizes, dim, keepdim) * ops.aten.logical_not(ops.aten.isnan(self))


def mean_self(gradient: Any, self_sizes: Any) -> Any:
    return ops.aten.expand(gradient, self_sizes) / common.count(self_sizes)


def mean_dim_self(gradient: Any, self_sizes: Any, dim: Any, keepdim: Any) -> Any:
    return common.spread(gradient, self_sizes, dim, keepdim) / common.count(self_sizes, dim)


def var_correction_self(gradient: Any, self: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    return folds.slope_of_variance(gradient, self, dim, correction, keepdim)


def std_self(gradient: Any, result: Any, self: Any, unbiased: Any) -> Any:
    return folds.slope_of_deviation(gradient, result, self, None, unbiased, False)


def std_dim_self(gradient: Any, result: Any, self: Any, dim: Any, unbiased: Any, keepdim: Any) -> Any:
    return folds.slope_of_deviation(gradient, result, self, dim, unbiased, keepdim)


def std_correction_self(gradient: Any, result: Any, self: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    return folds.slope_of_deviation(gradient, result, self, dim, correction, keepdim)


def var_mean_correction_self(gradients: Any, self: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    return folds.slope_of_variance_and_mean(gradients, self, dim, correction, keepdim)


def std_mean_self(gradients: Any, result: Any, self: Any, unbiased: Any) -> Any:
    return folds.slope_of_deviation_and_mean(gradients, result, self, None, unbiased, False)


def std_mean_dim_self(gradients: Any, result: Any, self: Any, dim: Any, unbiased: Any, keepdim: Any) -> Any:
    return folds.slope_of_deviation_and_mean(gradients, result, self, dim, unbiased, keepdim)


def std_mean_correction_self(gradients: Any, result: Any, self: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    return folds.slope_of_deviation_and_mean(gradients, result, self, dim, correction, keepdim)


def logsumexp_self(gradient: Any, self_sizes: Any, dim: Any, keepdim: Any, self: Any, result: Any) -> Any:
    return common.spread(gradient, self_sizes, dim, keepdim) * ops.aten.conj(ops.aten.exp(self - folds.finite(common.spread(result, self_sizes, dim, keepdim))))


def prod_self(gradient: Any, self: Any, result: Any) -> Any:
    return folds.slope_of_product(gradient, self, result)


def prod_dim_int_self(gradient: Any, self: Any, result: Any, dim: Any, keepdim: Any) -> Any:
    return folds.slope_of_product_along(gradient, self, result, dim, keepdim)


def amax_self(gradient: Any, self: Any, result: Any, dim: Any, keepdim: Any) -> Any:
    return folds.to_extremes(gradient, self, result, dim, keepdim)


def amin_self(gradient: Any, self: Any, result: Any, dim: Any, keepdim: Any) -> Any:
    return folds.to_extremes(gradient, self, result, dim, keepdim)


def aminmax_self(gradients: Any, self: Any, result: Any, result1: Any, dim: Any, keepdim: Any) -> Any:
    return folds.to_both_extremes(gradients, self, result, result1, dim, keepdim)


def max_self(gradient: Any, self: Any, result: Any) -> Any:
    return folds.to_extremes(gradient, self, result)


def min_self(gradient: Any, self: Any, result: Any) -> Any:
    return folds.to_extremes(gradient, self, result)


def median_self(gradient: Any, self: Any, result: Any) -> Any:
    return folds.to_extremes(gradient, self, result)


def nanmedian_self(gradient: Any, self: Any, result: Any) -> Any:
    return folds.to_extremes(gradient, self, result)


def max_dim_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any, keepdim: Any) -> Any:
    return folds.to_places(gradient, self_sizes, dim, result1, keepdim)


def min_dim_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any, keepdim: Any) -> Any:
    return folds.to_places(gradient, self_sizes, dim, result1, keepdim)


def median_dim_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any, keepdim: Any) -> Any:
    return folds.to_places(gradient, self_sizes, dim, result1, keepdim)


def nanmedian_dim_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any, keepdim: Any) -> Any:
    return folds.to_places(gradient, self_sizes, dim, result1, keepdim)


def mode_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any, keepdim: Any) -> Any:
    return folds.to_places(gradient, self_sizes, dim, result1, keepdim)


def kthvalue_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any, keepdim: Any) -> Any:
    return folds.to_places(gradient, self_sizes, dim, result1, keepdim)


def sort_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any) -> Any:
    return folds.to_places(gradient, self_sizes, dim, result1, True)


def sort_stable_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any) -> Any:
    return folds.to_places(gradient, self_sizes, dim, result1, True)


def topk_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any) -> Any:
    return folds.to_places(gradient, self_sizes, dim, result1, True)


def linalg_vector_norm_self(gradient: Any, self: Any, result: Any, ord: Any, dim: Any, keepdim: Any) -> Any:
    return folds.slope_of_norm(gradient, self, result, ord, dim, keepdim)


def norm_Scalar_self(gradient: Any, self: Any, result: Any, p: Any) -> Any:
    return folds.slope_of_norm(gradient, self, result, p)


def norm_ScalarOpt_dtype_self(gradient: Any, self: Any, result: Any, p: Any) -> Any:
    return folds.slope_of_norm(gradient, self, result, p)


def norm_ScalarOpt_dim_self(gradient: Any, self: Any, result: Any, p: Any, dim: Any, keepdim: Any) -> Any:
    return folds.slope_of_norm(gradient, self, result, p, dim, keepdim)


def norm_ScalarOpt_dim_dtype_self(gradient: Any, self: Any, result: Any, p: Any, dim: Any, keepdim: Any) -> Any:
    return folds.slope_of_norm(gradient, self, result, p, dim, keepdim)


def _safe_softmax_self(gradient: Any, result: Any, dim: Any) -> Any:
    return ops.aten._softmax_backward_data(gradient, result, dim, common.dtype_of(result))


def _softmax_self(gradient: Any, result: Any, dim: Any) -> Any:
    return ops.aten._softmax_backward_data(gradient, result, dim, common.dtype_of(result))


def _log_softmax_self(gradient: Any, result: Any, dim: Any) -> Any:
    return ops.aten._log_softmax_backward_data(gradient, result, dim, common.dtype_of(result))


def cumsum_self(gradient: Any, dim: Any) -> Any:
    return folds.reversed_sums(gradient, dim)


def cumprod_self(gradient: Any, self: Any, result: Any, dim: Any) -> Any:
    return folds.slope_of_running_product(gradient, self, result, dim)


def cummax_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any) -> Any:
    return folds.to_repeated_places(gradient, self_sizes, dim, result1)


def cummin_self(gradient: Any, self_sizes: Any, dim: Any, result1: Any) -> Any:
    return folds.to_repeated_places(gradient, self_sizes, dim, result1)


def logcumsumexp_self(gradient: Any, self: Any, result: Any, dim: Any) -> Any:
    return folds.slope_of_logcumsumexp(gradient, self, result, dim)


def _cdist_forward_x1(gradient: Any, x1: Any, x2: Any, p: Any, result: Any) -> Any:
    return ops.aten._cdist_backward(ops.aten.contiguous(gradient), x1, x2, p, result)


def _cdist_forward_x2(gradient: Any, x2: Any, x1: Any, p: Any, result: Any) -> Any:
    return ops.aten._cdist_backward(ops.aten.contiguous(ops.aten.mT(gradient)), x2, x1, p, ops.aten.contiguous(ops.aten.mT(result)))


def _pdist_forward_self(gradient: Any, self: Any, p: Any, result: Any) -> Any:
    return ops.aten._pdist_backward(gradient, self, p, result)


def native_layer_norm_input(gradient: Any, input: Any, normalized_shape: Any, result1: Any, result2: Any, weight: Any, bias: Any, eps: Any, needed: Any) -> Any:
    return folds.of_layer_norm(gradient, input, normalized_shape, result1, result2, weight, bias, eps, needed)


def native_group_norm_input(given: Any, input: Any, result1: Any, result2: Any, weight: Any, N: Any, C: Any, HxW: Any, group: Any, needed: Any) -> Any:
    return folds.of_group_norm(given, input, result1, result2, weight, common.four(N, C, HxW, group), needed)


def native_batch_norm_input(gradient: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, result1: Any, result2: Any, training: Any, eps: Any, needed: Any) -> Any:
    return folds.of_batch_norm(gradient, input, weight, running_mean, running_var, result1, result2, training, eps, needed)


def _native_batch_norm_legit_input(gradient: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, result1: Any, result2: Any, training: Any, eps: Any, needed: Any) -> Any:
    return folds.of_batch_norm(gradient, input, weight, running_mean, running_var, result1, result2, training, eps, needed)


def _native_batch_norm_legit_no_stats_input(gradient: Any, input: Any, weight: Any, result1: Any, result2: Any, training: Any, eps: Any, needed: Any) -> Any:
    return folds.of_batch_norm(gradient, input, weight, None, None, result1, result2, training, eps, needed)


def _batch_norm_with_update_input(gradient: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, result1: Any, result2: Any, eps: Any, needed: Any) -> Any:
    return folds.of_batch_norm(gradient, input, weight, running_mean, running_var, result1, result2, True, eps, needed)


def _batch_norm_with_update_functional_input(gradient: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, result1: Any, result2: Any, eps: Any, needed: Any) -> Any:
    return folds.of_batch_norm(gradient, input, weight, running_mean, running_var, result1, result2, True, eps, needed)


def _native_batch_norm_legit_functional_input(gradient: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, result1: Any, result2: Any, training: Any, eps: Any, needed: Any) -> Any:
    return folds.of_batch_norm(gradient, input, weight, running_mean, running_var, result1, result2, training, eps, needed)


def mse_loss_self(gradient: Any, self: Any, target: Any, reduction: Any) -> Any:
    return ops.aten.mse_loss_backward(gradient, self, target, reduction)


def mse_loss_target(gradient: Any, target: Any, self: Any, reduction: Any) -> Any:
    return ops.aten.mse_loss_backward(gradient, target, self, reduction)


def huber_loss_self(gradient: Any, self: Any, target: Any, reduction: Any, delta: Any) -> Any:
    return ops.aten.huber_loss_backward(gradient, self, target, reduction, delta)


def huber_loss_target(gradient: Any, target: Any, self: Any, reduction: Any, delta: Any) -> Any:
    return ops.aten.huber_loss_backward(gradient, target, self, reduction, delta)


def smooth_l1_loss_self(gradient: Any, self: Any, target: Any, reduction: Any, beta: Any) -> Any:
    return ops.aten.smooth_l1_loss_backward(gradient, self, target, reduction, beta)


def smooth_l1_loss_target(gradient: Any, target: Any, self: Any, reduction: Any, beta: Any) -> Any:
    return ops.aten.smooth_l1_loss_backward(gradient, target, self, reduction, beta)


def binary_cross_entropy_self(gradient: Any, self: Any, target: Any, weight: Any, reduction: Any) -> Any:
    return ops.aten.binary_cross_entropy_backward(gradient, self, target, weight, reduction)


def binary_cross_entropy_target(gradient: Any, self: Any, target: Any, weight: Any, reduction: Any) -> Any:
    return folds.slope_of_target(gradient, self, target, weight, reduction)


def nll_loss_forward_self(gradient: Any, self: Any, target: Any, weight: Any, reduction: Any, ignore_index: Any, result1: Any) -> Any:
    return ops.aten.nll_loss_backward(gradient, self, target, weight, reduction, ignore_index, result1)


def nll_loss2d_forward_self(gradient: Any, self: Any, target: Any, weight: Any, reduction: Any, ignore_index: Any, result1: Any) -> Any:
    return ops.aten.nll_loss2d_backward(gradient, self, target, weight, reduction, ignore_index, result1)


def multi_margin_loss_self(gradient: Any, self: Any, target: Any, p: Any, margin: Any, weight: Any, reduction: Any) -> Any:
    return ops.aten.multi_margin_loss_backward(gradient, self, target, p, margin, weight, reduction)


def multilabel_margin_loss_forward_self(gradient: Any, self: Any, target: Any, reduction: Any, result1: Any) -> Any:
    return ops.aten.multilabel_margin_loss_backward(gradient, self, target, reduction, result1)


def _ctc_loss_log_probs(gradient: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, result: Any, result1: Any, blank: Any, zero_infinity: Any) -> Any:
    return ops.aten._ctc_loss_backward(gradient, log_probs, targets, input_lengths, target_lengths, result, result1, blank, zero_infinity)


def mm_self(gradient: Any, mat2: Any) -> Any:
    return ops.aten.mm(gradient, ops.aten.mH(mat2))


def mm_mat2(self: Any, gradient: Any) -> Any:
    return ops.aten.mm(ops.aten.mH(self), gradient)


def bmm_self(gradient: Any, mat2: Any) -> Any:
    return ops.aten.bmm(gradient, ops.aten.mH(mat2))


def bmm_mat2(self: Any, gradient: Any) -> Any:
    return ops.aten.bmm(ops.aten.mH(self), gradient)


def mv_self(gradient: Any, vec: Any) -> Any:
    return ops.aten.outer(gradient, ops.aten.conj(vec))


def mv_vec(self: Any, gradient: Any) -> Any:
    return ops.aten.mv(ops.aten.mH(self), gradient)


def dot_self(gradient: Any, tensor: Any) -> Any:
    return gradient * ops.aten.conj(tensor)


def dot_tensor(gradient: Any, self: Any) -> Any:
    return gradient * ops.aten.conj(self)


def vdot_self(gradient: Any, other: Any) -> Any:
    return ops.aten.conj(gradient) * other


def vdot_other(gradient: Any, self: Any) -> Any:
    return gradient * self


def addmm_self(gradient: Any, beta: Any) -> Any:
    return common.scaled(gradient, beta)


def addmm_mat1(gradient: Any, mat2: Any, alpha: Any) -> Any:
    return common.scaled(ops.aten.mm(gradient, ops.aten.mH(mat2)), alpha)


def addmm_mat2(mat1: Any, gradient: Any, alpha: Any) -> Any:
    return common.scaled(ops.aten.mm(ops.aten.mH(mat1), gradient), alpha)


def baddbmm_self(gradient: Any, beta: Any) -> Any:
    return common.scaled(gradient, beta)


def baddbmm_batch1(gradient: Any, batch2: Any, alpha: Any) -> Any:
    return common.scaled(ops.aten.bmm(gradient, ops.aten.mH(batch2)), alpha)


def baddbmm_batch2(batch1: Any, gradient: Any, alpha: Any) -> Any:
    return common.scaled(ops.aten.bmm(ops.aten.mH(batch1), gradient), alpha)


def prims_dot_general_a(gradient: Any, b: Any, a_sizes: Any, contract_a: Any, contract_b: Any, batch_a: Any, batch_b: Any) -> Any:
    return products.slope_of_contraction(gradient, b, a_sizes, contract_a, contract_b, batch_a, batch_b, True)


def prims_dot_general_b(gradient: Any, a: Any, b_sizes: Any, contract_a: Any, contract_b: Any, batch_a: Any, batch_b: Any) -> Any:
    return products.slope_of_contraction(gradient, a, b_sizes, contract_a, contract_b, batch_a, batch_b, False)


def convolution_input(gradient: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any, transposed: Any, output_padding: Any, groups: Any, needed: Any) -> Any:
    return products.convolution_gradients(gradient, input, weight, stride, padding, dilation, transposed, output_padding, groups, needed)


def fused_lstm_sequence_added(given: Any, hidden: Any, cell: Any, weight: Any, result: Any, result1: Any, result2: Any) -> Any:
    return networks.through_lstm(given, hidden, cell, weight, result, result1, result2)


def embedding_weight(gradient: Any, indices: Any, weight_sizes: Any, padding_idx: Any, scale_grad_by_freq: Any) -> Any:
    return ops.aten.embedding_dense_backward(gradient, indices, products.rows(weight_sizes), padding_idx, scale_grad_by_freq)


def _embedding_bag_weight(gradient: Any, indices: Any, offsets: Any, result1: Any, result2: Any, result3: Any, weight_sizes: Any, scale_grad_by_freq: Any, mode: Any, per_sample_weights: Any, padding_idx: Any) -> Any:
    return ops.aten._embedding_bag_backward(gradient, indices, offsets, result1, result2, result3, products.rows(weight_sizes), scale_grad_by_freq, mode, False, per_sample_weights, padding_idx)


def _embedding_bag_per_sample_weights(gradient: Any, weight: Any, indices: Any, offsets: Any, result1: Any, mode: Any, padding_idx: Any) -> Any:
    return ops.aten._embedding_bag_per_sample_weights_backward(gradient, weight, indices, offsets, result1, mode, padding_idx)


def _scaled_dot_product_flash_attention_for_cpu_query(gradient: Any, query: Any, key: Any, value: Any, result: Any, result1: Any, dropout_p: Any, is_causal: Any, attn_mask: Any, scale: Any) -> Any:
    return products.of_attention(gradient, query, key, value, result, result1, dropout_p, is_causal, attn_mask, scale)


def cat_tensors(gradient: Any, tensors_sizes: Any, dim: Any) -> Any:
    return moving.cut_up(gradient, tensors_sizes, dim)


def prims_cat_tensors(gradient: Any, tensors_sizes: Any, dim: Any) -> Any:
    return moving.cut_up(gradient, tensors_sizes, dim)


def stack_tensors(gradient: Any, dim: Any) -> Any:
    return ops.aten.unbind(gradient, dim)


def _stack_tensors(gradient: Any, dim: Any) -> Any:
    return ops.aten.unbind(gradient, dim)


def flip_self(gradient: Any, dims: Any) -> Any:
    return ops.aten.flip(gradient, dims)


def prims_rev_a(gradient: Any, dims: Any) -> Any:
    return ops.aten.flip(gradient, dims)


def roll_self(gradient: Any, shifts: Any, dims: Any) -> Any:
    return moving.rolled_back(gradient, shifts, dims)


def tril_self(gradient: Any, diagonal: Any) -> Any:
    return ops.aten.tril(gradient, diagonal)


def triu_self(gradient: Any, diagonal: Any) -> Any:
    return ops.aten.triu(gradient, diagonal)


def repeat_self(gradient: Any, repeats: Any, self_sizes: Any) -> Any:
    return moving.unrepeated(gradient, repeats, self_sizes)


def constant_pad_nd_self(gradient: Any, pad: Any) -> Any:
    return ops.aten.constant_pad_nd(gradient, moving.negated(pad))


def prims_pad_a(gradient: Any, low: Any, high: Any, interior: Any) -> Any:
    return moving.unpadded(gradient, low, high, interior)


def gather_self(gradient: Any, self_sizes: Any, dim: Any, index: Any) -> Any:
    return ops.aten.scatter_add(ops.aten.new_zeros(gradient, self_sizes), dim, moving.wide(index), gradient)


def prims_gather_a(gradient: Any, a_sizes: Any, dim: Any, index: Any) -> Any:
    return ops.aten.scatter_add(ops.aten.new_zeros(gradient, a_sizes), dim, index, gradient)


def prims_scatter_a(gradient: Any, a: Any, index: Any, src: Any, result: Any, dim: Any, combine: Any) -> Any:
    return moving.scatter_gradients(gradient, a, index, src, result, dim, combine)


def scatter_src_self(gradient: Any, dim: Any, index: Any) -> Any:
    return ops.aten.scatter(gradient, dim, index, 0)


def scatter_src_src(gradient: Any, dim: Any, index: Any) -> Any:
    return ops.aten.gather(gradient, dim, index)


def scatter_value_self(gradient: Any, dim: Any, index: Any) -> Any:
    return ops.aten.scatter(gradient, dim, index, 0)


def scatter_add_self(gradient: Any) -> Any:
    return gradient


def scatter_add_src(gradient: Any, dim: Any, index: Any) -> Any:
    return ops.aten.gather(gradient, dim, index)


def index_select_self(gradient: Any, self_sizes: Any, dim: Any, index: Any) -> Any:
    return ops.aten.index_add(ops.aten.new_zeros(gradient, self_sizes), dim, index, gradient)


def index_add_self(gradient: Any) -> Any:
    return gradient


def index_add_source(gradient: Any, index: Any, dim: Any, source_sizes: Any, alpha: Any) -> Any:
    return moving.spread_source(gradient, index, dim, source_sizes) * alpha


def index_copy_self(gradient: Any, dim: Any, index: Any) -> Any:
    return ops.aten.index_fill(gradient, dim, index, 0)


def index_copy_source(gradient: Any, index: Any, dim: Any, source_sizes: Any) -> Any:
    return moving.spread_source(gradient, index, dim, source_sizes)


def index_fill_int_Scalar_self(gradient: Any, dim: Any, index: Any) -> Any:
    return ops.aten.index_fill(gradient, dim, index, 0)


def index_fill_int_Tensor_self(gradient: Any, dim: Any, index: Any) -> Any:
    return ops.aten.index_fill(gradient, dim, index, 0)


def index_fill_int_Tensor_value(gradient: Any, dim: Any, index: Any) -> Any:
    return ops.aten.sum(ops.aten.index_select(gradient, dim, moving.sorted_values(index)))


def index_Tensor_self(gradient: Any, self_sizes: Any, indices: Any) -> Any:
    return ops.aten.index_put(ops.aten.new_zeros(gradient, self_sizes), indices, gradient, True)


def _unsafe_index_Tensor_self(gradient: Any, self_sizes: Any, indices: Any) -> Any:
    return ops.aten.index_put(ops.aten.new_zeros(gradient, self_sizes), indices, gradient, True)


def index_put_self(accumulate: Any, gradient: Any, indices: Any) -> Any:
    return moving.unless(accumulate, gradient, indices)


def index_put_values(gradient: Any, indices: Any) -> Any:
    return ops.aten.index(gradient, indices)


def _index_put_impl_self(accumulate: Any, gradient: Any, indices: Any) -> Any:
    return moving.unless(accumulate, gradient, indices)


def _index_put_impl_values(gradient: Any, indices: Any) -> Any:
    return ops.aten.index(gradient, indices)


def masked_select_self(gradient: Any, self_sizes: Any, mask: Any) -> Any:
    return moving.masked_select_gradient(gradient, self_sizes, mask)


def masked_scatter_self(gradient: Any, mask: Any) -> Any:
    return ops.aten.masked_fill(gradient, mask, 0)


def masked_scatter_source(gradient: Any, mask: Any, source_sizes: Any) -> Any:
    return ops.aten.masked_scatter_backward(gradient, mask, source_sizes)


def take_self(gradient: Any, self_sizes: Any, index: Any) -> Any:
    return ops.aten.put(ops.aten.new_zeros(gradient, self_sizes), index, gradient, True)


def put_self(gradient: Any, index: Any, accumulate: Any) -> Any:
    return moving.put_gradient(gradient, index, accumulate)


def put_source(gradient: Any, index: Any, source_sizes: Any) -> Any:
    return ops.aten.reshape(ops.aten.take(gradient, index), source_sizes)


def select_scatter_self(gradient: Any, dim: Any, index: Any) -> Any:
    return ops.aten.select_scatter(gradient, ops.aten.zeros_like(ops.aten.select(gradient, dim, index)), dim, index)


def select_scatter_src(gradient: Any, dim: Any, index: Any) -> Any:
    return ops.aten.select(gradient, dim, index)


def slice_scatter_self(gradient: Any, src_sizes: Any, dim: Any, start: Any, end: Any, step: Any) -> Any:
    return ops.aten.slice_scatter(gradient, ops.aten.new_zeros(gradient, src_sizes), dim, start, end, step)


def slice_scatter_src(gradient: Any, dim: Any, start: Any, end: Any, step: Any) -> Any:
    return ops.aten.slice(gradient, dim, start, end, step)


def as_strided_scatter_self(gradient: Any, src_sizes: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    return ops.aten.as_strided_scatter(gradient, ops.aten.new_zeros(gradient, src_sizes), size, stride, storage_offset)


def as_strided_scatter_src(gradient: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    return ops.aten.as_strided(ops.aten.contiguous(gradient), size, stride, storage_offset)


def diagonal_scatter_self(gradient: Any, src_sizes: Any, offset: Any, dim1: Any, dim2: Any) -> Any:
    return ops.aten.diagonal_scatter(gradient, ops.aten.new_zeros(gradient, src_sizes), offset, dim1, dim2)


def diagonal_scatter_src(gradient: Any, offset: Any, dim1: Any, dim2: Any) -> Any:
    return ops.aten.diagonal(gradient, offset, dim1, dim2)


def max_pool2d_with_indices_self(gradient: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any, result1: Any) -> Any:
    return ops.aten.max_pool2d_with_indices_backward(gradient, self, kernel_size, stride, padding, dilation, ceil_mode, result1)


def max_pool2d_with_indices_backward_grad_output(gradient: Any, indices: Any) -> Any:
    return moving.pooled_at(gradient, indices, 2)


def max_pool2d_with_indices_backward_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def max_pool3d_with_indices_backward_grad_output(gradient: Any, indices: Any) -> Any:
    return moving.pooled_at(gradient, indices, 3)


def max_pool3d_with_indices_backward_self(gradient: Any) -> Any:
    return ops.aten.zeros_like(gradient)


def max_pool3d_with_indices_self(gradient: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: Any, result1: Any) -> Any:
    return ops.aten.max_pool3d_with_indices_backward(gradient, self, kernel_size, stride, padding, dilation, ceil_mode, result1)


def max_unpool2d_self(gradient: Any, indices: Any) -> Any:
    return moving.of_unpooled(gradient, indices, 2)


def max_unpool3d_self(gradient: Any, indices: Any) -> Any:
    return moving.of_unpooled(gradient, indices, 3)


def avg_pool2d_self(gradient: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: Any, count_include_pad: Any, divisor_override: Any) -> Any:
    return ops.aten.avg_pool2d_backward(gradient, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d_self(gradient: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: Any, count_include_pad: Any, divisor_override: Any) -> Any:
    return ops.aten.avg_pool3d_backward(gradient, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive_avg_pool2d_self(gradient: Any, self: Any) -> Any:
    return ops.aten._adaptive_avg_pool2d_backward(gradient, self)


def _adaptive_avg_pool3d_self(gradient: Any, self: Any) -> Any:
    return ops.aten._adaptive_avg_pool3d_backward(gradient, self)


def adaptive_max_pool2d_self(gradient: Any, self: Any, result1: Any) -> Any:
    return ops.aten.adaptive_max_pool2d_backward(gradient, self, result1)


def adaptive_max_pool3d_self(gradient: Any, self: Any, result1: Any) -> Any:
    return ops.aten.adaptive_max_pool3d_backward(gradient, self, result1)


def fractional_max_pool2d_self(gradient: Any, self: Any, kernel_size: Any, output_size: Any, result1: Any) -> Any:
    return ops.aten.fractional_max_pool2d_backward(gradient, self, kernel_size, output_size, result1)


def fractional_max_pool3d_self(gradient: Any, self: Any, kernel_size: Any, output_size: Any, result1: Any) -> Any:
    return ops.aten.fractional_max_pool3d_backward(gradient, self, kernel_size, output_size, result1)


def grid_sampler_2d_input(gradient: Any, input: Any, grid: Any, interpolation_mode: Any, padding_mode: Any, align_corners: Any, needed: Any) -> Any:
    return ops.aten.grid_sampler_2d_backward(gradient, input, grid, interpolation_mode, padding_mode, align_corners, needed)


def grid_sampler_3d_input(gradient: Any, input: Any, grid: Any, interpolation_mode: Any, padding_mode: Any, align_corners: Any, needed: Any) -> Any:
    return ops.aten.grid_sampler_3d_backward(gradient, input, grid, interpolation_mode, padding_mode, align_corners, needed)


def reflection_pad1d_self(gradient: Any, self: Any, padding: Any) -> Any:
    return ops.aten.reflection_pad1d_backward(gradient, self, padding)


def reflection_pad2d_self(gradient: Any, self: Any, padding: Any) -> Any:
    return ops.aten.reflection_pad2d_backward(gradient, self, padding)


def reflection_pad3d_self(gradient: Any, self: Any, padding: Any) -> Any:
    return ops.aten.reflection_pad3d_backward(gradient, self, padding)


def replication_pad1d_self(gradient: Any, self: Any, padding: Any) -> Any:
    return ops.aten.replication_pad1d_backward(gradient, self, padding)


def replication_pad2d_self(gradient: Any, self: Any, padding: Any) -> Any:
    return ops.aten.replication_pad2d_backward(gradient, self, padding)


def replication_pad3d_self(gradient: Any, self: Any, padding: Any) -> Any:
    return ops.aten.replication_pad3d_backward(gradient, self, padding)


def col2im_self(gradient: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    return ops.aten.im2col(gradient, kernel_size, dilation, padding, stride)


def upsample_linear1d_self(gradient: Any, output_size: Any, self_sizes: Any, align_corners: Any, scales: Any) -> Any:
    return ops.aten.upsample_linear1d_backward(gradient, output_size, self_sizes, align_corners, scales)


def upsample_bilinear2d_self(gradient: Any, output_size: Any, self_sizes: Any, align_corners: Any, scales_h: Any, scales_w: Any) -> Any:
    return ops.aten.upsample_bilinear2d_backward(gradient, output_size, self_sizes, align_corners, scales_h, scales_w)


def _upsample_bilinear2d_aa_self(gradient: Any, output_size: Any, self_sizes: Any, align_corners: Any, scales_h: Any, scales_w: Any) -> Any:
    return ops.aten._upsample_bilinear2d_aa_backward(gradient, output_size, self_sizes, align_corners, scales_h, scales_w)


def upsample_trilinear3d_self(gradient: Any, output_size: Any, self_sizes: Any, align_corners: Any, scales_d: Any, scales_h: Any, scales_w: Any) -> Any:
    return ops.aten.upsample_trilinear3d_backward(gradient, output_size, self_sizes, align_corners, scales_d, scales_h, scales_w)


def upsample_bicubic2d_self(gradient: Any, output_size: Any, self_sizes: Any, align_corners: Any, scales_h: Any, scales_w: Any) -> Any:
    return ops.aten.upsample_bicubic2d_backward(gradient, output_size, self_sizes, align_corners, scales_h, scales_w)


def _upsample_bicubic2d_aa_self(gradient: Any, output_size: Any, self_sizes: Any, align_corners: Any, scales_h: Any, scales_w: Any) -> Any:
    return ops.aten._upsample_bicubic2d_aa_backward(gradient, output_size, self_sizes, align_corners, scales_h, scales_w)


def upsample_nearest1d_self(gradient: Any, output_size: Any, self_sizes: Any, scales: Any) -> Any:
    return ops.aten.upsample_nearest1d_backward(gradient, output_size, self_sizes, scales)


def upsample_nearest2d_self(gradient: Any, output_size: Any, self_sizes: Any, scales_h: Any, scales_w: Any) -> Any:
    return ops.aten.upsample_nearest2d_backward(gradient, output_size, self_sizes, scales_h, scales_w)


def upsample_nearest3d_self(gradient: Any, output_size: Any, self_sizes: Any, scales_d: Any, scales_h: Any, scales_w: Any) -> Any:
    return ops.aten.upsample_nearest3d_backward(gradient, output_size, self_sizes, scales_d, scales_h, scales_w)


def _upsample_nearest_exact1d_self(gradient: Any, output_size: Any, self_sizes: Any, scales: Any) -> Any:
    return ops.aten._upsample_nearest_exact1d_backward(gradient, output_size, self_sizes, scales)


def _upsample_nearest_exact2d_self(gradient: Any, output_size: Any, self_sizes: Any, scales_h: Any, scales_w: Any) -> Any:
    return ops.aten._upsample_nearest_exact2d_backward(gradient, output_size, self_sizes, scales_h, scales_w)


def _upsample_nearest_exact3d_self(gradient: Any, output_size: Any, self_sizes: Any, scales_d: Any, scales_h: Any, scales_w: Any) -> Any:
    return ops.aten._upsample_nearest_exact3d_backward(gradient, output_size, self_sizes, scales_d, scales_h, scales_w)


def prims_fft_c2c_self(gradient: Any, dim: Any, forward: Any) -> Any:
    return spectra.fft_c2c(gradient, dim=dim, forward=not forward)


def prims_fft_r2c_self(gradient: Any, self_sizes: Any, dim: Any, onesided: Any) -> Any:
    return spectra.of_real_spectrum(gradient, self_sizes, dim, onesided)


def prims_fft_c2r_self(gradient: Any, self_sizes: Any, dim: Any) -> Any:
    return spectra.of_half_spectrum(gradient, self_sizes, dim)


def prims_solve_triangular_a(gradient: Any, a: Any, result: Any, upper: Any, unitriangular: Any) -> Any:
    return linear_algebra.of_triangular_solution(gradient, a, result, upper, unitriangular)


def linalg_cholesky_ex_self(gradient: Any, result: Any, upper: Any) -> Any:
    return linear_algebra.of_cholesky(gradient, result, upper)


def prims_cholesky_a(gradient: Any, result: Any) -> Any:
    return linear_algebra.of_cholesky(gradient, result)


def prims_householder_product_a(gradient: Any, a: Any, tau: Any) -> Any:
    return linear_algebra.of_reflections(gradient, a, tau)


def prims_lu_a(gradient: Any, result: Any, result1: Any) -> Any:
    return linear_algebra.of_compact_lu(gradient, result, linear_algebra.order_of_rows(result1, result))


def prims_eigh_a(given: Any, result: Any, result1: Any) -> Any:
    return linear_algebra.of_eigh(given, result, result1)


def prims_eig_a(given: Any, result: Any, result1: Any) -> Any:
    return linear_algebra.of_eig(given, result, result1)


def prims_svd_A(given: Any, result: Any, result1: Any, result2: Any) -> Any:
    return linear_algebra.of_svd(given, result, result1, result2)


def linalg_pinv_atol_rtol_tensor_self(gradient: Any, result: Any, self: Any) -> Any:
    return linear_algebra.of_pseudoinverse(gradient, result, self)


def linalg_lstsq_self(given: Any, self: Any, b: Any, result: Any) -> Any:
    return linear_algebra.of_least_squares(given, self, b, result)


def linalg_qr_A(gradients: Any, A: Any, result: Any, result1: Any, mode: Any) -> Any:
    return linear_algebra.of_qr(gradients, A, result, result1, mode)


# By operator: operands, what their formula reads, the formula, and the operator and arguments that
# it is a call of; which results have no gradient; which operands are kept as they were. None cuts
# the way.
DERIVATIVES: dict[str, Any] = {
    'relu': ((
        (('self',), ('gradient', 'result'), relu_self, 'threshold_backward', ('gradient', 'result', '0')),
    ), (), ()),
    'threshold': ((
        (('self',), ('gradient', 'self', 'threshold'), threshold_self, 'threshold_backward', ('gradient', 'self', 'threshold')),
    ), (), ()),
    'leaky_relu': ((
        (('self',), ('gradient', 'self', 'negative_slope'), leaky_relu_self, 'leaky_relu_backward', ('gradient', 'self', 'negative_slope', 'False')),
    ), (), ()),
    'hardtanh': ((
        (('self',), ('gradient', 'self', 'min_val', 'max_val'), hardtanh_self, 'hardtanh_backward', ('gradient', 'self', 'min_val', 'max_val')),
    ), (), ()),
    'relu6': ((
        (('self',), ('gradient', 'self'), relu6_self, 'hardtanh_backward', ('gradient', 'self', '0', '6')),
    ), (), ()),
    'elu': ((
        (('self',), ('gradient', 'alpha', 'scale', 'input_scale', 'self'), elu_self, 'elu_backward', ('gradient', 'alpha', 'scale', 'input_scale', 'False', 'self')),
    ), (), ()),
    'gelu': ((
        (('self',), ('gradient', 'self', 'approximate'), gelu_self, None, ()),
    ), (), ()),
    'silu': ((
        (('self',), ('gradient', 'self'), silu_self, 'silu_backward', ('gradient', 'self')),
    ), (), ()),
    'mish': ((
        (('self',), ('gradient', 'self'), mish_self, 'mish_backward', ('gradient', 'self')),
    ), (), ()),
    'hardswish': ((
        (('self',), ('gradient', 'self'), hardswish_self, 'hardswish_backward', ('gradient', 'self')),
    ), (), ()),
    'hardsigmoid': ((
        (('self',), ('gradient', 'self'), hardsigmoid_self, 'hardsigmoid_backward', ('gradient', 'self')),
    ), (), ()),
    'softplus': ((
        (('self',), ('gradient', 'self', 'beta', 'threshold'), softplus_self, 'softplus_backward', ('gradient', 'self', 'beta', 'threshold')),
    ), (), ()),
    'softshrink': ((
        (('self',), ('gradient', 'self', 'lambd'), softshrink_self, 'softshrink_backward', ('gradient', 'self', 'lambd')),
    ), (), ()),
    'hardshrink': ((
        (('self',), ('gradient', 'self', 'lambd'), hardshrink_self, 'hardshrink_backward', ('gradient', 'self', 'lambd')),
    ), (), ()),
    'sigmoid': ((
        (('self',), ('gradient', 'result'), sigmoid_self, 'sigmoid_backward', ('gradient', 'result')),
    ), (), ()),
    'tanh': ((
        (('self',), ('gradient', 'result'), tanh_self, 'tanh_backward', ('gradient', 'result')),
    ), (), ()),
    'logit': ((
        (('self',), ('gradient', 'self', 'eps'), logit_self, 'logit_backward', ('gradient', 'self', 'eps')),
    ), (), ()),
    '_prelu_kernel': ((
        (('self', 'weight'), ('gradient', 'self', 'weight'), _prelu_kernel_self, '_prelu_kernel_backward', ('gradient', 'self', 'weight')),
    ), (), ()),
    'glu': ((
        (('self',), ('gradient', 'self', 'dim'), glu_self, 'glu_backward', ('gradient', 'self', 'dim')),
    ), (), ()),
    'clamp': ((
        (('self',), ('gradient', 'self', 'min', 'max'), clamp_self, None, ()),
    ), (), ()),
    'clamp.Tensor': ((
        (('self', 'min', 'max'), ('gradient', 'self', 'min', 'max'), clamp_Tensor_self, None, ()),
    ), (), ()),
    'clamp_min': ((
        (('self',), ('self', 'min', 'gradient'), clamp_min_self, None, ()),
    ), (), ()),
    'clamp_max': ((
        (('self',), ('self', 'max', 'gradient'), clamp_max_self, None, ()),
    ), (), ()),
    'clamp_min.Tensor': ((
        (('self',), ('self', 'min', 'gradient'), clamp_min_Tensor_self, None, ()),
        (('min',), ('self', 'min', 'gradient'), clamp_min_Tensor_min, None, ()),
    ), (), ()),
    'clamp_max.Tensor': ((
        (('self',), ('self', 'max', 'gradient'), clamp_max_Tensor_self, None, ()),
        (('max',), ('self', 'max', 'gradient'), clamp_max_Tensor_max, None, ()),
    ), (), ()),
    'fmax': ((
        (('self',), ('self', 'other', 'gradient'), fmax_self, None, ()),
        (('other',), ('self', 'other', 'gradient'), fmax_other, None, ()),
    ), (), ()),
    'fmin': ((
        (('self',), ('self', 'other', 'gradient'), fmin_self, None, ()),
        (('other',), ('self', 'other', 'gradient'), fmin_other, None, ()),
    ), (), ()),
    'pow.Tensor_Scalar': ((
        (('self',), ('gradient', 'self', 'exponent'), pow_Tensor_Scalar_self, None, ()),
    ), (), ()),
    'hypot': ((
        (('self',), ('gradient', 'self', 'result'), hypot_self, None, ()),
        (('other',), ('gradient', 'other', 'result'), hypot_other, None, ()),
    ), (), ()),
    'div.Tensor_mode': ((
        (('self',), ('gradient', 'other', 'rounding_mode'), div_Tensor_mode_self, None, ()),
        (('other',), ('gradient', 'self', 'other', 'rounding_mode'), div_Tensor_mode_other, None, ()),
    ), (), ()),
    'div.Scalar_mode': ((
        (('self',), ('gradient', 'other', 'rounding_mode'), div_Scalar_mode_self, None, ()),
    ), (), ()),
    'floor_divide': None,
    'remainder.Tensor': ((
        (('self',), ('gradient',), remainder_Tensor_self, None, ()),
        (('other',), ('gradient', 'self', 'other'), remainder_Tensor_other, None, ()),
    ), (), ()),
    'remainder.Scalar': ((
        (('self',), ('gradient',), remainder_Scalar_self, None, ()),
    ), (), ()),
    'fmod.Scalar': ((
        (('self',), ('gradient',), fmod_Scalar_self, None, ()),
    ), (), ()),
    'xlogy.Tensor': ((
        (('self',), ('self', 'other', 'gradient'), xlogy_Tensor_self, None, ()),
        (('other',), ('gradient', 'self', 'other'), xlogy_Tensor_other, None, ()),
    ), (), ()),
    'special_xlog1py': ((
        (('self',), ('self', 'other', 'gradient'), special_xlog1py_self, None, ()),
        (('other',), ('gradient', 'self', 'other'), special_xlog1py_other, None, ()),
    ), (), ()),
    'logaddexp': ((
        (('self',), ('gradient', 'self', 'other'), logaddexp_self, None, ()),
        (('other',), ('gradient', 'other', 'self'), logaddexp_other, None, ()),
    ), (), ()),
    'logaddexp2': ((
        (('self',), ('gradient', 'self', 'other'), logaddexp2_self, None, ()),
        (('other',), ('gradient', 'other', 'self'), logaddexp2_other, None, ()),
    ), (), ()),
    'lgamma': ((
        (('self',), ('gradient', 'self'), lgamma_self, None, ()),
    ), (), ()),
    'digamma': ((
        (('self',), ('gradient', 'self'), digamma_self, None, ()),
    ), (), ()),
    'special_psi': ((
        (('self',), ('gradient', 'self'), special_psi_self, None, ()),
    ), (), ()),
    'special_digamma': ((
        (('self',), ('gradient', 'self'), special_digamma_self, None, ()),
    ), (), ()),
    'polygamma': ((
        (('self',), ('gradient', 'n', 'self'), polygamma_self, None, ()),
    ), (), ()),
    'special_zeta': ((
        (('other',), ('gradient', 'self', 'other'), special_zeta_other, None, ()),
    ), (), ()),
    'special_zeta.self_scalar': ((
        (('other',), ('gradient', 'self', 'other'), special_zeta_self_scalar_other, None, ()),
    ), (), ()),
    'igamma': ((
        (('other',), ('gradient', 'self', 'other'), igamma_other, None, ()),
    ), (), ()),
    'igammac': ((
        (('other',), ('gradient', 'self', 'other'), igammac_other, None, ()),
    ), (), ()),
    'i0': ((
        (('self',), ('gradient', 'self'), i0_self, None, ()),
    ), (), ()),
    'special_modified_bessel_i0': ((
        (('self',), ('gradient', 'self'), special_modified_bessel_i0_self, None, ()),
    ), (), ()),
    'special_i0e': ((
        (('self',), ('gradient', 'self', 'result'), special_i0e_self, None, ()),
    ), (), ()),
    'special_i1': ((
        (('self',), ('gradient', 'self', 'result'), special_i1_self, None, ()),
    ), (), ()),
    'special_modified_bessel_i1': ((
        (('self',), ('gradient', 'self', 'result'), special_modified_bessel_i1_self, None, ()),
    ), (), ()),
    'special_i1e': ((
        (('self',), ('gradient', 'self', 'result'), special_i1e_self, None, ()),
    ), (), ()),
    'special_bessel_j0': ((
        (('self',), ('gradient', 'self'), special_bessel_j0_self, None, ()),
    ), (), ()),
    'special_bessel_j1': ((
        (('self',), ('gradient', 'self', 'result'), special_bessel_j1_self, None, ()),
    ), (), ()),
    'special_bessel_y0': ((
        (('self',), ('gradient', 'self'), special_bessel_y0_self, None, ()),
    ), (), ()),
    'special_bessel_y1': ((
        (('self',), ('gradient', 'self', 'result'), special_bessel_y1_self, None, ()),
    ), (), ()),
    'special_modified_bessel_k0': ((
        (('self',), ('gradient', 'self'), special_modified_bessel_k0_self, None, ()),
    ), (), ()),
    'special_modified_bessel_k1': ((
        (('self',), ('gradient', 'self', 'result'), special_modified_bessel_k1_self, None, ()),
    ), (), ()),
    'special_scaled_modified_bessel_k0': ((
        (('x',), ('gradient', 'result', 'x'), special_scaled_modified_bessel_k0_x, None, ()),
    ), (), ()),
    'special_scaled_modified_bessel_k1': ((
        (('x',), ('gradient', 'result', 'x'), special_scaled_modified_bessel_k1_x, None, ()),
    ), (), ()),
    'special_spherical_bessel_j0': ((
        (('x',), ('gradient', 'x', 'result'), special_spherical_bessel_j0_x, None, ()),
    ), (), ()),
    'special_ndtr': ((
        (('self',), ('gradient', 'self'), special_ndtr_self, None, ()),
    ), (), ()),
    'special_entr': ((
        (('self',), ('gradient', 'self'), special_entr_self, None, ()),
    ), (), ()),
    'special_erfcx': ((
        (('self',), ('gradient', 'self', 'result'), special_erfcx_self, None, ()),
    ), (), ()),
    'special_ndtri': ((
        (('self',), ('gradient', 'result'), special_ndtri_self, None, ()),
    ), (), ()),
    'special_log_ndtr': ((
        (('self',), ('gradient', 'self'), special_log_ndtr_self, None, ()),
    ), (), ()),
    'sinc': ((
        (('self',), ('gradient', 'self'), sinc_self, None, ()),
    ), (), ()),
    'special_sinc': ((
        (('self',), ('gradient', 'self'), special_sinc_self, None, ()),
    ), (), ()),
    'where.self': ((
        (('self',), ('condition', 'gradient'), where_self_self, 'where', ('condition', 'gradient', '0')),
        (('other',), ('condition', 'gradient'), where_self_other, 'where', ('condition', '0', 'gradient')),
    ), (), ()),
    'nan_to_num': ((
        (('self',), ('gradient', 'self'), nan_to_num_self, None, ()),
    ), (), ()),
    'masked_fill.Tensor': ((
        (('self',), ('gradient', 'mask'), masked_fill_Tensor_self, 'masked_fill', ('gradient', 'mask', '0')),
        (('value',), ('mask', 'gradient'), masked_fill_Tensor_value, None, ()),
    ), (), ()),
    'masked_fill_.Tensor': ((
        (('self',), ('gradient', 'mask'), masked_fill__Tensor_self, 'masked_fill', ('gradient', 'mask', '0')),
        (('value',), ('mask', 'gradient'), masked_fill__Tensor_value, None, ()),
    ), (), ()),
    'masked_fill.Scalar': ((
        (('self',), ('gradient', 'mask'), masked_fill_Scalar_self, 'masked_fill', ('gradient', 'mask', '0')),
    ), (), ()),
    'masked_fill_.Scalar': ((
        (('self',), ('gradient', 'mask'), masked_fill__Scalar_self, 'masked_fill', ('gradient', 'mask', '0')),
    ), (), ()),
    'fill.Scalar': ((
        (('self',), ('gradient',), fill_Scalar_self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'fill_.Scalar': ((
        (('self',), ('gradient',), fill__Scalar_self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'zero': ((
        (('self',), ('gradient',), zero_self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'uniform_': ((
        (('self',), ('gradient',), uniform__self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'normal_': ((
        (('self',), ('gradient',), normal__self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'bernoulli_.float': ((
        (('self',), ('gradient',), bernoulli__float_self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'exponential_': ((
        (('self',), ('gradient',), exponential__self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'geometric_': ((
        (('self',), ('gradient',), geometric__self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'cauchy_': ((
        (('self',), ('gradient',), cauchy__self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'log_normal_': ((
        (('self',), ('gradient',), log_normal__self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'random_': ((
        (('self',), ('gradient',), random__self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'random_.from': ((
        (('self',), ('gradient',), random__from_self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'random_.to': ((
        (('self',), ('gradient',), random__to_self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'bernoulli': ((
        (('self',), ('gradient',), bernoulli_self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'bernoulli.p': ((
        (('self',), ('gradient',), bernoulli_p_self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'fill.Tensor': ((
        (('self',), ('gradient',), fill_Tensor_self, 'zeros_like', ('gradient',)),
        (('value',), ('gradient',), fill_Tensor_value, 'sum', ('gradient',)),
    ), (), ()),
    'fill_.Tensor': ((
        (('self',), ('gradient',), fill__Tensor_self, 'zeros_like', ('gradient',)),
        (('value',), ('gradient',), fill__Tensor_value, 'sum', ('gradient',)),
    ), (), ()),
    'copy_': ((
        (('self',), ('gradient',), copy__self, 'zeros_like', ('gradient',)),
        (('src',), ('gradient',), copy__src, None, ()),
    ), (), ()),
    'copy': ((
        (('self',), ('gradient',), copy_self, 'zeros_like', ('gradient',)),
        (('src',), ('gradient',), copy_src, None, ()),
    ), (), ()),
    '_to_copy': ((
        (('self',), ('gradient',), _to_copy_self, None, ()),
    ), (), ()),
    'nextafter': ((
        (('self',), ('self', 'other', 'gradient'), nextafter_self, None, ()),
        (('other',), ('gradient',), nextafter_other, 'zeros_like', ('gradient',)),
    ), (), ()),
    'frexp.Tensor': ((
        (('self',), ('gradient', 'result1'), frexp_Tensor_self, None, ()),
    ), (), ()),
    'prims::real': ((
        (('self',), ('gradient',), prims_real_self, None, ()),
    ), (), ()),
    'prims::imag': ((
        (('self',), ('gradient',), prims_imag_self, None, ()),
    ), (), ()),
    'complex': ((
        (('real',), ('gradient',), complex_real, 'real', ('gradient',)),
        (('imag',), ('gradient',), complex_imag, 'imag', ('gradient',)),
    ), (), ()),
    'polar': ((
        (('abs',), ('gradient', 'result'), polar_abs, None, ()),
        (('angle',), ('gradient', 'result'), polar_angle, None, ()),
    ), (), ()),
    'normal.Tensor_float': ((
        (('mean',), ('gradient',), normal_Tensor_float_mean, 'zeros_like', ('gradient',)),
    ), (), ()),
    'normal.float_Tensor': ((
        (('std',), ('gradient',), normal_float_Tensor_std, 'zeros_like', ('gradient',)),
    ), (), ()),
    'normal.Tensor_Tensor': ((
        (('mean', 'std'), ('gradient', 'mean_sizes', 'std_sizes'), normal_Tensor_Tensor_mean, None, ()),
    ), (), ()),
    'multinomial': None,
    '_local_scalar_dense': None,
    'poisson': None,
    'binomial': None,
    'native_dropout': ((
        (('input',), ('gradient', 'result1', 'p', 'train'), native_dropout_input, None, ()),
    ), (), ()),
    'alias': ((
        (('self',), ('gradient',), alias_self, None, ()),
    ), (), ()),
    'detach': None,
    'detach_copy': None,
    'expand': ((
        (('self',), ('gradient', 'self_sizes'), expand_self, None, ()),
    ), (), ()),
    'permute': ((
        (('self',), ('gradient', 'dims'), permute_self, None, ()),
    ), (), ()),
    't': ((
        (('self',), ('gradient',), t_self, 't', ('gradient',)),
    ), (), ()),
    'transpose.int': ((
        (('self',), ('gradient', 'dim0', 'dim1'), transpose_int_self, 'transpose', ('gradient', 'dim0', 'dim1')),
    ), (), ()),
    'swapdims': ((
        (('self',), ('gradient', 'dim0', 'dim1'), swapdims_self, 'transpose', ('gradient', 'dim0', 'dim1')),
    ), (), ()),
    'swapaxes': ((
        (('self',), ('gradient', 'axis0', 'axis1'), swapaxes_self, 'transpose', ('gradient', 'axis0', 'axis1')),
    ), (), ()),
    'unsqueeze': ((
        (('self',), ('gradient', 'dim'), unsqueeze_self, 'squeeze', ('gradient', 'dim')),
    ), (), ()),
    'squeeze': ((
        (('self',), ('gradient', 'self_sizes'), squeeze_self, 'reshape', ('gradient', 'self_sizes')),
    ), (), ()),
    'squeeze.dim': ((
        (('self',), ('gradient', 'self_sizes'), squeeze_dim_self, 'reshape', ('gradient', 'self_sizes')),
    ), (), ()),
    'squeeze.dims': ((
        (('self',), ('gradient', 'self_sizes'), squeeze_dims_self, 'reshape', ('gradient', 'self_sizes')),
    ), (), ()),
    'view': ((
        (('self',), ('gradient', 'self_sizes'), view_self, 'reshape', ('gradient', 'self_sizes')),
    ), (), ()),
    '_unsafe_view': ((
        (('self',), ('gradient', 'self_sizes'), _unsafe_view_self, 'reshape', ('gradient', 'self_sizes')),
    ), (), ()),
    'select.int': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'index'), select_int_self, 'select_backward', ('gradient', 'self_sizes', 'dim', 'index')),
    ), (), ()),
    'slice.Tensor': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'start', 'end', 'step'), slice_Tensor_self, None, ()),
    ), (), ()),
    'split.Tensor': ((
        (('self',), ('gradients', 'dim'), split_Tensor_self, 'cat', ('gradients', 'dim')),
    ), (), ()),
    'split.sizes': ((
        (('self',), ('gradients', 'dim'), split_sizes_self, 'cat', ('gradients', 'dim')),
    ), (), ()),
    'split_with_sizes': ((
        (('self',), ('gradients', 'dim'), split_with_sizes_self, 'cat', ('gradients', 'dim')),
    ), (), ()),
    'unsafe_split.Tensor': ((
        (('self',), ('gradients', 'dim'), unsafe_split_Tensor_self, 'cat', ('gradients', 'dim')),
    ), (), ()),
    'unsafe_split_with_sizes': ((
        (('self',), ('gradients', 'dim'), unsafe_split_with_sizes_self, 'cat', ('gradients', 'dim')),
    ), (), ()),
    'unbind.int': ((
        (('self',), ('gradients', 'dim'), unbind_int_self, 'stack', ('gradients', 'dim')),
    ), (), ()),
    'diagonal': ((
        (('self',), ('gradient', 'self_sizes', 'offset', 'dim1', 'dim2'), diagonal_self, 'diagonal_backward', ('gradient', 'self_sizes', 'offset', 'dim1', 'dim2')),
    ), (), ()),
    'unfold': ((
        (('self',), ('gradient', 'self_sizes', 'dimension', 'size', 'step'), unfold_self, 'unfold_backward', ('gradient', 'self_sizes', 'dimension', 'size', 'step')),
    ), (), ()),
    'as_strided': ((
        (('self',), ('gradient', 'self', 'size', 'stride', 'storage_offset'), as_strided_self, None, ()),
    ), (), ()),
    '_conj': ((
        (('self',), ('gradient',), _conj_self, 'conj', ('gradient',)),
    ), (), ()),
    '_neg_view': ((
        (('self',), ('gradient',), _neg_view_self, None, ()),
    ), (), ()),
    'view.dtype': ((
        (('self',), ('gradient', 'self'), view_dtype_self, None, ()),
    ), (), ()),
    'prims::windows': ((
        (('a',), ('gradient', 'a_sizes', 'window', 'stride', 'dilation'), prims_windows_a, None, ()),
    ), (), ()),
    'prims::broadcast_in_dim': ((
        (('a',), ('gradient', 'a_sizes', 'broadcast_dimensions'), prims_broadcast_in_dim_a, None, ()),
    ), (), ()),
    'prims::convert_element_type': ((
        (('a',), ('gradient',), prims_convert_element_type_a, None, ()),
    ), (), ()),
    'prims::copy_to': ((
        (('a',), ('gradient',), prims_copy_to_a, 'zeros_like', ('gradient',)),
        (('b',), ('gradient',), prims_copy_to_b, None, ()),
    ), (), ()),
    'prims::sum': ((
        (('inp',), ('gradient', 'inp_sizes', 'dims'), prims_sum_inp, None, ()),
    ), (), ()),
    'prims::prod': ((
        (('inp',), ('gradient', 'inp', 'dims'), prims_prod_inp, None, ()),
    ), (), ()),
    'prims::amax': ((
        (('inp',), ('gradient', 'inp', 'result', 'dims'), prims_amax_inp, None, ()),
    ), (), ()),
    'prims::amin': ((
        (('inp',), ('gradient', 'inp', 'result', 'dims'), prims_amin_inp, None, ()),
    ), (), ()),
    'prims::cumsum': ((
        (('inp',), ('gradient', 'dims'), prims_cumsum_inp, None, ()),
    ), (), ()),
    'prims::cumprod': ((
        (('inp',), ('gradient', 'inp', 'result', 'dims'), prims_cumprod_inp, None, ()),
    ), (), ()),
    'sum': ((
        (('self',), ('gradient', 'self_sizes'), sum_self, 'expand', ('gradient', 'self_sizes')),
    ), (), ()),
    'sum.dim_IntList': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'keepdim'), sum_dim_IntList_self, None, ()),
    ), (), ()),
    'nansum': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'keepdim', 'self'), nansum_self, None, ()),
    ), (), ()),
    'mean': ((
        (('self',), ('gradient', 'self_sizes'), mean_self, None, ()),
    ), (), ()),
    'mean.dim': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'keepdim'), mean_dim_self, None, ()),
    ), (), ()),
    'var.correction': ((
        (('self',), ('gradient', 'self', 'dim', 'correction', 'keepdim'), var_correction_self, None, ()),
    ), (), ()),
    'std': ((
        (('self',), ('gradient', 'result', 'self', 'unbiased'), std_self, None, ()),
    ), (), ()),
    'std.dim': ((
        (('self',), ('gradient', 'result', 'self', 'dim', 'unbiased', 'keepdim'), std_dim_self, None, ()),
    ), (), ()),
    'std.correction': ((
        (('self',), ('gradient', 'result', 'self', 'dim', 'correction', 'keepdim'), std_correction_self, None, ()),
    ), (), ()),
    'var_mean.correction': ((
        (('self',), ('gradients', 'self', 'dim', 'correction', 'keepdim'), var_mean_correction_self, None, ()),
    ), (), ()),
    'std_mean': ((
        (('self',), ('gradients', 'result', 'self', 'unbiased'), std_mean_self, None, ()),
    ), (), ()),
    'std_mean.dim': ((
        (('self',), ('gradients', 'result', 'self', 'dim', 'unbiased', 'keepdim'), std_mean_dim_self, None, ()),
    ), (), ()),
    'std_mean.correction': ((
        (('self',), ('gradients', 'result', 'self', 'dim', 'correction', 'keepdim'), std_mean_correction_self, None, ()),
    ), (), ()),
    'logsumexp': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'keepdim', 'self', 'result'), logsumexp_self, None, ()),
    ), (), ()),
    'prod': ((
        (('self',), ('gradient', 'self', 'result'), prod_self, None, ()),
    ), (), ()),
    'prod.dim_int': ((
        (('self',), ('gradient', 'self', 'result', 'dim', 'keepdim'), prod_dim_int_self, None, ()),
    ), (), ()),
    'amax': ((
        (('self',), ('gradient', 'self', 'result', 'dim', 'keepdim'), amax_self, None, ()),
    ), (), ()),
    'amin': ((
        (('self',), ('gradient', 'self', 'result', 'dim', 'keepdim'), amin_self, None, ()),
    ), (), ()),
    'aminmax': ((
        (('self',), ('gradients', 'self', 'result', 'result1', 'dim', 'keepdim'), aminmax_self, None, ()),
    ), (), ()),
    'max': ((
        (('self',), ('gradient', 'self', 'result'), max_self, None, ()),
    ), (), ()),
    'min': ((
        (('self',), ('gradient', 'self', 'result'), min_self, None, ()),
    ), (), ()),
    'median': ((
        (('self',), ('gradient', 'self', 'result'), median_self, None, ()),
    ), (), ()),
    'nanmedian': ((
        (('self',), ('gradient', 'self', 'result'), nanmedian_self, None, ()),
    ), (), ()),
    'max.dim': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1', 'keepdim'), max_dim_self, None, ()),
    ), (), ()),
    'min.dim': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1', 'keepdim'), min_dim_self, None, ()),
    ), (), ()),
    'median.dim': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1', 'keepdim'), median_dim_self, None, ()),
    ), (), ()),
    'nanmedian.dim': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1', 'keepdim'), nanmedian_dim_self, None, ()),
    ), (), ()),
    'mode': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1', 'keepdim'), mode_self, None, ()),
    ), (), ()),
    'kthvalue': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1', 'keepdim'), kthvalue_self, None, ()),
    ), (), ()),
    'sort': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1'), sort_self, None, ()),
    ), (), ()),
    'sort.stable': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1'), sort_stable_self, None, ()),
    ), (), ()),
    'topk': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1'), topk_self, None, ()),
    ), (), ()),
    'linalg_vector_norm': ((
        (('self',), ('gradient', 'self', 'result', 'ord', 'dim', 'keepdim'), linalg_vector_norm_self, None, ()),
    ), (), ()),
    'norm.Scalar': ((
        (('self',), ('gradient', 'self', 'result', 'p'), norm_Scalar_self, None, ()),
    ), (), ()),
    'norm.ScalarOpt_dtype': ((
        (('self',), ('gradient', 'self', 'result', 'p'), norm_ScalarOpt_dtype_self, None, ()),
    ), (), ()),
    'norm.ScalarOpt_dim': ((
        (('self',), ('gradient', 'self', 'result', 'p', 'dim', 'keepdim'), norm_ScalarOpt_dim_self, None, ()),
    ), (), ()),
    'norm.ScalarOpt_dim_dtype': ((
        (('self',), ('gradient', 'self', 'result', 'p', 'dim', 'keepdim'), norm_ScalarOpt_dim_dtype_self, None, ()),
    ), (), ()),
    '_safe_softmax': ((
        (('self',), ('gradient', 'result', 'dim'), _safe_softmax_self, None, ()),
    ), (), ()),
    '_softmax': ((
        (('self',), ('gradient', 'result', 'dim'), _softmax_self, None, ()),
    ), (), ()),
    '_log_softmax': ((
        (('self',), ('gradient', 'result', 'dim'), _log_softmax_self, None, ()),
    ), (), ()),
    'cumsum': ((
        (('self',), ('gradient', 'dim'), cumsum_self, None, ()),
    ), (), ()),
    'cumprod': ((
        (('self',), ('gradient', 'self', 'result', 'dim'), cumprod_self, None, ()),
    ), (), ()),
    'cummax': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1'), cummax_self, None, ()),
    ), (), ()),
    'cummin': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'result1'), cummin_self, None, ()),
    ), (), ()),
    'logcumsumexp': ((
        (('self',), ('gradient', 'self', 'result', 'dim'), logcumsumexp_self, None, ()),
    ), (), ()),
    '_cdist_forward': ((
        (('x1',), ('gradient', 'x1', 'x2', 'p', 'result'), _cdist_forward_x1, None, ()),
        (('x2',), ('gradient', 'x2', 'x1', 'p', 'result'), _cdist_forward_x2, None, ()),
    ), (), ()),
    '_pdist_forward': ((
        (('self',), ('gradient', 'self', 'p', 'result'), _pdist_forward_self, '_pdist_backward', ('gradient', 'self', 'p', 'result')),
    ), (), ()),
    'native_layer_norm': ((
        (('input', 'weight', 'bias'), ('gradient', 'input', 'normalized_shape', 'result1', 'result2', 'weight', 'bias', 'eps', 'needed'), native_layer_norm_input, None, ()),
    ), (1, 2), ()),
    'native_group_norm': ((
        (('input', 'weight', 'bias'), ('given', 'input', 'result1', 'result2', 'weight', 'N', 'C', 'HxW', 'group', 'needed'), native_group_norm_input, None, ()),
    ), (), ()),
    'native_batch_norm': ((
        (('input', 'weight', 'bias'), ('gradient', 'input', 'weight', 'running_mean', 'running_var', 'result1', 'result2', 'training', 'eps', 'needed'), native_batch_norm_input, None, ()),
    ), (1, 2), ('running_mean', 'running_var')),
    '_native_batch_norm_legit': ((
        (('input', 'weight', 'bias'), ('gradient', 'input', 'weight', 'running_mean', 'running_var', 'result1', 'result2', 'training', 'eps', 'needed'), _native_batch_norm_legit_input, None, ()),
    ), (1, 2), ('running_mean', 'running_var')),
    '_native_batch_norm_legit.no_stats': ((
        (('input', 'weight', 'bias'), ('gradient', 'input', 'weight', 'result1', 'result2', 'training', 'eps', 'needed'), _native_batch_norm_legit_no_stats_input, None, ()),
    ), (1, 2), ()),
    '_batch_norm_with_update': ((
        (('input', 'weight', 'bias'), ('gradient', 'input', 'weight', 'running_mean', 'running_var', 'result1', 'result2', 'eps', 'needed'), _batch_norm_with_update_input, None, ()),
    ), (1, 2, 3), ('running_mean', 'running_var')),
    '_batch_norm_with_update_functional': ((
        (('input', 'weight', 'bias'), ('gradient', 'input', 'weight', 'running_mean', 'running_var', 'result1', 'result2', 'eps', 'needed'), _batch_norm_with_update_functional_input, None, ()),
    ), (1, 2, 3, 4, 5), ()),
    '_native_batch_norm_legit_functional': ((
        (('input', 'weight', 'bias'), ('gradient', 'input', 'weight', 'running_mean', 'running_var', 'result1', 'result2', 'training', 'eps', 'needed'), _native_batch_norm_legit_functional_input, None, ()),
    ), (1, 2, 3, 4), ()),
    'mse_loss': ((
        (('self',), ('gradient', 'self', 'target', 'reduction'), mse_loss_self, 'mse_loss_backward', ('gradient', 'self', 'target', 'reduction')),
        (('target',), ('gradient', 'target', 'self', 'reduction'), mse_loss_target, 'mse_loss_backward', ('gradient', 'target', 'self', 'reduction')),
    ), (), ()),
    'huber_loss': ((
        (('self',), ('gradient', 'self', 'target', 'reduction', 'delta'), huber_loss_self, 'huber_loss_backward', ('gradient', 'self', 'target', 'reduction', 'delta')),
        (('target',), ('gradient', 'target', 'self', 'reduction', 'delta'), huber_loss_target, 'huber_loss_backward', ('gradient', 'target', 'self', 'reduction', 'delta')),
    ), (), ()),
    'smooth_l1_loss': ((
        (('self',), ('gradient', 'self', 'target', 'reduction', 'beta'), smooth_l1_loss_self, 'smooth_l1_loss_backward', ('gradient', 'self', 'target', 'reduction', 'beta')),
        (('target',), ('gradient', 'target', 'self', 'reduction', 'beta'), smooth_l1_loss_target, 'smooth_l1_loss_backward', ('gradient', 'target', 'self', 'reduction', 'beta')),
    ), (), ()),
    'binary_cross_entropy': ((
        (('self',), ('gradient', 'self', 'target', 'weight', 'reduction'), binary_cross_entropy_self, 'binary_cross_entropy_backward', ('gradient', 'self', 'target', 'weight', 'reduction')),
        (('target',), ('gradient', 'self', 'target', 'weight', 'reduction'), binary_cross_entropy_target, None, ()),
    ), (), ()),
    'nll_loss_forward': ((
        (('self',), ('gradient', 'self', 'target', 'weight', 'reduction', 'ignore_index', 'result1'), nll_loss_forward_self, 'nll_loss_backward', ('gradient', 'self', 'target', 'weight', 'reduction', 'ignore_index', 'result1')),
    ), (), ()),
    'nll_loss2d_forward': ((
        (('self',), ('gradient', 'self', 'target', 'weight', 'reduction', 'ignore_index', 'result1'), nll_loss2d_forward_self, 'nll_loss2d_backward', ('gradient', 'self', 'target', 'weight', 'reduction', 'ignore_index', 'result1')),
    ), (), ()),
    'multi_margin_loss': ((
        (('self',), ('gradient', 'self', 'target', 'p', 'margin', 'weight', 'reduction'), multi_margin_loss_self, 'multi_margin_loss_backward', ('gradient', 'self', 'target', 'p', 'margin', 'weight', 'reduction')),
    ), (), ()),
    'multilabel_margin_loss_forward': ((
        (('self',), ('gradient', 'self', 'target', 'reduction', 'result1'), multilabel_margin_loss_forward_self, 'multilabel_margin_loss_backward', ('gradient', 'self', 'target', 'reduction', 'result1')),
    ), (), ()),
    '_ctc_loss': ((
        (('log_probs',), ('gradient', 'log_probs', 'targets', 'input_lengths', 'target_lengths', 'result', 'result1', 'blank', 'zero_infinity'), _ctc_loss_log_probs, '_ctc_loss_backward', ('gradient', 'log_probs', 'targets', 'input_lengths', 'target_lengths', 'result', 'result1', 'blank', 'zero_infinity')),
    ), (1,), ()),
    '_ctc_loss_backward': 'refused',
    'special_airy_ai': 'refused',
    'mm': ((
        (('self',), ('gradient', 'mat2'), mm_self, None, ()),
        (('mat2',), ('self', 'gradient'), mm_mat2, None, ()),
    ), (), ()),
    'bmm': ((
        (('self',), ('gradient', 'mat2'), bmm_self, None, ()),
        (('mat2',), ('self', 'gradient'), bmm_mat2, None, ()),
    ), (), ()),
    'mv': ((
        (('self',), ('gradient', 'vec'), mv_self, None, ()),
        (('vec',), ('self', 'gradient'), mv_vec, None, ()),
    ), (), ()),
    'dot': ((
        (('self',), ('gradient', 'tensor'), dot_self, None, ()),
        (('tensor',), ('gradient', 'self'), dot_tensor, None, ()),
    ), (), ()),
    'vdot': ((
        (('self',), ('gradient', 'other'), vdot_self, None, ()),
        (('other',), ('gradient', 'self'), vdot_other, None, ()),
    ), (), ()),
    'addmm': ((
        (('self',), ('gradient', 'beta'), addmm_self, None, ()),
        (('mat1',), ('gradient', 'mat2', 'alpha'), addmm_mat1, None, ()),
        (('mat2',), ('mat1', 'gradient', 'alpha'), addmm_mat2, None, ()),
    ), (), ()),
    'baddbmm': ((
        (('self',), ('gradient', 'beta'), baddbmm_self, None, ()),
        (('batch1',), ('gradient', 'batch2', 'alpha'), baddbmm_batch1, None, ()),
        (('batch2',), ('batch1', 'gradient', 'alpha'), baddbmm_batch2, None, ()),
    ), (), ()),
    'prims::dot_general': ((
        (('a',), ('gradient', 'b', 'a_sizes', 'contract_a', 'contract_b', 'batch_a', 'batch_b'), prims_dot_general_a, None, ()),
        (('b',), ('gradient', 'a', 'b_sizes', 'contract_a', 'contract_b', 'batch_a', 'batch_b'), prims_dot_general_b, None, ()),
    ), (), ()),
    'convolution': ((
        (('input', 'weight', 'bias'), ('gradient', 'input', 'weight', 'stride', 'padding', 'dilation', 'transposed', 'output_padding', 'groups', 'needed'), convolution_input, None, ()),
    ), (), ()),
    'fused::lstm_sequence': ((
        (('added', 'hidden', 'cell', 'weight'), ('given', 'hidden', 'cell', 'weight', 'result', 'result1', 'result2'), fused_lstm_sequence_added, None, ()),
    ), (), ()),
    'embedding': ((
        (('weight',), ('gradient', 'indices', 'weight_sizes', 'padding_idx', 'scale_grad_by_freq'), embedding_weight, None, ()),
    ), (), ()),
    '_embedding_bag': ((
        (('weight',), ('gradient', 'indices', 'offsets', 'result1', 'result2', 'result3', 'weight_sizes', 'scale_grad_by_freq', 'mode', 'per_sample_weights', 'padding_idx'), _embedding_bag_weight, None, ()),
        (('per_sample_weights',), ('gradient', 'weight', 'indices', 'offsets', 'result1', 'mode', 'padding_idx'), _embedding_bag_per_sample_weights, '_embedding_bag_per_sample_weights_backward', ('gradient', 'weight', 'indices', 'offsets', 'result1', 'mode', 'padding_idx')),
    ), (1, 2, 3), ()),
    '_scaled_dot_product_flash_attention_for_cpu': ((
        (('query', 'key', 'value'), ('gradient', 'query', 'key', 'value', 'result', 'result1', 'dropout_p', 'is_causal', 'attn_mask', 'scale'), _scaled_dot_product_flash_attention_for_cpu_query, None, ()),
    ), (1,), ()),
    'cat': ((
        (('tensors',), ('gradient', 'tensors_sizes', 'dim'), cat_tensors, None, ()),
    ), (), ()),
    'prims::cat': ((
        (('tensors',), ('gradient', 'tensors_sizes', 'dim'), prims_cat_tensors, None, ()),
    ), (), ()),
    'stack': ((
        (('tensors',), ('gradient', 'dim'), stack_tensors, 'unbind', ('gradient', 'dim')),
    ), (), ()),
    '_stack': ((
        (('tensors',), ('gradient', 'dim'), _stack_tensors, 'unbind', ('gradient', 'dim')),
    ), (), ()),
    'flip': ((
        (('self',), ('gradient', 'dims'), flip_self, 'flip', ('gradient', 'dims')),
    ), (), ()),
    'prims::rev': ((
        (('a',), ('gradient', 'dims'), prims_rev_a, 'flip', ('gradient', 'dims')),
    ), (), ()),
    'roll': ((
        (('self',), ('gradient', 'shifts', 'dims'), roll_self, None, ()),
    ), (), ()),
    'tril': ((
        (('self',), ('gradient', 'diagonal'), tril_self, 'tril', ('gradient', 'diagonal')),
    ), (), ()),
    'triu': ((
        (('self',), ('gradient', 'diagonal'), triu_self, 'triu', ('gradient', 'diagonal')),
    ), (), ()),
    'repeat': ((
        (('self',), ('gradient', 'repeats', 'self_sizes'), repeat_self, None, ()),
    ), (), ()),
    'constant_pad_nd': ((
        (('self',), ('gradient', 'pad'), constant_pad_nd_self, None, ()),
    ), (), ()),
    'prims::pad': ((
        (('a',), ('gradient', 'low', 'high', 'interior'), prims_pad_a, None, ()),
    ), (), ()),
    'gather': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'index'), gather_self, None, ()),
    ), (), ()),
    'prims::gather': ((
        (('a',), ('gradient', 'a_sizes', 'dim', 'index'), prims_gather_a, None, ()),
    ), (), ()),
    'prims::scatter': ((
        (('a', 'src'), ('gradient', 'a', 'index', 'src', 'result', 'dim', 'combine'), prims_scatter_a, None, ()),
    ), (), ()),
    'scatter.src': ((
        (('self',), ('gradient', 'dim', 'index'), scatter_src_self, 'scatter', ('gradient', 'dim', 'index', '0')),
        (('src',), ('gradient', 'dim', 'index'), scatter_src_src, 'gather', ('gradient', 'dim', 'index')),
    ), (), ()),
    'scatter.value': ((
        (('self',), ('gradient', 'dim', 'index'), scatter_value_self, 'scatter', ('gradient', 'dim', 'index', '0')),
    ), (), ()),
    'scatter_add': ((
        (('self',), ('gradient',), scatter_add_self, None, ()),
        (('src',), ('gradient', 'dim', 'index'), scatter_add_src, 'gather', ('gradient', 'dim', 'index')),
    ), (), ()),
    'index_select': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'index'), index_select_self, None, ()),
    ), (), ()),
    'index_add': ((
        (('self',), ('gradient',), index_add_self, None, ()),
        (('source',), ('gradient', 'index', 'dim', 'source_sizes', 'alpha'), index_add_source, None, ()),
    ), (), ()),
    'index_copy': ((
        (('self',), ('gradient', 'dim', 'index'), index_copy_self, 'index_fill', ('gradient', 'dim', 'index', '0')),
        (('source',), ('gradient', 'index', 'dim', 'source_sizes'), index_copy_source, None, ()),
    ), (), ()),
    'index_fill.int_Scalar': ((
        (('self',), ('gradient', 'dim', 'index'), index_fill_int_Scalar_self, 'index_fill', ('gradient', 'dim', 'index', '0')),
    ), (), ()),
    'index_fill.int_Tensor': ((
        (('self',), ('gradient', 'dim', 'index'), index_fill_int_Tensor_self, 'index_fill', ('gradient', 'dim', 'index', '0')),
        (('value',), ('gradient', 'dim', 'index'), index_fill_int_Tensor_value, None, ()),
    ), (), ()),
    'index.Tensor': ((
        (('self',), ('gradient', 'self_sizes', 'indices'), index_Tensor_self, None, ()),
    ), (), ()),
    '_unsafe_index.Tensor': ((
        (('self',), ('gradient', 'self_sizes', 'indices'), _unsafe_index_Tensor_self, None, ()),
    ), (), ()),
    'index_put': ((
        (('self',), ('accumulate', 'gradient', 'indices'), index_put_self, None, ()),
        (('values',), ('gradient', 'indices'), index_put_values, 'index', ('gradient', 'indices')),
    ), (), ()),
    '_index_put_impl': ((
        (('self',), ('accumulate', 'gradient', 'indices'), _index_put_impl_self, None, ()),
        (('values',), ('gradient', 'indices'), _index_put_impl_values, 'index', ('gradient', 'indices')),
    ), (), ()),
    'masked_select': ((
        (('self',), ('gradient', 'self_sizes', 'mask'), masked_select_self, None, ()),
    ), (), ()),
    'masked_scatter': ((
        (('self',), ('gradient', 'mask'), masked_scatter_self, 'masked_fill', ('gradient', 'mask', '0')),
        (('source',), ('gradient', 'mask', 'source_sizes'), masked_scatter_source, 'masked_scatter_backward', ('gradient', 'mask', 'source_sizes')),
    ), (), ()),
    'take': ((
        (('self',), ('gradient', 'self_sizes', 'index'), take_self, None, ()),
    ), (), ()),
    'put': ((
        (('self',), ('gradient', 'index', 'accumulate'), put_self, None, ()),
        (('source',), ('gradient', 'index', 'source_sizes'), put_source, None, ()),
    ), (), ()),
    'select_scatter': ((
        (('self',), ('gradient', 'dim', 'index'), select_scatter_self, None, ()),
        (('src',), ('gradient', 'dim', 'index'), select_scatter_src, 'select', ('gradient', 'dim', 'index')),
    ), (), ()),
    'slice_scatter': ((
        (('self',), ('gradient', 'src_sizes', 'dim', 'start', 'end', 'step'), slice_scatter_self, None, ()),
        (('src',), ('gradient', 'dim', 'start', 'end', 'step'), slice_scatter_src, 'slice', ('gradient', 'dim', 'start', 'end', 'step')),
    ), (), ()),
    'as_strided_scatter': ((
        (('self',), ('gradient', 'src_sizes', 'size', 'stride', 'storage_offset'), as_strided_scatter_self, None, ()),
        (('src',), ('gradient', 'size', 'stride', 'storage_offset'), as_strided_scatter_src, None, ()),
    ), (), ()),
    'diagonal_scatter': ((
        (('self',), ('gradient', 'src_sizes', 'offset', 'dim1', 'dim2'), diagonal_scatter_self, None, ()),
        (('src',), ('gradient', 'offset', 'dim1', 'dim2'), diagonal_scatter_src, 'diagonal', ('gradient', 'offset', 'dim1', 'dim2')),
    ), (), ()),
    'max_pool2d_with_indices': ((
        (('self',), ('gradient', 'self', 'kernel_size', 'stride', 'padding', 'dilation', 'ceil_mode', 'result1'), max_pool2d_with_indices_self, 'max_pool2d_with_indices_backward', ('gradient', 'self', 'kernel_size', 'stride', 'padding', 'dilation', 'ceil_mode', 'result1')),
    ), (), ()),
    'max_pool2d_with_indices_backward': ((
        (('grad_output',), ('gradient', 'indices'), max_pool2d_with_indices_backward_grad_output, None, ()),
        (('self',), ('gradient',), max_pool2d_with_indices_backward_self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'max_pool3d_with_indices_backward': ((
        (('grad_output',), ('gradient', 'indices'), max_pool3d_with_indices_backward_grad_output, None, ()),
        (('self',), ('gradient',), max_pool3d_with_indices_backward_self, 'zeros_like', ('gradient',)),
    ), (), ()),
    'max_pool3d_with_indices': ((
        (('self',), ('gradient', 'self', 'kernel_size', 'stride', 'padding', 'dilation', 'ceil_mode', 'result1'), max_pool3d_with_indices_self, 'max_pool3d_with_indices_backward', ('gradient', 'self', 'kernel_size', 'stride', 'padding', 'dilation', 'ceil_mode', 'result1')),
    ), (), ()),
    'max_unpool2d': ((
        (('self',), ('gradient', 'indices'), max_unpool2d_self, None, ()),
    ), (), ()),
    'max_unpool3d': ((
        (('self',), ('gradient', 'indices'), max_unpool3d_self, None, ()),
    ), (), ()),
    'avg_pool2d': ((
        (('self',), ('gradient', 'self', 'kernel_size', 'stride', 'padding', 'ceil_mode', 'count_include_pad', 'divisor_override'), avg_pool2d_self, 'avg_pool2d_backward', ('gradient', 'self', 'kernel_size', 'stride', 'padding', 'ceil_mode', 'count_include_pad', 'divisor_override')),
    ), (), ()),
    'avg_pool3d': ((
        (('self',), ('gradient', 'self', 'kernel_size', 'stride', 'padding', 'ceil_mode', 'count_include_pad', 'divisor_override'), avg_pool3d_self, 'avg_pool3d_backward', ('gradient', 'self', 'kernel_size', 'stride', 'padding', 'ceil_mode', 'count_include_pad', 'divisor_override')),
    ), (), ()),
    '_adaptive_avg_pool2d': ((
        (('self',), ('gradient', 'self'), _adaptive_avg_pool2d_self, '_adaptive_avg_pool2d_backward', ('gradient', 'self')),
    ), (), ()),
    '_adaptive_avg_pool3d': ((
        (('self',), ('gradient', 'self'), _adaptive_avg_pool3d_self, '_adaptive_avg_pool3d_backward', ('gradient', 'self')),
    ), (), ()),
    'adaptive_max_pool2d': ((
        (('self',), ('gradient', 'self', 'result1'), adaptive_max_pool2d_self, 'adaptive_max_pool2d_backward', ('gradient', 'self', 'result1')),
    ), (), ()),
    'adaptive_max_pool3d': ((
        (('self',), ('gradient', 'self', 'result1'), adaptive_max_pool3d_self, 'adaptive_max_pool3d_backward', ('gradient', 'self', 'result1')),
    ), (), ()),
    'fractional_max_pool2d': ((
        (('self',), ('gradient', 'self', 'kernel_size', 'output_size', 'result1'), fractional_max_pool2d_self, 'fractional_max_pool2d_backward', ('gradient', 'self', 'kernel_size', 'output_size', 'result1')),
    ), (), ()),
    'fractional_max_pool3d': ((
        (('self',), ('gradient', 'self', 'kernel_size', 'output_size', 'result1'), fractional_max_pool3d_self, 'fractional_max_pool3d_backward', ('gradient', 'self', 'kernel_size', 'output_size', 'result1')),
    ), (), ()),
    'grid_sampler_2d': ((
        (('input', 'grid'), ('gradient', 'input', 'grid', 'interpolation_mode', 'padding_mode', 'align_corners', 'needed'), grid_sampler_2d_input, 'grid_sampler_2d_backward', ('gradient', 'input', 'grid', 'interpolation_mode', 'padding_mode', 'align_corners', 'needed')),
    ), (), ()),
    'grid_sampler_3d': ((
        (('input', 'grid'), ('gradient', 'input', 'grid', 'interpolation_mode', 'padding_mode', 'align_corners', 'needed'), grid_sampler_3d_input, 'grid_sampler_3d_backward', ('gradient', 'input', 'grid', 'interpolation_mode', 'padding_mode', 'align_corners', 'needed')),
    ), (), ()),
    'reflection_pad1d': ((
        (('self',), ('gradient', 'self', 'padding'), reflection_pad1d_self, 'reflection_pad1d_backward', ('gradient', 'self', 'padding')),
    ), (), ()),
    'reflection_pad2d': ((
        (('self',), ('gradient', 'self', 'padding'), reflection_pad2d_self, 'reflection_pad2d_backward', ('gradient', 'self', 'padding')),
    ), (), ()),
    'reflection_pad3d': ((
        (('self',), ('gradient', 'self', 'padding'), reflection_pad3d_self, 'reflection_pad3d_backward', ('gradient', 'self', 'padding')),
    ), (), ()),
    'replication_pad1d': ((
        (('self',), ('gradient', 'self', 'padding'), replication_pad1d_self, 'replication_pad1d_backward', ('gradient', 'self', 'padding')),
    ), (), ()),
    'replication_pad2d': ((
        (('self',), ('gradient', 'self', 'padding'), replication_pad2d_self, 'replication_pad2d_backward', ('gradient', 'self', 'padding')),
    ), (), ()),
    'replication_pad3d': ((
        (('self',), ('gradient', 'self', 'padding'), replication_pad3d_self, 'replication_pad3d_backward', ('gradient', 'self', 'padding')),
    ), (), ()),
    'col2im': ((
        (('self',), ('gradient', 'kernel_size', 'dilation', 'padding', 'stride'), col2im_self, 'im2col', ('gradient', 'kernel_size', 'dilation', 'padding', 'stride')),
    ), (), ()),
    'upsample_linear1d': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales'), upsample_linear1d_self, 'upsample_linear1d_backward', ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales')),
    ), (), ()),
    'upsample_bilinear2d': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales_h', 'scales_w'), upsample_bilinear2d_self, 'upsample_bilinear2d_backward', ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales_h', 'scales_w')),
    ), (), ()),
    '_upsample_bilinear2d_aa': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales_h', 'scales_w'), _upsample_bilinear2d_aa_self, '_upsample_bilinear2d_aa_backward', ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales_h', 'scales_w')),
    ), (), ()),
    'upsample_trilinear3d': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales_d', 'scales_h', 'scales_w'), upsample_trilinear3d_self, 'upsample_trilinear3d_backward', ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales_d', 'scales_h', 'scales_w')),
    ), (), ()),
    'upsample_bicubic2d': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales_h', 'scales_w'), upsample_bicubic2d_self, 'upsample_bicubic2d_backward', ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales_h', 'scales_w')),
    ), (), ()),
    '_upsample_bicubic2d_aa': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales_h', 'scales_w'), _upsample_bicubic2d_aa_self, '_upsample_bicubic2d_aa_backward', ('gradient', 'output_size', 'self_sizes', 'align_corners', 'scales_h', 'scales_w')),
    ), (), ()),
    'upsample_nearest1d': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'scales'), upsample_nearest1d_self, 'upsample_nearest1d_backward', ('gradient', 'output_size', 'self_sizes', 'scales')),
    ), (), ()),
    'upsample_nearest2d': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'scales_h', 'scales_w'), upsample_nearest2d_self, 'upsample_nearest2d_backward', ('gradient', 'output_size', 'self_sizes', 'scales_h', 'scales_w')),
    ), (), ()),
    'upsample_nearest3d': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'scales_d', 'scales_h', 'scales_w'), upsample_nearest3d_self, 'upsample_nearest3d_backward', ('gradient', 'output_size', 'self_sizes', 'scales_d', 'scales_h', 'scales_w')),
    ), (), ()),
    '_upsample_nearest_exact1d': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'scales'), _upsample_nearest_exact1d_self, '_upsample_nearest_exact1d_backward', ('gradient', 'output_size', 'self_sizes', 'scales')),
    ), (), ()),
    '_upsample_nearest_exact2d': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'scales_h', 'scales_w'), _upsample_nearest_exact2d_self, '_upsample_nearest_exact2d_backward', ('gradient', 'output_size', 'self_sizes', 'scales_h', 'scales_w')),
    ), (), ()),
    '_upsample_nearest_exact3d': ((
        (('self',), ('gradient', 'output_size', 'self_sizes', 'scales_d', 'scales_h', 'scales_w'), _upsample_nearest_exact3d_self, '_upsample_nearest_exact3d_backward', ('gradient', 'output_size', 'self_sizes', 'scales_d', 'scales_h', 'scales_w')),
    ), (), ()),
    'prims::fft_c2c': ((
        (('self',), ('gradient', 'dim', 'forward'), prims_fft_c2c_self, None, ()),
    ), (), ()),
    'prims::fft_r2c': ((
        (('self',), ('gradient', 'self_sizes', 'dim', 'onesided'), prims_fft_r2c_self, None, ()),
    ), (), ()),
    'prims::fft_c2r': ((
        (('self',), ('gradient', 'self_sizes', 'dim'), prims_fft_c2r_self, None, ()),
    ), (), ()),
    'prims::solve_triangular': ((
        (('a', 'b'), ('gradient', 'a', 'result', 'upper', 'unitriangular'), prims_solve_triangular_a, None, ()),
    ), (), ()),
    'linalg_cholesky_ex': ((
        (('self',), ('gradient', 'result', 'upper'), linalg_cholesky_ex_self, None, ()),
    ), (), ()),
    'prims::cholesky': ((
        (('a',), ('gradient', 'result'), prims_cholesky_a, None, ()),
    ), (), ()),
    'prims::householder_product': ((
        (('a', 'tau'), ('gradient', 'a', 'tau'), prims_householder_product_a, None, ()),
    ), (), ()),
    'prims::lu': ((
        (('a',), ('gradient', 'result', 'result1'), prims_lu_a, None, ()),
    ), (), ()),
    'prims::eigh': ((
        (('a',), ('given', 'result', 'result1'), prims_eigh_a, None, ()),
    ), (), ()),
    'prims::eig': ((
        (('a',), ('given', 'result', 'result1'), prims_eig_a, None, ()),
    ), (), ()),
    'prims::svd': ((
        (('A',), ('given', 'result', 'result1', 'result2'), prims_svd_A, None, ()),
    ), (), ()),
    'linalg_pinv.atol_rtol_tensor': ((
        (('self',), ('gradient', 'result', 'self'), linalg_pinv_atol_rtol_tensor_self, None, ()),
    ), (), ()),
    'linalg_lstsq': ((
        (('self', 'b'), ('given', 'self', 'b', 'result'), linalg_lstsq_self, None, ()),
    ), (2, 3), ()),
    'linalg_qr': ((
        (('A',), ('gradients', 'A', 'result', 'result1', 'mode'), linalg_qr_A, None, ()),
    ), (), ()),
}
