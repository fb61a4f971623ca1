"""Operators that compute every element by itself."""
