"""What Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163) state, as functions that answer with a verdict.

The modules follow the paper: `bounds` (Sections I to III), `subsets` (IV and VII), `cyclic` (V, VI and the appendices),
`times` (VIII) and `experiment` (IX, X); `all_parameters` reads a table of counted cases. The copy of the paper at hand
has lost most formulas and numbers; a claim that uses a restored or an assumed one says ``assumed=True``.
"""
