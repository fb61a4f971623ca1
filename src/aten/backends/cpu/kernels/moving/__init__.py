"""Elements from place to place: the walk over operands, copies, other orders, joins."""
