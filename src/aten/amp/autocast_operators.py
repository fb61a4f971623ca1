"""Which operators compute in half types under autocast on the CPU, and which in float32."""

LOWER = tuple(
    "conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding bmm mm linalg_vecdot "
    "baddbmm addmm addbmm _addmm_activation linear matmul conv_tbc conv_transpose1d "
    "conv_transpose2d.input conv_transpose3d.input prelu scaled_dot_product_attention".split()
)
FLOAT32 = tuple(
    "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy "
    "binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve "
    "cosine_embedding_loss cross_entropy_loss ctc_loss.IntList ctc_loss.Tensor "
    "fake_quantize_per_tensor_affine fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 "
    "fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn "
    "fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler grid_sampler_2d "
    "grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg_cholesky "
    "linalg_cholesky_ex linalg_cond linalg_cond.p_str linalg_eig linalg_eigh linalg_eigvals "
    "linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq "
    "linalg_matrix_rank linalg_matrix_rank.atol_rtol_float linalg_matrix_rank.atol_rtol_tensor "
    "linalg_matrix_rank.tol_tensor linalg_qr linalg_solve linalg_svd linalg_svdvals "
    "linalg_tensorinv linalg_tensorsolve lu_solve margin_ranking_loss max_pool3d max_unpool2d "
    "max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss "
    "multilabel_margin_loss_forward nanquantile nanquantile.scalar nll_loss nll_loss2d orgqr "
    "ormqr pinverse poisson_nll_loss polar prod prod.dim_int qr quantile quantile.scalar "
    "reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d "
    "smooth_l1_loss soft_margin_loss stft stft.center svd trace triangular_solve "
    "triplet_margin_loss view_as_complex".split()
)
# In the widest type of their operands.
PROMOTED = ("stack", "cat", "index_copy")
