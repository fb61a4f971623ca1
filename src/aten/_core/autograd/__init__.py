"""Reverse-mode derivatives: the graph of what was recorded, and the way back through it."""
