"""How `make docs` builds the documentation with Sphinx."""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
os.chdir(HERE.parent)  # options and figures are found from the project's folder

import drawings_page  # noqa: E402
import options_page  # noqa: E402

import gcexp  # noqa: E402
from gcexp.run.options import paper_folders  # noqa: E402

project = "gcexp"
author = copyright = "gcexp developers"
version = release = gcexp.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["examples/*.rst", "examples/README*", "package.md"]

html_theme = "furo"
html_title = "gcexp"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
templates_path = ["_templates"]
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

default_role = "code"  # in numpydoc single backticks are names
autosummary_generate = True
autodoc_typehints = "none"  # docstrings say types, shapes and units
autodoc_member_order = "bysource"
autodoc_default_options = {
    "members": True,
    "ignore-module-all": True,
    "exclude-members": "set",  # which matplotlib writes into every class of drawings, with roles of its own
}  # a name stands in the module that has it
suppress_warnings = [
    "ref.python"
]  # docstrings name parameters and classes as code: a name may mean several things
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": ("matplotlib", "_scraper.drawn"),
    "show_memory": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "reset_modules": (),
}


def write_generated(app):
    """Pages that are made of what they are about, as `gcexp list` is; no list stands anywhere twice."""
    folder = HERE / "generated"
    folder.mkdir(exist_ok=True)
    (folder / "options.md").write_text(options_page.document(), encoding="utf-8")
    (folder / "drawings.md").write_text(drawings_page.document(), encoding="utf-8")
    (folder / "papers").mkdir(exist_ok=True)
    for place in paper_folders().values():
        (folder / "papers" / f"{place.name}.md").write_text(as_page(place), encoding="utf-8")


def as_page(paper):
    """A paper's README with its links as they are from docs/generated/papers; a folder is no page to lead to."""
    here = HERE / "generated" / "papers"

    def moved(link):
        text, place, anchor = link.groups(default="")
        place = paper / place
        return text if place.is_dir() else f"[{text}]({os.path.relpath(place, here)}{anchor})"

    links = r"\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)]*)?\)"
    return re.sub(links, moved, (paper / "README.md").read_text("utf-8"))


def outside(app, name, source):
    """Pages link files beside docs/ as they lie in a clone: what is Markdown there is a file to download here."""
    folder = (HERE / name).parent
    link = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#\s]+\.md)\)")

    def download(found):
        inside = (folder / found[2]).resolve().is_relative_to(HERE)
        return found[0] if inside else f"{{download}}`{found[1]} <{found[2]}>`"

    source[0] = link.sub(download, source[0])


def escape(app, what, name, obj, options, lines):
    """Docstrings are plain text with mathematics: a bar, a star or a trailing underscore is no markup there."""
    for i, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        parts = re.split(r"(``.*?``|`[^`]*`)", line)
        parts[::2] = [re.sub(r"(\|)|(?<=\w)(_)(?=\W|$)", r"\\\1\2", part) for part in parts[::2]]
        lines[i] = "".join(parts)


def setup(app):
    """Hooks."""
    app.connect("builder-inited", write_generated, priority=100)
    app.connect("source-read", outside)
    app.connect("autodoc-process-docstring", escape)
