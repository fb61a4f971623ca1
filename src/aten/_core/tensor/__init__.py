"""A tensor, how it is made of other objects, and what shares its memory."""
