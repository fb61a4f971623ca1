"""Floor 2: written by `python -m aten.codegen`; everything but this file is generated."""
