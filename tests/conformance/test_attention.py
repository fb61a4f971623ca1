"""Attention, RMS norm and resized images against torch."""

from __future__ import annotations

import random

import pytest
from comparison import assert_same, compare, to_torch, torch, translated

import aten

TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-12}


def sample(*shape, element="float32", seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator).to(getattr(torch, element))


def agree(name, element, *operands, **options):
    expected = getattr(torch.ops.aten, name)(*operands, **options)
    ours = [translated(operand) for operand in operands]
    result = getattr(aten.ops.aten, name)(*ours, **options)
    tolerance = TOLERANCE[element]
    assert_same(result, expected, tolerance=tolerance, absolute=tolerance, strides=False)


@pytest.mark.parametrize("element", list(TOLERANCE))
@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (0, 2)], ids=str)
def test_attention(element, batch):
    query = sample(*batch, 5, 8, element=element)
    key = sample(*batch, 7, 8, element=element, seed=1)
    value = sample(*batch, 7, 8, element=element, seed=2)
    some = torch.rand(5, 7, generator=torch.Generator().manual_seed(1)) < 0.6
    some[2] = False
    masks = [None, some, sample(5, 7, element=element), torch.zeros(1, 7, dtype=torch.bool)]
    for mask in masks:
        agree("scaled_dot_product_attention", element, query, key, value, mask)
    agree("scaled_dot_product_attention", element, query, key, value, is_causal=True)
    agree("scaled_dot_product_attention", element, query, key, value, scale=0.3)


@pytest.mark.parametrize(
    ("rows", "columns"), [(300, 300), (300, 200), (200, 300), (129, 1), (128, 128)]
)
@pytest.mark.parametrize("batch", [(), (2, 3)], ids=str)
def test_long_attention_in_parts(batch, rows, columns, monkeypatch):
    """Some rows at a time, causal or not, with masks of every row and of all rows."""
    monkeypatch.setattr("aten.ops.networks.attention._SCORES", 1)
    name, element = "scaled_dot_product_attention", "float32"
    query = sample(*batch, rows, 8)
    key, value = (sample(*batch, columns, 8, seed=seed) for seed in (1, 2))
    hidden = torch.ones(rows, columns, dtype=torch.bool)
    hidden[130:] = False
    for mask in (None, hidden, sample(rows, columns), sample(1, columns)):
        agree(name, element, query, key, value, mask)
    agree(name, element, query, key, value, is_causal=True)


def test_long_attention_holds_few_scores():
    query = aten.from_numpy(sample(1, 8, 2048, 16).numpy())
    aten.ops.aten.scaled_dot_product_attention(query, query, query)
    aten.memory.empty_cache()
    aten.memory.reset_peak()
    before = aten.memory.stats()["allocated_bytes"]
    aten.ops.aten.scaled_dot_product_attention(query, query, query)
    scores = 8 * 2048 * 2048 * 4
    assert aten.memory.stats()["peak_bytes"] - before < scores / 4


def test_grouped_queries():
    query, key, value = sample(2, 6, 5, 4), sample(2, 2, 7, 4), sample(2, 2, 7, 3)
    agree("scaled_dot_product_attention", "float32", query, key, value, enable_gqa=True)


def test_masked_rows_do_not_hide_nan():
    query, key, value = sample(3, 4), sample(3, 4), sample(3, 4)
    key[1, 1] = float("nan")
    mask = torch.ones(3, 3, dtype=torch.bool)
    agree("scaled_dot_product_attention", "float32", query, key, value, mask)


@pytest.mark.parametrize(
    "expression",
    [
        lambda f, x, y: f(x, x, y),
        lambda f, x, y: f(x[0], x[0], x[0]),
        lambda f, x, y: f(x, x, x, y),
        lambda f, x, y: f(x, x, x, x, is_causal=True),
        lambda f, x, y: f(x, x.t(), x),
    ],
)
def test_refused_operands(expression):
    compare(
        lambda library, *operands: expression(
            library.ops.aten.scaled_dot_product_attention, *operands
        ),
        sample(3, 4),
        sample(3, 4).double(),
    )


@pytest.mark.parametrize("element", list(TOLERANCE))
@pytest.mark.parametrize("epsilon", [None, 1e-3])
def test_rms_norm(element, epsilon):
    input, weight = sample(3, 4, 6, element=element), sample(4, 6, element=element)
    agree("rms_norm", element, input, [6], None, epsilon)
    agree("rms_norm", element, input, [4, 6], weight, epsilon)
    agree("rms_norm", element, input.transpose(0, 1), [6], weight[0], epsilon)
    agree("rms_norm", element, input * 1e-4, [6], weight[0], epsilon)


@pytest.mark.parametrize("element", list(TOLERANCE))
def test_resized_images(element):
    for seed in range(40):
        choose = random.Random(seed)
        image = sample(2, 3, choose.randint(1, 7), choose.randint(1, 7), element=element)
        sizes = [choose.randint(1, 12), choose.randint(1, 12)]
        factors = [choose.uniform(1, 3), choose.choice((2.0, 1.7, 1.05))]
        align = choose.random() < 0.5
        for given in ((sizes, None), (None, factors)):
            ours = translated(image)
            tolerance = max(TOLERANCE[element], 1e-5)
            limits = {"tolerance": tolerance, "absolute": tolerance, "strides": False}
            expected = torch.ops.aten.upsample_bilinear2d.vec(image, given[0], align, given[1])
            result = aten.ops.aten.upsample_bilinear2d.vec(ours, given[0], align, given[1])
            assert_same(result, expected, **limits)
            expected = torch.ops.aten.upsample_nearest2d.vec(image, *given)
            assert_same(aten.ops.aten.upsample_nearest2d.vec(ours, *given), expected, **limits)


def test_results_lie_in_memory_as_torchs_do():
    packed = sample(2, 5, 3, 3, 4)  # batch, rows, which, heads, width
    query, key, value = (packed[:, :, which].transpose(1, 2) for which in range(3))

    def attend(library, *operands, **options):
        return library.nn.functional.scaled_dot_product_attention(*operands, **options)

    for operands in [
        (query, key, value),
        (query[0], key[0], value[0]),
        (query, key, value[..., :2]),
    ]:
        for causal in (False, True):
            compare(
                lambda library, *given, causal=causal: attend(library, *given, is_causal=causal),
                *operands,
                tolerance=2e-5,
                absolute=2e-5,
            )


WIDTH, HEADS = 6, 3


def several_heads(queries: tuple[int, ...], keys: tuple[int, ...], **options):
    """Compares `multi_head_attention_forward`; arrays among the options are tensors."""
    same = options.pop("same", False)
    query = sample(*queries, WIDTH)
    key = query if same else sample(*keys, WIDTH, seed=1)
    value = query if same else sample(*keys, WIDTH, seed=2)
    given = {
        "in_proj_weight": sample(3 * WIDTH, WIDTH),
        "in_proj_bias": sample(3 * WIDTH),
        "bias_k": None,
        "bias_v": None,
        "add_zero_attn": False,
        "dropout_p": 0.0,
        "out_proj_weight": sample(WIDTH, WIDTH),
        "out_proj_bias": sample(WIDTH),
        "num_heads": HEADS,
        "embed_dim_to_check": WIDTH,
        **options,
    }
    names = list(given)

    def run(library, query, key, value, *values):
        keywords = dict(zip(names, values, strict=True))
        key, value = (query, query) if same else (key, value)
        return library.nn.functional.multi_head_attention_forward(query, key, value, **keywords)

    compare(run, query, key, value, *given.values(), tolerance=1e-4, absolute=1e-4)


@pytest.mark.parametrize("need_weights", [True, False])
def test_several_heads(need_weights):
    extra = {"bias_k": sample(1, 1, WIDTH), "bias_v": sample(1, 1, WIDTH, seed=1)}
    hidden = torch.tensor([[False, True, False, False], [False, False, False, True]])
    separate = dict.fromkeys(("q_proj_weight", "k_proj_weight", "v_proj_weight"))
    for place, name in enumerate(separate):
        separate[name] = sample(WIDTH, WIDTH, seed=place)
    variants = [
        {},
        {"same": True},
        {"in_proj_bias": None, "out_proj_bias": None},
        {"average_attn_weights": False},
        {"add_zero_attn": True, **extra, "attn_mask": sample(4, 4)},
        {"attn_mask": sample(4, 4) > 1},
        {"attn_mask": sample(2 * HEADS, 4, 4), "key_padding_mask": hidden.float()},
        {"key_padding_mask": hidden.float(), "attn_mask": sample(4, 4)},
        {"use_separate_proj_weight": True, "in_proj_weight": None, **separate},
        {"static_k": sample(2 * HEADS, 5, 2), "static_v": sample(2 * HEADS, 5, 2, seed=3)},
    ]
    for options in variants:
        several_heads((4, 2), (4, 2), need_weights=need_weights, **options)
    several_heads(
        (3,), (5,), need_weights=need_weights, key_padding_mask=hidden[0, [0, 1, 2, 3, 0]]
    )


@pytest.mark.parametrize(
    "options",
    [
        {"embed_dim_to_check": WIDTH + 1},
        {"num_heads": 4},
        {"in_proj_weight": None},
        {"is_causal": True},
        {"attn_mask": torch.zeros(2, 2)},
        {"attn_mask": torch.zeros(4, 4, dtype=torch.int64)},
        {"key_padding_mask": torch.zeros(3, 3)},
        {"bias_k": torch.zeros(1, 1, WIDTH)},
        {"use_separate_proj_weight": True},
        {"static_k": torch.zeros(5, 5, 2)},
    ],
    ids=str,
)
def test_several_heads_that_do_not_go_together(options):
    several_heads((4, 2), (4, 2), **options)
    several_heads((4, 2), (4,), **options)


def attended(query, key, value, allowed=None, bias=None, scale=None):
    """What kernels of other devices compute: torch has these on the CPU as a composite."""
    query, key, value = (one.transpose(1, 2).double() for one in (query, key, value))
    key, value = (one.repeat_interleave(query.size(1) // one.size(1), 1) for one in (key, value))
    mask = torch.zeros(query.size(2), key.size(2)).double() if bias is None else bias.double()
    if allowed is not None:
        mask = mask.masked_fill(~allowed, float("-inf"))
    made = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, scale=scale)
    return made.nan_to_num().transpose(1, 2).float()


def ours_of(name, *arguments, **keywords):
    given = [translated(one) if torch.is_tensor(one) else one for one in arguments]
    named = {key: translated(one) if torch.is_tensor(one) else one for key, one in keywords.items()}
    return getattr(aten.ops.aten, name)(*given, **named)


def require_described(name, found, *arguments, **keywords):
    """Shapes and dtypes are those that torch says of its kernels, without data."""
    given = [one.to("meta") if torch.is_tensor(one) else one for one in arguments]
    expected = getattr(torch.ops.aten, name)(*given, **keywords)
    for ours, theirs in zip(found, expected, strict=True):
        if not torch.is_tensor(theirs):
            assert ours == theirs
            continue
        assert (tuple(ours.shape), str(ours.dtype)[5:]) == (
            tuple(theirs.shape),
            str(theirs.dtype)[6:],
        )
        assert ours.stride() == theirs.stride()


def causal(rows, keys, left=None, right=0, shift=0):
    behind = torch.arange(keys) - (torch.arange(rows).unsqueeze(1) + shift)
    allowed = torch.ones(rows, keys, dtype=torch.bool)
    if right is not None:
        allowed &= behind <= right
    if left is not None:
        allowed &= behind >= -left
    return allowed


@pytest.mark.parametrize("heads", [4, 2])
@pytest.mark.parametrize(
    ("is_causal", "left", "right"),
    [(False, None, None), (True, None, None), (False, 2, 1), (True, 3, 5)],
)
def test_rows_before_heads(heads, is_causal, left, right):
    name = "_flash_attention_forward"
    query, key, value = sample(2, 5, 4, 8), sample(2, 7, heads, 8), sample(2, 7, heads, 8, seed=2)
    given = (query, key, value, None, None, 5, 7, 0.0, is_causal, False)
    windows = {"window_size_left": left, "window_size_right": right}
    found = ours_of(name, *given, **windows)
    require_described(name, found, *given)
    allowed = causal(5, 7, left, 0 if is_causal else right, shift=2)
    expected = attended(query, key, value, allowed)
    assert torch.allclose(to_torch(found[0]), expected, atol=1e-5)
    scores = torch.einsum("nqhd,nkhd->nhqk", query, key.repeat_interleave(4 // heads, 2)) / 8**0.5
    logarithms = scores.masked_fill(~allowed, float("-inf")).logsumexp(-1)
    assert torch.allclose(to_torch(found[1]), logarithms, atol=1e-5)


def test_sequences_one_behind_another():
    query, key, value = sample(9, 4, 8), sample(11, 4, 8, seed=1), sample(11, 4, 8, seed=2)
    begin_q, begin_k = (torch.tensor(one, dtype=torch.int32) for one in ([0, 3, 9], [0, 4, 11]))
    given = (query, key, value, begin_q, begin_k, 6, 7, 0.0, True, False)
    made = ours_of("_flash_attention_forward", *given)
    require_described("_flash_attention_forward", made, *given)
    efficient = ours_of(
        "_efficient_attention_forward",
        *(one.unsqueeze(0) for one in (query, key, value)),
        *(None, begin_q, begin_k, 6, 7, 0.0, 2, True),
    )
    for rows, keys in (((0, 3), (0, 4)), ((3, 9), (4, 11))):
        parts = [one[None, slice(*at)] for one, at in ((query, rows), (key, keys), (value, keys))]
        allowed = causal(rows[1] - rows[0], keys[1] - keys[0], shift=1)
        expected = attended(*parts, allowed)
        for found in (to_torch(made[0])[None], to_torch(efficient[0])):
            assert torch.allclose(found[:, slice(*rows)], expected, atol=1e-5)
    sums = to_torch(efficient[1])
    assert sums.shape == (2, 4, 32)
    assert torch.equal(sums[1, :, :6], to_torch(made[1])[:, 3:])


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("asked", [False, True])
def test_rows_before_heads_with_a_bias(kind, asked):
    name = "_efficient_attention_forward"
    query, key, value = sample(2, 5, 4, 8), sample(2, 7, 4, 8, seed=1), sample(2, 7, 4, 6, seed=2)
    bias = sample(2, 4, 5, 7, seed=3)
    given = (query, key, value, bias, None, None, None, None, 0.0, kind, asked)
    found = ours_of(name, *given, scale=0.3)
    require_described(name, found, *given)
    allowed = None if kind == 0 else causal(5, 7, shift=0 if kind == 1 else 2)
    expected = attended(query, key, value, allowed, bias, 0.3)
    assert torch.allclose(to_torch(found[0]), expected, atol=1e-5)


def test_keys_in_use_slopes_and_factors():
    query, key, value = sample(2, 5, 4, 8), sample(2, 7, 4, 8, seed=1), sample(2, 7, 4, 8, seed=2)
    slopes, used = torch.tensor([0.5, 0.25, 0.125, 1.0]), torch.tensor([7, 4])
    given = (query, key, value, None, None, 5, 7, 0.0, False, False)
    found = ours_of("_flash_attention_forward", *given, seqused_k=used, alibi_slopes=slopes)
    behind = torch.arange(7) - (torch.arange(5).unsqueeze(1) + 2)
    bias = -slopes.view(1, 4, 1, 1) * behind.abs()
    allowed = torch.arange(7) < used.view(2, 1, 1, 1)
    expected = attended(query, key, value, allowed.expand(2, 4, 5, 7), bias.expand(2, 4, 5, 7))
    assert torch.allclose(to_torch(found[0]), expected, atol=1e-5)
    factors = [torch.full((2, 4), one) for one in (2.0, 0.5, 3.0)]
    packet = aten.ops.aten._flash_attention_forward.quantized
    ours = [translated(one) if torch.is_tensor(one) else one for one in given]
    made = packet(*ours, *map(translated, factors))
    expected = attended(query * 2, key * 0.5, value * 3)
    assert torch.allclose(to_torch(made[0]), expected, atol=1e-5)


@pytest.mark.parametrize("sizes", [(2,), (2, 0), (2, 3), (2, 1, 1)])
def test_factors_of_other_sizes_are_refused(sizes):
    operands = [aten.ones(2, 3, 2, 4)] * 3
    packet = aten.ops.aten._flash_attention_forward.quantized
    with pytest.raises(RuntimeError, match="k_descale has a factor"):
        packet(*operands, None, None, 3, 3, 0.0, False, False, None, aten.ones(sizes), None)


def test_what_other_devices_kernels_are_not_asked_for_here():
    query = aten.zeros(1, 2, 3, 4)
    forward = aten.ops.aten._flash_attention_forward
    with pytest.raises(NotImplementedError, match="no dropout_p"):
        forward(query, query, query, None, None, 2, 2, 0.5, False, False)
    with pytest.raises(RuntimeError, match="beginnings of sequences"):
        forward(query, query, query, aten.zeros(2), None, 2, 2, 0.0, False, False)
    with pytest.raises(RuntimeError, match="custom_mask_type is 0, 1 or 2"):
        aten.ops.aten._efficient_attention_forward(
            query, query, query, None, None, None, None, None, 0.0, 3
        )


@pytest.mark.parametrize("element", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_and_its_gradients(element, is_causal):
    query, key, value = (sample(2, 3, rows, 4, element=element) for rows in (5, 6, 6))
    grad = sample(2, 3, 5, 4, element=element, seed=3)
    limits = {"tolerance": 10 * TOLERANCE[element], "absolute": 10 * TOLERANCE[element]}

    def forward(library, query, key, value, mask):
        name = library.ops.aten._scaled_dot_product_flash_attention_for_cpu
        return name(query, key, value, 0.0, is_causal, attn_mask=mask)

    def backward(library, query, key, value, mask, grad, out, logsumexp):
        name = library.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
        given = grad, query, key, value, out, logsumexp, 0.0, is_causal
        return name(*given, attn_mask=mask, scale=0.3)

    for mask in (None, sample(5, 6, element=element)):
        compare(forward, query, key, value, mask, **limits)
        out, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            query, key, value, 0.0, is_causal, attn_mask=mask, scale=0.3
        )
        operands = query, key, value, mask, grad, out, logsumexp
        compare(backward, *operands, strides=False, **limits)
    compare(forward, query[0], key[0], value[0], None)
    compare(forward, query, key, value, torch.ones(5, 6, dtype=torch.bool))


def test_heads_without_elements_are_scaled_by_nothing():
    for lib in (aten, torch):
        query, key, value = (lib.zeros(2, 3, size, 0) for size in (4, 5, 5))
        flash = lib.ops.aten._scaled_dot_product_flash_attention_for_cpu
        result, sums = flash(query, key, value)
        assert tuple(result.shape) == (2, 3, 4, 0)
        assert tuple(sums.shape) == (2, 3, 4)
