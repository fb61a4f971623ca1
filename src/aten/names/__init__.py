"""Names that are of the package only in a way: old, deferred, of other devices, or absent."""
