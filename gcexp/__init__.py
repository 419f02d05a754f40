"""Gradient coding experiments: codes, waiting rules, delay models and learning tasks on one simulated clock."""

__version__ = "0.1.0"
