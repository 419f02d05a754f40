"""What the rules of the workflow call: one module per verb, ``gcexp job VERB``."""
