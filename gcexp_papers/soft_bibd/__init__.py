"""Soft BIBD and Product Gradient Codes."""
