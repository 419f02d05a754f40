"""The named functions behind figures that need no training."""
