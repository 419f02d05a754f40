"""Data sets: downloaded and checked once, prepared once as an array file, and loaded by tasks."""

from gcexp.data.load import Dataset, load
from gcexp.data.prepare import prepare
from gcexp.data.sources import datasets

__all__ = ["Dataset", "datasets", "load", "prepare"]
