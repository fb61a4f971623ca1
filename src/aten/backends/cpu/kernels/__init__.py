"""The CPU's compiled kernels, by family: each uses `aten._core` and families below it."""
