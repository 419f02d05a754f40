# What a person sees last: what was made and what it says, or which command to repeat.
onsuccess:
    print(closing.ending(config["preset"]), file=sys.stderr)


onerror:
    print(progress.failures(), file=sys.stderr)
