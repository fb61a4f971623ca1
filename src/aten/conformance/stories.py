"""Which shapes and values go together in a call, told by the names of a schema's arguments.

A story is a line of words:

    self:n.m        a tensor (or every one of a list) of n×m elements; n and m are drawn once a call
    index:n.2k/i    a factor; a kind of values after the slash: see `KINDS`
    hx:h,h          a list of tensors of these shapes
    size=n.m        a list of numbers; `groups=2` one number; `mode='mean'` a word; `weight=-` None

It serves every overload that has arguments of all these names, so none is named here. Tensors that
a story does not name have the shape of the first one that it names.
"""

from __future__ import annotations

import random
import re
from typing import Any

# What values of a tensor may be, beside those that the call draws for all of its tensors.
KINDS = {
    "i": "int64 from 0 to below the smallest size of the call",
    "p": "int32 from 1 to the smallest size: pivots",
    "z": "int64 zeros",
    "o": "int64 ones",
    "b": "bool",
    "u": "from 0 to 1",
    "r": "rising in the last dimension",
    "d": "positive definite matrices",
    "f": "of the call's dtype made real",
    "s": "1 and -1",
    "a": "int64 0, 1, 2, …: offsets, permutations",
}

_LINES = """
self:n.n other:n.n
self:n.m other:m.k
self:n.m mat2:m.k
self:n.k mat1:n.m mat2:m.k
self:k mat1:n.m mat2:m.k
self:n mat:n.m vec:m
self:n.m vec1:n vec2:m
self:n vec2:m
self:n.m vec:m
self:n tensor:n
self:n.k batch1:b.n.m batch2:b.m.k
self:b.n.k batch1:b.n.m batch2:b.m.k
self:b.n.m mat2:b.m.k
self:b.3 other:b.3 dim=-1
self:2.b.3 other:2.b.3 dim=2
x:n.3 y:n.3
tensors:n.m
tensors:n
tensors:n.3.2
tensors:n.m,m.k equation='ij,jk->ik'
tensors:n.m,n.m equation='ij,ij->i'
tensors:n.m equation='ij->ji'
matrices:n.n
matrices:n.m,m.k
A:n.n B:n.k
A:n.n/d B:n.k
A:n.m
A:n.n
A:n.n/d
A:2.n.n/d
self:n.n
self:n.n/d
self:2.n.n/d
self:n.k A:n.n/d
self:n.k input2:n.n/d
self:n.m b:n.k
self:n.m b:n
self:n.k LU_data:n.n/d LU_pivots:n/p
LU_data:n.n/d LU_pivots:n/p
LU:n.n/d pivots:n/p B:n.k
LD:n.n/d pivots:n/p B:n.k
A:n.n/d x:n.k
input:n.m tau:m
input:9.5 tau:5
self:9.5 input2:5
self:9.5 input2:5 input3:9.k left=1
x1:n.m x2:k.m
input:n.m weight:k.m bias:k
input:n.m weight:k.m
input1:n.m input2:n.k weight:o.m.k bias:o
input:2.c.t weight:o.c.3 bias:o groups=1 stride=1 padding=1 dilation=1
input:2.c.t weight:o.c.3 bias:o groups=1
input:2.c.t weight:o.c.3 bias:o groups=1 padding='same' stride=1
input:2.4.t weight:6.2.3 bias:6 groups=2 stride=1 padding=1 dilation=1
input:2.c.h.w weight:o.c.3.2 bias:o groups=1
input:2.c.h.w weight:o.c.3.2 bias:o groups=1 padding='same' stride=1
input:2.4.h.w weight:6.2.1.2 bias:6 groups=2 stride=1.1
input:2.c.4.h.w weight:o.c.3.2.1 bias:o groups=1
input:2.c.4.h.w weight:o.c.3.2.1 bias:o groups=1 padding='same' stride=1
input:2.c.t weight:c.o.3 bias:o groups=1 output_padding=0
input:2.c.h.w weight:c.o.3.2 bias:o groups=1 output_padding=0.0
input:2.c.4.h.w weight:c.o.3.2.1 bias:o groups=1 output_padding=0.0.0
input:2.c.t weight:o.c.3 bias:o stride=1 padding=1 dilation=1 transposed=0 output_padding=0 \
groups=1
input:2.c.h.w weight:o.c.3.3 bias:o stride=2.1 padding=1.1 dilation=1.1 transposed=0 \
output_padding=0.0 groups=1
input:2.c.h.w weight:c.o.3.3 bias:o stride=2.1 padding=1.1 dilation=1.1 transposed=1 \
output_padding=1.0 groups=1
input:2.c.h.w weight:o.c.3.3 bias:o stride=1.1 padding='same' dilation=1.1 groups=1
grad_output:2.o.h.w input:2.c.h.w weight:o.c.3.3 bias_sizes=o stride=1.1 padding=1.1 \
dilation=1.1 transposed=0 output_padding=0.0 groups=1
grad_output:2.o.t input:2.c.t weight:o.c.3 bias_sizes=o stride=1 padding=1 dilation=1 \
transposed=0 output_padding=0 groups=1
self:t.n.c weight:3.c.o bias:o
self:2.c.h.w weight:o.c.3.2 kernel_size=3.2 bias:o
self:2.c.h.w
self:c.h.w
self:2.c.4.h.w
self:c.4.h.w
self:2.c.t
self:c.t
input:2.c.t
input:2.c.h.w
input:2.c.4.h.w
input:2.c.h.w output_size=5.4 scale_factors=-
input:2.c.t output_size=5 scale_factors=-
input:2.c.3.h.w output_size=3.5.4 scale_factors=-
self:2.c.h.w output_size=5.4
self:2.c.h.w kernel_size=2.2
self:2.c.h.w kernel_size=2.2 output_size=2.2 random_samples:2.c.2/u
self:2.c.3.h.w kernel_size=2.2.2 output_size=1.2.2 random_samples:2.c.3/u
self:2.c.h.w indices:2.c.h.w/i output_size=70.70
self:2.c.3.h.w indices:2.c.3.h.w/i output_size=6.70.70 stride=1.1.1 padding=0.0.0
grad_output:2.c.2h.2w self:2.c.4h.4w kernel_size=2.2 stride=2.2 padding=0.0 dilation=1.1
grad_output:2.c.2h.2w self:2.c.4h.4w kernel_size=2.2 stride=2.2 padding=0.0
grad_output:2.c.2h.2w self:2.c.4h.4w kernel_size=2.2 stride=2.2 padding=0.0 dilation=1.1 \
indices:2.c.2h.2w/i
grad_output:2.c.2.2h.2w self:2.c.4.4h.4w kernel_size=2.2.2 stride=2.2.2 padding=0.0.0
grad_output:2.c.2.2h.2w self:2.c.4.4h.4w kernel_size=2.2.2 stride=2.2.2 padding=0.0.0 \
dilation=1.1.1 indices:2.c.2.2h.2w/i
grad_output:2.c.2.2 self:2.c.h.w
grad_output:2.c.2.2.2 self:2.c.4.h.w
grad_output:2.c.2.2 self:2.c.h.w indices:2.c.2.2/i
grad_output:2.c.2.2.2 self:2.c.4.h.w indices:2.c.2.2.2/i
grad_output:2.c.2h.2w output_size=2h.2w input_size=2.c.h.w
self:2.6.t kernel_size=2.3 output_size=2.3 dilation=1.1 padding=0.0 stride=1.1
self:2.6.12 kernel_size=2.3 output_size=4.6 dilation=1.1 padding=0.0 stride=1.1
self:2.c.7.9 kernel_size=2.3 dilation=1.1 padding=0.1 stride=1.2
self:2.4c.h.w upscale_factor=2
self:2.c.2h.2w downscale_factor=2
self:2.4c.h.w groups=2
self:2.c.t pad=1.2
self:2.c.h.w pad=1.0.0.1
self:2.c.h.w pad=1.0.0.1 mode='reflect'
self:2.c.t pad=1.2 mode='replicate'
self:2.c.9.9 padding=1.2.0.1
self:2.c.9 padding=1.2
self:2.c.9.9.9 padding=1.2.0.1.3.1
self:2.c.h.w pad=0.1.1.0
input:2.c.h.w grid:2.k.m.2
input:2.c.3.h.w grid:2.k.m.2.3
grad_output:2.c.k.m input:2.c.h.w grid:2.k.m.2
grad_output:2.c.2.k.m input:2.c.3.h.w grid:2.2.k.m.3
theta:2.2.3 size=2.c.h.w
theta:2.3.4 size=2.c.3.h.w
input:2.c.h.w weight:c running_mean:c running_var:c/u bias:c
input:2.c weight:c running_mean:c running_var:c/u bias:c
input:2.c.h.w weight:c bias:c
input:2.c.h weight:c bias:c
input:2.4.h weight:4 bias:4 num_groups=2
input:2.4.h weight:4 bias:4 N=2 C=4 HxW=h group=2
input:n.m.k normalized_shape=k weight:k bias:k
input:n.m.k normalized_shape=m.k weight:m.k bias:m.k
input:n.m.k normalized_shape=k weight:k
weight:n.m indices:k/i
weight:n.m indices:k.l/i
weight:n.m indices:l/i offsets:1/z mode=0 per_sample_weights=-
grad:2.k indices:m/z offset2bag:m/z bag_size:2/o maximum_indices:2.k/z num_weights=3 mode=0 \
per_sample_weights=-
grad:2.k indices:m/z offset2bag:m/z bag_size:2/o maximum_indices:2.k/z num_weights=3 mode=1 \
per_sample_weights=-
grad:2.k indices:m/z offset2bag:m/z bag_size:2/o maximum_indices:2.k/z num_weights=3 mode=2 \
per_sample_weights=-
grad:2.k weight:3.k indices:m/z offset2bag:m/z mode=0
weight:n.m indices:l/i offsets:1/z mode=2 per_sample_weights=- padding_idx=0
weight:n.m indices:l.3/i offsets=- mode=1 per_sample_weights=-
weight:n.m indices:l/i offsets:1/z mode=0 per_sample_weights:l
self:n.m indices:k/i max_norm=1 norm_type=2
self:n.c target:n/i weight:c
self:n.c target:n/i
self:c target:1/i
self:n.c.h target:n.h/i weight:c
self:n.c.h.w target:n.h.w/i weight:c
self:n.c target:n.c/i
self:n target:n
self:n target:n/s
self:n.m target:n.m/u
self:n/u target:n/u
self:n.m/u target:n.m/u weight:n.m
self:n.m target:n.m/u weight:n.m pos_weight:m
input1:n.m input2:n.m target:n/s
input1:n.m input2:n.m target:n.m/s
input:n.m target:n.m
grad_output:n.c self:n.c target:n/i weight:c total_weight:1
anchor:n.m positive:n.m negative:n.m
log_probs:t.2.9 targets:2.3/o input_lengths=t.t target_lengths=1.1 blank=0
log_probs:t.2.9 targets:2.3/o input_lengths:2/o target_lengths:2/o blank=0
query:2.3.n.k key:2.3.m.k value:2.3.m.k
query:2.3.n.k key:2.3.m.k value:2.3.m.k attn_mask:n.m
query:2.3.n.k key:2.3.m.k value:2.3.m.k bias=- cu_seqlens_q=- cu_seqlens_k=- custom_mask_type=0
query:2.n.3.8 key:2.n.3.8 value:2.n.3.8 cum_seq_q=- cum_seq_k=- dropout_p=0
grad_out:2.3.n.k query:2.3.n.k key:2.3.m.k value:2.3.m.k out:2.3.n.k logsumexp:2.3.n
src:n.m mask:n.m/b
input:t.n.c hx:1.n.h params:h.c,h.h,h,h has_biases=1 num_layers=1 bidirectional=0 batch_first=0
input:t.n.c hx:1.n.h params:3h.c,3h.h,3h,3h has_biases=1 num_layers=1 bidirectional=0 \
batch_first=0
input:t.n.c hx:1.n.h,1.n.h params:4h.c,4h.h,4h,4h has_biases=1 num_layers=1 bidirectional=0 \
batch_first=0
input:n.t.c hx:1.n.h,1.n.h params:4h.c,4h.h has_biases=0 num_layers=1 bidirectional=0 \
batch_first=1
data:4.c batch_sizes:4/o hx:1.1.h params:h.c,h.h,h,h has_biases=1 num_layers=1 bidirectional=0
data:4.c batch_sizes:4/o hx:1.1.h params:3h.c,3h.h,3h,3h has_biases=1 num_layers=1 bidirectional=0
data:4.c batch_sizes:4/o hx:1.1.h,1.1.h params:4h.c,4h.h,4h,4h has_biases=1 num_layers=1 \
bidirectional=0
input:n.c hx:n.h w_ih:h.c w_hh:h.h b_ih:h b_hh:h
input:n.c hx:n.h w_ih:3h.c w_hh:3h.h b_ih:3h b_hh:3h
input:n.c hx:n.h,n.h w_ih:4h.c w_hh:4h.h b_ih:4h b_hh:4h
input:4.c batch_sizes:4/o
self:n.m index:k/i dim=0
self:n.m index:k/i dim=0 source:k.m
self:n.m index:k/i dim=1 source:n.k
self:n index:k/i dim=0 value:
self:n.m index:n.m/i src:n.m
self:n.m index:k/i
self:n.m index:k/i source:k
self:n.m indices:k/i values:k.m
self:n.m indices:k/i,k/i values:k
self:n.m indices:k/i
self:n.m indices:n.m/b
self:n.m mask:n.m/b source:n.m
self:n.m mask:k/b indices:k/i values:k.m
self:n.m mask:n.m/b value:
self:n.m indices:n.m/i
self:n.m src:m dim=0 index=0
self:n.m src:n dim=1 index=-1
self:n.n src:n offset=0 dim1=0 dim2=1
self:n.m src:n.m size=n.m stride=m.1 storage_offset=0
self:n.m src:k.m dim=0 start=0 end=k step=1
self:n.m size=n.m
self:n.m size=m.n
self:n.m shape=m.n
self:n.1 size=n.m
self:n.m size=1.m
self:n.m size=n.m stride=m.1 storage_offset=0
self:n.m size=n.m stride=m.1
size=n.m stride=m.1
size=n.m physical_layout=1.0
size=n.m
self:n.m sizes=n.1 dim=0
self:n.m sizes=1.m dim=1
self:n.m split_sizes=1.n-1 dim=0
self:n.m split_size=1.n-1 dim=0
self:n.m.k dims=2.0.1
self:n.m dims=1.0
self:n.m source=0.1 destination=1.0
self:n.m.k dim=0 length=1 start=0
self:n.m start:/z dim=0 length=1
self:4n.4m.4k sections=2
self:4n indices=1.2
self:4n.4m.4k indices=1.3
self:4n.4m tensor_indices_or_sections:/o
self:4n.4m tensor_indices_or_sections:2/a
self:n.m other:k.m dims_self=1 dims_other=1
self:n.2m
self:n.2/f
self:
self:/u
self:n
self:n/u
self:n/i
self:n.m/i
self:n.m/u
self:n/b
self:n/i weights:n
self:n.m dims=1
self:n.m/u num_samples=1
self:n.m num_samples=1
self:n.m boundaries:k/r
boundaries:k/r
sorted_sequence:k/r self:n.m
sorted_sequence:k/r self:n.m sorter:k/a
sorted_sequence:k/r
self:n.m q:k/u
self:n.m q:/u
self:n.m bins:k/r weight:n.m
self:n.m bins:k/r
self:n.2 bins=3.4
self:n.2 bins=3
self:n.2 bins:k/r,l/r
self:n.m bins=5 min=-1 max=1
self:n.m spacing:n,m dim=0.1
self:n.m spacing:n/r dim=0
self:4n.4m spacing=1.2 dim=0.1
self:4n.4m dim=0.1
y:n.m x:n.m/r
y:n.m x:m/r
data:n.m lengths:1/o axis=0 reduce='sum' indices=- offsets=- unsafe=1
data:1.m lengths:1/o axis=0 indices=- offsets=-
data:n.m offsets:2/a axis=0 lengths=- indices=- unsafe=1
data:1.m offsets:2/a axis=0 lengths=- indices=-
self:n fweights:n/o aweights:n/u
self:n.m fweights:m/o aweights:m/u
self:n.m repeats:n/o dim=0
repeats:n/o
self:n.m repeats=1.2
self:40 n_fft=8 hop_length=4 win_length=8 window:8 return_complex=1
self:2.40 n_fft=8 hop_length=4 win_length=8 window:8 return_complex=1
self:5.7 n_fft=8 hop_length=4 win_length=8 window=- length=- onesided=1
self:2.n.m dim=1.2
self:n.m.k dim=0.1
self:n.m dim=0 last_dim_size=n
self:n.m last_dim_size=m dim=1
self:n.c weight:c
grad_output:n.c self:n.c weight:c
v:n.m g:n.1 dim=0
grad_w:n.m saved_v:n.m saved_g:n.1 saved_norms:n.1 dim=0
A:n.m ind=1
self:2.2.n.n ind=2
self:2.3.6 ind=2
self:2.3.6 dims=-
self:6.6 ind=1
self:2.3.6 other:2.3 dims=-
self:n.m edge_order=1
self:n.m low=0 high=7
self:n.m high=7
self:n.m high:/o
high=9 size=n.m
low=-2 high=9 size=n.m
n=n
window_length=n
start=0 end=n
start=0 end=n step=1
end=n
start:/z end:/o steps=n
start=0 end:/o steps=n
start:/z end=1 steps=n
row=n col=m
self:n.m from=0 to=9
self:n.m/u prob:n.m/u
count:n.m/f prob:n.m/u
mean:n.m std:n.m/u
mean=0 std:n.m/u
mean=0 std=1 size=n.m
self:n.m p:n.m/u
self:n.m p=0.5
input:n.m p=0.5
self:n.m dtype=-
condition:n.m/b self:n.m other:n.m
condition:n.m/b self:n.m
condition:n.m/b other:n.m
condition:n.m/b
self:n.m/b dep_token:
self:/o
self:n.m physical_layout=1.0
self:n.m normalized_shape=m
self:n.m.k dim0=0 dim1=1
input:n.m norm_type=2
self:n.m maxnorm=1 p=2 dim=0
tensors:n.m num_chunks=2 dim=0
self:n.m the_template:k.m
self:n.m other:k
self:n.m info:n/z
x:n increasing=1
x:n
self:n.3
a:n.m size=- stride=- dtype=- device=- layout=-
self:n.m output_size=-
source=-
"""

_TENSOR = re.compile(r"(\w+):(\S*)")
_NUMBER = re.compile(r"(\w+)=(\S+)")
_SIZE = re.compile(r"(-?\d*)([a-z]?)([-+]\d+)?")
# Sizes that a letter may stand for where a story has this many of them.
_MOST = {0: 70, 1: 70, 2: 70, 3: 18, 4: 9, 5: 6, 6: 5, 7: 4}


class Story:
    """One line; see the head of the file. `rank`: without names, of all tensors alike."""

    def __init__(self, line: str, rank: int | None = None) -> None:
        self.line = line
        self.rank = rank
        self.shapes: dict[str, list[tuple[list[str], str]]] = {}
        self.values: dict[str, str] = {}
        for word in line.split():
            if "=" in word:
                name, text = _NUMBER.fullmatch(word).groups()  # type: ignore[union-attr]
                self.values[name] = text
                continue
            name, text = _TENSOR.fullmatch(word).groups()  # type: ignore[union-attr]
            self.shapes[name] = [_shape(one) for one in text.split(",")]

    def serves(self, names: set[str]) -> bool:
        return names.issuperset(self.shapes) and names.issuperset(self.values)


def _shape(text: str) -> tuple[list[str], str]:
    dims, _, kind = text.partition("/")
    assert not kind or kind in KINDS, text
    return [one for one in dims.split(".") if one], kind


STORIES = [Story(line) for line in _LINES.strip().splitlines()]
STORIES += [Story("", rank) for rank in range(6)]


class Sizes:
    """What the letters of one call stand for."""

    def __init__(self, story: Story, source: random.Random) -> None:
        words = [dim for shapes in story.shapes.values() for dims, _ in shapes for dim in dims]
        words += [
            dim for text in story.values.values() if "'" not in text for dim in text.split(".")
        ]
        letters = sorted({letter for word in words if (letter := _SIZE.match(word)[2])})  # type: ignore[index]
        most = _MOST[min(story.rank if story.rank is not None else len(letters), 7)]
        self._of = {letter: source.randint(1, most) for letter in letters}
        if letters and source.random() < 0.03:
            self._of[source.choice(letters)] = 0
        self._random, self._most = source, most

    def size(self, word: str) -> int:
        factor, letter, more = _SIZE.fullmatch(word).groups()  # type: ignore[union-attr]
        value = int(factor) if factor not in ("", "-") else 1
        return value * (self._of[letter] if letter else 1) + int(more or 0)

    def shape(self, dims: list[str]) -> list[int]:
        return [self.size(dim) for dim in dims]

    def any_shape(self, rank: int) -> list[int]:
        shape = [self._random.randint(1, self._most) for _ in range(rank)]
        if shape and self._random.random() < 0.03:
            shape[self._random.randrange(rank)] = 0
        return shape

    def value(self, text: str, is_list: bool) -> Any:
        if text == "-":
            return None
        if text.startswith("'"):
            return text.strip("'")
        numbers = [self.size(word) for word in text.split(".")]
        return numbers if is_list else numbers[0]
