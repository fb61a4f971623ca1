"""A call: its arguments, the operator's row, and the kernel that answers."""
