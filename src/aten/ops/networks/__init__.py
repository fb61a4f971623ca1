"""Layers of networks that are none of the other families."""
