"""Operators that fold dimensions: sums, scans, counts, statistics, distances."""
