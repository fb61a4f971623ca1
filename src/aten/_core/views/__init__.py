"""Views: tensors over the memory of others, on every device alike."""
