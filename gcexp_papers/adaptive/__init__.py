"""Adaptive Gradient Coding."""
