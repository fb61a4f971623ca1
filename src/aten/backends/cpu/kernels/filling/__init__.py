"""Fresh tensors and what fills them: one value, even steps, random numbers."""
