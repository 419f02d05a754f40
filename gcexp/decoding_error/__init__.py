"""How far from the gradient is what a code decodes? Errors against random, given and worst sets of stragglers."""
