"""Elements by index or mask: found, taken, picked, weighed."""
