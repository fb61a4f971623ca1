"""Functions over batches: the key FuncTorchBatched, and the rule by which operators serve it."""

from aten.transforms.batching.mapping import vmap
from aten.transforms.batching.wrapping import Batched, batched, level_of, value_of

__all__ = ["Batched", "batched", "level_of", "value_of", "vmap"]
