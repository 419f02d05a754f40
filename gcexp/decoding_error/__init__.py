"""Decoding errors of codes for random, given and worst-case sets of stragglers."""
