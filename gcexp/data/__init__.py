"""The data sets: fetched and checked once, prepared once into an array file, loaded by tasks."""

from gcexp.data.load import Dataset, load
from gcexp.data.prepare import prepare
from gcexp.data.sources import datasets

__all__ = ["Dataset", "datasets", "load", "prepare"]
