"""Which drawings are published? A page of all of them, each with its title and the command that makes it."""

from pathlib import Path

from gcexp.report.targets import paper_of, target_files
from gcexp.run.yaml_values import read_yaml

_PUBLISHED = Path("reports/published/figures")
_TOP = """\
# All published drawings

Each as the papers' preset makes it, with its command. `snakemake NAME` makes the same drawing in the quick preset, in
minutes and on embedded data. What a drawing shows, and which statements rest on it, stands on the page of its paper.

"""


def document() -> str:
    """The page, in Markdown, as it lies in docs/generated/."""
    parts = [_TOP]
    paper = ""
    for target, file in target_files().items():
        drawing = _PUBLISHED / f"{target}.png"
        if not drawing.is_file():  # a table
            continue
        if paper_of(file) != paper:
            paper = paper_of(file)
            parts.append(f"## {paper}\n\n")
        title = read_yaml(file)["title"]
        parts.append(f"### {target}\n\n![{title}](../../{drawing})\n\n{title}\n\n")
        parts.append(f"```bash\nsnakemake {target} --config preset=paper\n```\n\n")
    return "".join(parts)
