"""The files of an answer: its facts as JSON, its page as Markdown and HTML, and its pictures."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from gcexp.files import write_text, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gcexp_adviser.page.page import Page


def write(
    folder: Path, name: str, page: Page, text: str, facts: dict[str, Any], pictures: list[Figure]
) -> list[Path]:
    """Write ``name.json``, ``name.md``, ``name.png``, the first picture, and ``name.html``, which has all in it."""
    whole = folder / f"{name}.html"
    of_facts = folder / f"{name}.json"
    of_page = folder / f"{name}.md"
    of_picture = folder / f"{name}.png"
    write_text(of_facts, json.dumps(_plain(facts), indent=1) + "\n")
    write_text(of_page, text)
    images = [drawn(picture) for picture in pictures]
    with written(of_picture) as temporary:
        temporary.write_bytes(images[0])
    write_text(whole, page.whole_html(images))
    return [of_facts, of_page, of_picture, whole]


def drawn(picture: Figure) -> bytes:
    """A picture as PNG."""
    from gcexp.figures import save  # matplotlib is slow to import

    with TemporaryDirectory() as place:
        image = Path(place) / "picture.png"
        save(picture, [image])
        return image.read_bytes()


def _plain(value: Any) -> Any:
    """A value as JSON has it: numbers of numpy become numbers, and what is no number becomes null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
