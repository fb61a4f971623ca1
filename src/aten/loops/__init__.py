"""Floor 3: Loop IR, from Prims graphs to fused loop nests."""
