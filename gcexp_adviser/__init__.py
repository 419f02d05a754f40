"""Advice on recorded times of workers: what makes them slow, and which remedy pays. It stands above `gcexp`."""
