"""The tensor type, put together: what Tensor has besides its compiled part and operators."""
