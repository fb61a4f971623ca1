"""How far results are from what was wanted."""
