"""Floor 1: what every eager call runs through. Knows no operator by name."""
