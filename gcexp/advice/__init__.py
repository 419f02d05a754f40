"""What makes workers slow, and what to do about it: answers to a person's own recorded times."""
