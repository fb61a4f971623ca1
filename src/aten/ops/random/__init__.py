"""Random numbers, and elements left out at random."""
