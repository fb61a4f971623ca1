"""Floor 4: the devices. Each takes an operator set and runs it its own way."""
