"""How answers are shown: the sentences that templates make of facts, and pages as text, Markdown, HTML and JSON."""

from gcexp_adviser.page.files import write
from gcexp_adviser.page.filters import counted, percent, percent_to
from gcexp_adviser.page.page import Page
from gcexp_adviser.page.sentences import paragraphs, phrase

__all__ = ["Page", "counted", "paragraphs", "percent", "percent_to", "phrase", "write"]
