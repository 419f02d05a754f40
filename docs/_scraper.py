"""Figures of gcexp for the gallery: they belong to no pyplot, so sphinx-gallery does not find them by itself."""

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_SAVED: dict[int, Figure] = {}  # a variable lives on in the blocks behind it


def drawn(block, block_vars, gallery_conf):
    """Save the variable `figure` of a block that made it by `gcexp.plot`."""
    figure = block_vars["example_globals"].get("figure")
    if not isinstance(figure, Figure) or hasattr(figure, "number") or id(figure) in _SAVED:
        return ""
    _SAVED[id(figure)] = figure
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=150, bbox_inches="tight")
    return figure_rst([path], gallery_conf["src_dir"])
