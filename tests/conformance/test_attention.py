"""Attention, RMS norm and resized images against torch."""

from __future__ import annotations

import random

import pytest
from comparison import assert_same, compare, torch, translated

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


def test_kernels_of_other_devices():
    query = sample(1, 2, 3, 4)

    def attend(library, query):
        rest = (None, None, None, None, None, 0.0, 0)
        return library.ops.aten._efficient_attention_forward(query, query, query, *rest)

    compare(attend, query)


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
