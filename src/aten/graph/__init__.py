"""Floor 5: programs. The graph IR, the `.pt2` reader, and the interpreter."""
