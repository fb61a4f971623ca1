"""Training in half types: regions that convert operands, and losses that are scaled."""

from aten.amp.autocasting import autocast, custom_bwd, custom_fwd, is_autocast_available
from aten.amp.scaling import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
