"""What Buyukates, Ozfatura, Ulukus, Gunduz (arXiv 2011.01922) state, as functions that answer with a verdict.

`clusters` holds what clusters tolerate (Sections I and II), `placing` how workers are placed (III to V), `simulations`
Section VI. The copy of the paper at hand has lost its formulas and numbers; a claim that uses restored or assumed ones
says ``assumed=True``.
"""
