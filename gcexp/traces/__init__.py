"""Recorded times of workers: what forms a log of them may have, how it becomes one record, and what it lacks."""
