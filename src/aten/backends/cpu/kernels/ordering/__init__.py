"""Sorting, ranking and choosing by rank."""
