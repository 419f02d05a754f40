"""One folder per reproduced paper: figures, printed numbers, statements, analyses and tests."""
