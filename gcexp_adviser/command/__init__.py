"""Commands that `gcexp` finds by the entry points ``gcexp.commands``."""
