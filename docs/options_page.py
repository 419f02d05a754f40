"""Which settings does every option have? A page of all options of all groups: their files, with a phrase each."""

from gcexp.command.list import LISTED, listed
from gcexp.figures.markdown import grid
from gcexp.run.options import GROUPS, option_file

_TOP = """\
# All options

Every option of every group, as `gcexp list` names them, with its file: the class that is built, its settings and their
defaults. Write `delay=pareto delay.shape=1.5` on the command line and `delay.shape: 1.5` in a figure file. A default in
`${...}` is the value that the whole run shares. The comment beside a setting or [the API](../api.rst) says what it
means; anything else is refused in one sentence. A scheme has no settings of its own: it chooses options of other
groups, whose settings may be set beside it (`scheme=frc code.d=3`).

"""


def document() -> str:
    """The page, in Markdown."""
    parts = [_TOP]
    kinds = {kind if kind in GROUPS else kind.removesuffix("s"): kind for kind in LISTED}
    for group in GROUPS:
        parts.append(f"## {kinds[group].capitalize()}\n\n")
        for name, phrase in listed(kinds[group]).items():
            text = option_file(group, name).read_text("utf-8")
            parts.append(f"### {name}\n\n{phrase}\n\n```yaml\n{text.rstrip()}\n```\n\n")
    parts.append("## Data sets\n\n")
    parts.append(grid(("name", "what it is"), list(listed("datasets").items())))
    return "".join(parts)
