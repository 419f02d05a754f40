"""What Ye and Abbe (ICML 2018) say, as claims: about figures and tables, and over every small code and storage.

The construction is tried in exact fractions, Theorem 1 by ranks over a prime field.
"""
