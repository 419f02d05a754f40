"""On Gradient Coding with Partial Recovery."""
