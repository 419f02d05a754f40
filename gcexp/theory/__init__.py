"""Closed forms of the papers: bounds, order statistics, expected times, error formulas."""
