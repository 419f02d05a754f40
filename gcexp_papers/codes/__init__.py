"""All codes of the library, compared."""
