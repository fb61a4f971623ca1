"""Random numbers: the engine, and the Generator that holds its state."""
