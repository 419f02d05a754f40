"""Building blocks of codes: combinatorial designs, regular graphs and finite fields."""
