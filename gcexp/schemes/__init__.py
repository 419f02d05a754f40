"""Waiting rules and their composition with a code."""

from gcexp.schemes.scheme import Scheme
from gcexp.schemes.waiting import Decodable, Fastest, WaitingRule

__all__ = ["Decodable", "Fastest", "Scheme", "WaitingRule"]
