"""Where options and papers are: the folders of conf/, their files, and YAML as Hydra reads it."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gcexp.errors import UserError, unknown
from gcexp.files import bundled
from gcexp.run.modules import plugins
from gcexp.run.records import unrecorded
from gcexp.schema import quoted, typed

_MOST_VALUES = 100_000  # in one YAML file
#: Groups whose options answer one question each, and keys that the groups of a run share.
GROUPS = ("scheme", "code", "wait", "placement", "loads", "delay", "task", "optimizer")
SHARED = ("n", "s", "overhead", "late", "chunks", "exact")
#: Beside conf/, what makes a folder a project: what its workflow is told.
PROJECT = "config/config.yaml"
#: Where it stood before gcexp 1.0.
_FORMER = "conf/workflow.yaml"
#: Package beside conf/ whose subpackages are papers.
PAPERS = "gcexp_papers"


def conf_dir() -> Path:
    """Folder with run.yaml: $GCEXP_CONF, else ./conf, else the one beside the package."""
    return _conf_dir(os.environ.get("GCEXP_CONF"), os.getcwd())


@cache  # asked for thousands of times while figure files are read
def _conf_dir(named: str | None, _cwd: str) -> Path:
    if named and not (Path(named) / "run.yaml").is_file():
        raise UserError(f"GCEXP_CONF names {named}, which holds no run.yaml: set GCEXP_CONF to a conf folder")
    for folder in (named, "conf", bundled("conf")):
        if folder and (Path(folder) / "run.yaml").is_file():
            return Path(folder).resolve()
    raise UserError(
        "no conf/run.yaml here: run gcexp in the project's folder or set GCEXP_CONF to its conf folder"
    )


def search_dirs() -> list[Path]:
    """conf/ and what joins it: ``hydra.searchpath`` of run.yaml, $GCEXP_SEARCHPATH, this project, papers, plug-ins."""
    return list(folders_of_options(conf_dir(), os.environ.get("GCEXP_SEARCHPATH", ""), os.getcwd()))


@cache
def folders_of_options(conf: Path, extra: str, _cwd: str) -> tuple[Path, ...]:
    """What `search_dirs` gives for conf/, the variable and the working folder."""
    known, here = papers(), project()
    listed = (read_yaml(conf / "run.yaml").get("hydra") or {}).get("searchpath") or []
    folders = [Path(folder) for folder in extra.split(os.pathsep) if folder]
    folders += [here / "conf"] if here else []
    folders += [folder / "conf" for folder in known.values() if (folder / "conf").is_dir()]
    plugged = [f"pkg://{name}" for name in plugins() if name not in known]
    named = [f"file://{folder.resolve()}" for folder in folders]
    return (conf, *map(_place, [*listed, *named, *plugged]))


def _place(entry: str) -> Path:
    """Folder of an entry of Hydra's search path."""
    kind, _, place = str(entry).rpartition("://")
    if (kind, place) == ("pkg", "gcexp.conf"):
        place = str(bundled("conf"))  # a package where gcexp is installed; beside it in a clone
    elif kind == "pkg":
        place = next(iter(_folders_of(place)), "")
    if not place or not Path(place).is_dir():
        raise UserError(
            f"hydra.searchpath names {entry}, which is not a folder (allowed: file://DIR, pkg://PACKAGE)"
        )
    return Path(place).resolve()


def _folders_of(package: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return []
    return list(spec.submodule_search_locations or []) if spec else []


def papers() -> dict[str, Path]:
    """Folder of every paper by the dotted name of its package: a package with a ``paper.yaml``.

    They lie in ``gcexp_papers`` beside conf/, directly in the folder of a project, or the entry point
    ``gcexp.plugins`` names them. Who brings a conf/ with a run.yaml sees none of the papers that come with gcexp.
    """
    conf, here = conf_dir(), project()
    ours = conf == bundled("conf").resolve()
    found = _papers_in(bundled(PAPERS) if ours else conf.parent / PAPERS, f"{PAPERS}.")
    for folder in (conf.parent, here):
        found |= _papers_in(folder) if folder else {}
    for name in plugins():
        for place in _folders_of(name):
            if name not in found and (Path(place) / "paper.yaml").is_file():
                found[name] = Path(place).resolve()
    return found


def _papers_in(folder: Path, package: str = "") -> dict[str, Path]:
    with unrecorded():
        return {f"{package}{path.parent.name}": path.parent for path in sorted(folder.glob("*/paper.yaml"))}


def project() -> Path | None:
    """The working folder, if it is a project of its own: its conf/ adds options and figures and has no run.yaml."""
    conf, told = Path("conf"), Path(PROJECT).is_file()
    if not told and Path(_FORMER).is_file():
        raise UserError(f"{_FORMER} is not read any more: move it to {PROJECT}, its keys are the same")
    ours = conf.is_dir() and not (conf / "run.yaml").is_file() and told
    return Path.cwd() if ours else None


def option_file(group: str, option: str) -> Path:
    """File of one option, in the first folder of the search path that has it."""
    if option not in (known := _files(group)):
        raise UserError(unknown(group, option, known))
    return known[option]


def options(group: str) -> list[str]:
    """Names of a group's options, also those from outside the project."""
    return sorted(_files(group))


def _files(group: str) -> dict[str, Path]:
    """Every option of a group with the first file of its name on the search path."""
    found: dict[str, Path] = {}
    with unrecorded():  # an option counts by its values
        for folder in (folder / group for folder in reversed(search_dirs())):
            if os.path.isdir(folder):
                found |= _options_in(folder, folder.stat().st_mtime_ns)
    return found


@cache  # a folder whose entries change has another time
def _options_in(folder: Path, _changed: int) -> dict[str, Path]:
    return {path.stem: path for path in folder.glob("*.yaml")}


def read_yaml(path: Path) -> dict:
    """A YAML file as a dict, whose values count and not the file; a syntax error becomes a sentence with the line."""
    try:
        with unrecorded():
            text = path.read_text("utf-8")
        loaded = copy.deepcopy(_loaded(text, _Loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark else ""
        raise UserError(f"{path}:{line} not valid YAML ({_problem(error)})") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    if not isinstance(loaded or {}, dict):
        raise UserError(f"{path}: expected keys and values, got a {type(loaded).__name__}")
    return loaded or {}


@cache  # a plan and a sweep read the same few option files and values thousands of times
def _loaded(text: str, loader: type[_Loader]) -> Any:
    return yaml.load(text, Loader=loader)


def read_value(override: str) -> Any:
    """Value of ``KEY=VALUE``: a word as `gcexp.schema.typed` reads it, lists and mappings as YAML spells them."""
    text = override.partition("=")[2]
    try:
        return copy.deepcopy(_loaded(text, _Typed)) if text else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(
            f"{quoted(override)} has a value that is not valid YAML ({_problem(error)})"
        ) from None


def _problem(error: Exception) -> str:
    return getattr(error, "problem", None) or str(error).partition("\n")[0] or type(error).__name__


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as OmegaConf's own loader reads it, six times faster: 1e-3 is a number, a date is text.

    A key given twice, a value within itself and whatever is not plain data are mistakes.
    """

    def construct_document(self, node):
        if (size := _size(node, {})) > _MOST_VALUES:
            problem = f"its aliases spread it to {size} values, {_MOST_VALUES} are allowed"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return self.construct_object(node, deep=True)

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=deep)
            if not isinstance(key, str | int | float | None):
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} is no key", key_node.start_mark)
            if key in seen:
                problem = f"key {key!r} stands twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def _size(node: yaml.Node, known: dict[yaml.Node, int]) -> int:
    """Values that a node stands for, each alias counted as often as it is used."""
    if node not in known:
        known[node] = 1  # within itself: refused when it is constructed
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = itertools.chain(*parts) if isinstance(node, yaml.MappingNode) else parts
        known[node] = 1 + sum(_size(part, known) for part in parts)
    return known[node]


_PLAIN = ("null", "bool", "int", "float", "str", "seq", "map")
_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in _PLAIN}
_Loader.yaml_constructors = {
    tag: make for tag, make in _Loader.yaml_constructors.items() if tag is None or tag in _TAGS
}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:timestamp"]
    for first, known in _Loader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)$|^[-+]?(\d[\d_]*\.[\d_]*|\.\d+)$|^[-+]?\.inf$|^\.nan$"
    ),
    list("-+0123456789."),
)


class _Typed(_Loader):
    """YAML for values of overrides: what stands without quotes is a typed word, as in Hydra's grammar."""


_Typed.yaml_implicit_resolvers = {}
_Typed.add_implicit_resolver("!typed", re.compile(""), None)
_Typed.add_constructor("!typed", lambda _, node: typed(node.value) if node.value else None)
