"""Fourier transforms, and the windows and frames they are taken of."""
