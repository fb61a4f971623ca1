"""Captured programs as files: compiled ahead of time, and kept for the next process."""
