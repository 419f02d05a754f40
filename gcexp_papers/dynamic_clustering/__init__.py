"""Gradient Coding with Dynamic Clustering for Straggler Mitigation."""
