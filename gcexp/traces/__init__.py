"""Recorded times of workers: the record, the one file that holds it, what it lacks, and recordings of real runs."""
