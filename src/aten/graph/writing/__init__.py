"""From an exported program to a `.pt2` file: the way back of the reader."""
