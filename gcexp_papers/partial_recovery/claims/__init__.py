"""What Sarmasarkar, Lalitha, Karamchandani (arXiv 2102.10163) state, as functions that answer with a verdict.

The modules follow the paper: `bounds` (Sections I to III), `subsets` (IV and VII), `cyclic` (V, VI and the appendices),
`times` (VIII) and `experiment` (IX, X). Theorems are tried on every small instance: codes are built and decoded for
every set of stragglers, storages and graphs are listed. The copy of the paper at hand has lost most formulas and
numbers; a claim that uses a restored or an assumed one says ``assumed=True``.
"""
