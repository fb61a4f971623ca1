"""Order: sorting, ranks, searching, what occurs how often."""
