"""Floor 2, for developers: from `native_functions.yaml` and `ops/` to the committed tables.

`python -m aten.codegen` writes them, `python -m aten.codegen --check` says which are stale.
"""
