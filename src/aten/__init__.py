"""ATen: tensors, dispatch and operators, written in Python."""
