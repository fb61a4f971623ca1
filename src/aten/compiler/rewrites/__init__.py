"""Graphs that are made from captured ones: `passes` lists in which order."""
