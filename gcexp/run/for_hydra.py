"""What are our options in another Hydra app? Configs of the one group ``gcexp``, as its list of defaults takes them.

The plug-in `hydra_plugins.gcexp_options` hands them to Hydra. An option has there what it has here: a code, an alias or
a trace stands for an option without a file, and ``${n}`` in an option file is ``${gcexp.n}``, since all of a run stands
below one key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gcexp.run.compose import REFERENCE, run_file
from gcexp.run.option_files import SELF, Option, option_of
from gcexp.run.options import GROUPS, Folders, is_option, option_names, search_path

#: The group of all our groups, and the key below which a run stands.
KEY = "gcexp"
#: The config with the values of a run, and the option of each group that it has by default.
RUN = f"{KEY}/run"


@dataclass(frozen=True)
class HydraConfig:
    """What Hydra merges for one of our configs.

    Attributes
    ----------
    values
        Its keys, and Hydra's list of ``defaults``.
    is_global
        Whether the keys are counted from the root of the app's config, and not from the key of the config's group.
    """

    values: dict[str, Any]
    is_global: bool = False


def is_group(path: str) -> bool:
    """Whether a path of Hydra's is one of our groups."""
    return path == KEY or path.startswith(f"{KEY}/") and path.removeprefix(f"{KEY}/") in GROUPS


def is_config(path: str) -> bool:
    """Whether a path of Hydra's is the run or one of our options.

    >>> [is_config(path) for path in ("gcexp/run", "gcexp/scheme/cgc", "gcexp/scheme/cgcc", "scheme/cgc")]
    [True, True, False, False]
    """
    if path == RUN:
        return True
    group, _, option = path.removeprefix(f"{KEY}/").rpartition("/")
    return path.startswith(f"{KEY}/") and group in GROUPS and is_option(group, option, search_path())


def configs_in(path: str) -> list[str]:
    """Names of the configs in one of our groups."""
    if path == KEY:
        return ["run"]
    return option_names(path.removeprefix(f"{KEY}/"))


def config_at(path: str) -> HydraConfig:
    """What stands behind a path for which `is_config` holds.

    >>> config_at("gcexp/delay/ec2_like").values
    {'defaults': ['compute_transmit', '_self_']}
    >>> config_at("gcexp/scheme/cgc").values  # the keys of a scheme are those of a run
    {'defaults': [{'override /gcexp/code': 'cyclic_repetition'}], 'gcexp': {'exact': True}}
    """
    if path == RUN:
        return _config_of_run()
    group, _, name = path.removeprefix(f"{KEY}/").rpartition("/")
    folders = search_path()
    option = option_of(group, name, folders)
    defaults = _layers_of(option, group, folders)
    for other, chosen in option.chosen.items():
        defaults.append({f"override /{KEY}/{other}": chosen})
    values = _with_long_references(option.values)
    if _is_global(option, group):
        return HydraConfig({"defaults": defaults, KEY: values}, is_global=True)
    return HydraConfig({"defaults": defaults, **values[group]})


def _config_of_run() -> HydraConfig:
    values, options = run_file(search_path())
    defaults: list[Any] = []
    for group, option in options.items():
        defaults.append(SELF if group == SELF else {group: option})
    return HydraConfig({"defaults": defaults, **_with_long_references(values)})


def _is_global(option: Option, group: str) -> bool:
    """Whether an option sets other keys than those of its group, as a scheme does."""
    return group == "scheme" or option.values.keys() != {group}


def _layers_of(option: Option, group: str, folders: Folders) -> list[Any]:
    """The options of its group on which an option builds, in Hydra's words."""
    if option.layers == (SELF,):
        return []
    layers: list[Any] = []
    for name in option.layers:
        if (
            name == SELF
            or not _is_global(option, group)
            or _is_global(option_of(group, name, folders), group)
        ):
            layers.append(name)
        else:  # named alone below a global option, it would lie at the root
            layers.append(f"/{KEY}/{group}/{name}@{KEY}.{group}")
    return layers


def _with_long_references(node: Any) -> Any:
    """A node with its references counted from the root of the app's config."""
    if isinstance(node, dict):
        return {key: _with_long_references(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_long_references(value) for value in node]
    if isinstance(node, str):
        return REFERENCE.sub(rf"${{{KEY}.\1}}", node)
    return node
