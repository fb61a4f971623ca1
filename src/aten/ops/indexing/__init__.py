"""Elements by index or mask: picked, placed, added up."""
