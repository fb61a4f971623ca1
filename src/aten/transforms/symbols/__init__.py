"""Symbolic sizes: numbers that know their expression, and fake tensors that have such sizes."""

from aten.transforms.symbols.environment import Guard, ShapeEnvironment
from aten.transforms.symbols.numbers import SymFloat, SymInt, sym_max, sym_min

__all__ = ["Guard", "ShapeEnvironment", "SymFloat", "SymInt", "sym_max", "sym_min"]
