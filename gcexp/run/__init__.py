"""One run: what it is, and what its result depends on."""
