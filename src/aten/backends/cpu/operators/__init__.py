"""Functions that serve operators and primitives on the CPU alone: they read memory of the host."""
