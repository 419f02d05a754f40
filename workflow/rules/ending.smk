# What a person sees last, below what the logger says: what was made and what it says, or which command to repeat.
onsuccess:
    last = [*progress.lines_about_nodes(), end_message.ending(config["preset"], REQUEST.part)]
    atexit.register(print, "\n".join(last), file=sys.stderr)


onerror:
    atexit.register(print, progress.failures(), file=sys.stderr)
