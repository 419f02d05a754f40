# What a person sees last, below what the logger says: what was made and what it says, or which command to repeat.
onsuccess:
    atexit.register(print, end_message.ending(config["preset"], REQUEST.part), file=sys.stderr)


onerror:
    atexit.register(print, progress.failures(), file=sys.stderr)
