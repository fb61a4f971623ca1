"""Matrix products by kernels of our own, attention, recurrent layers, and factorizations."""
