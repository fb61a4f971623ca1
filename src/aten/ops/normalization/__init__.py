"""Values brought to a common scale: along dimensions, over batches and groups."""
