"""The same elements in other shapes and orders: views, pieces, joins."""
