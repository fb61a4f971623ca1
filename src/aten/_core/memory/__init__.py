"""Memory: how much there is, who keeps it, the storages that own it."""
