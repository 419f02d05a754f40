"""Which settings does every option have? A page of all options of all groups: their files, with a phrase each."""

import yaml

from gcexp.command.list import LISTED, group_of, list_names
from gcexp.figures.markdown import grid
from gcexp.run.option_files import option_of
from gcexp.run.options import GROUPS, aliases, option_file, search_path

_TOP = """\
# All options

Every option of every group, as `gcexp list` names them, with its file: the class that is built, its settings and their
defaults. Write `delay=pareto delay.shape=1.5` on the command line and `delay.shape: 1.5` in a figure file. A default in
`${...}` is the value that the whole run shares. The comment beside a setting or [the API](../api.rst) says what it
means; anything else is refused in one sentence. A scheme has no settings of its own: it chooses options of other
groups, whose settings may be set beside it (`scheme=frc code.d=3`). Every code is also a scheme, and every trace in
`data/traces/` a delay model, without a file; behind a name that papers use stands the other name of the same option.

"""


def document() -> str:
    """The page, in Markdown."""
    parts = [_TOP]
    kinds = {group_of(kind): kind for kind in LISTED}
    for group in GROUPS:
        parts.append(f"## {kinds[group].capitalize()}\n\n")
        others = aliases(group)
        for name, phrase in list_names(kinds[group]).items():
            heading = f"{name} ({others[name]})" if name in others else name
            parts.append(f"### {heading}\n\n{phrase}\n\n```yaml\n{_text(group, name)}\n```\n\n")
    parts.append("## Data sets\n\n")
    parts.append(grid(("name", "what it is"), list(list_names("datasets").items())))
    return "".join(parts)


def _text(group: str, name: str) -> str:
    """The file of an option; of a delay model without one what the file would say."""
    path = option_file(group, name)
    if path.suffix == ".csv":
        trace = option_of(group, name, search_path())
        return yaml.safe_dump({"defaults": ["trace"], **trace.values[group]}, sort_keys=False).rstrip()
    return path.read_text("utf-8").rstrip()
