"""Communication-Computation Efficient Gradient Coding."""
