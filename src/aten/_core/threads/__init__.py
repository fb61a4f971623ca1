"""The threads that share work, what sharing is worth, and forks beside them."""
