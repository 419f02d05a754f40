"""What Cao, Yan, Tang, Han (arXiv 2006.04845) say, as claims: about figures and tables, and over every small instance.

Costs, ranks and determinants are exact. What the paper says "with probability 1" is tried on random draws, and expected
times are sums over the restart chain.
"""
