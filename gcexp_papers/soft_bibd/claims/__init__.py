"""What Sakorikar and Wang (arXiv 2105.05231) state: claims on their figures, and enumerations over small codes.

Codes are matrices A (partitions x workers) as in the paper, with l ones in a column and r in a row; m = n - s workers
answer. The error of a set F of survivors is (1/k) min_w ||A_F w - 1||^2.
"""
