"""Operators that fold dimensions: plans of their walks, and running folds."""
