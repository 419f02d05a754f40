"""Where are options and papers? The folders of conf/, their files, and what stands for an option without a file."""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from gcexp.errors import UserError, unknown
from gcexp.files import bundled
from gcexp.run.modules import plugins
from gcexp.run.yaml_values import mapping_in, read_text
from gcexp.schema import fitted

#: Groups whose options answer one question each, and keys that the groups of a run share.
GROUPS = ("scheme", "code", "wait", "placement", "loads", "delay", "task", "optimizer")
SHARED = ("n", "s", "overhead", "late", "chunks", "exact", "bound", "decodes")
#: Beside conf/, what makes a folder a project: what its workflow is told.
PROJECT = "config/config.yaml"
#: Package beside conf/ whose subpackages are papers.
PAPERS = "gcexp_papers"
#: Folder of traces, of ours and of a person's own; each CSV file in it is a delay model.
TRACES = "data/traces"

#: Folders in which options are looked for, the first one first.
Folders = tuple[str, ...]
_Read = TypeVar("_Read")
_RECENT_NS = 100_000_000  # two edits in this time may leave the same time at a file


def _while_unchanged(read: Callable[[str], _Read]) -> Callable[[str], _Read]:
    """What `read` says of a file or folder, kept until the file or folder has another time or size."""

    @cache
    def kept(path: str, _modified: int, _size: int) -> _Read:
        return read(path)

    @wraps(read)
    def current(path: str) -> _Read:
        state = os.stat(path)
        if time.time_ns() - state.st_mtime_ns < _RECENT_NS:
            return read(path)
        return kept(path, state.st_mtime_ns, state.st_size)

    return current


@_while_unchanged
def text_of(file: str) -> str:
    """The text of an option file."""
    return read_text(Path(file))


@_while_unchanged
def _yaml_files_in(folder: str) -> dict[str, str]:
    """The YAML files of a folder by their names without the ending."""
    found = {}
    for name in os.listdir(folder):
        if name.endswith(".yaml"):
            found[name.removesuffix(".yaml")] = f"{folder}/{name}"
    return found


@_while_unchanged
def _csv_files_in(folder: str) -> list[str]:
    """Names of the CSV files of a folder."""
    return [name for name in os.listdir(folder) if name.endswith(".csv")]


@_while_unchanged
def _folders_in(folder: str) -> list[str]:
    """Folders that are not hidden."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(".") and entry.is_dir():
                found.append(entry.path)
    return sorted(found)


# --- Folders


def conf_dir() -> Path:
    """Folder with run.yaml: $GCEXP_CONF, else ./conf, else the one beside the package."""
    return Path(_conf_dir())


def _conf_dir() -> str:
    given = os.environ.get("GCEXP_CONF")
    if given and not os.path.isfile(f"{given}/run.yaml"):
        raise UserError(f"GCEXP_CONF names {given}, which holds no run.yaml: set GCEXP_CONF to a conf folder")
    for folder in (given, "conf", _bundled_path("conf")):
        if folder and os.path.isfile(f"{folder}/run.yaml"):
            return _absolute_path(folder, os.getcwd())
    raise UserError(
        "no conf/run.yaml here: run gcexp in the project's folder or set GCEXP_CONF to its conf folder"
    )


@cache
def _bundled_path(name: str) -> str:
    return str(bundled(name))


@cache
def _absolute_path(folder: str, _working_folder: str) -> str:
    """The absolute path of a folder, links followed."""
    return str(Path(folder).resolve())


def search_dirs() -> list[Path]:
    """conf/ and what joins it: ``hydra.searchpath`` of run.yaml, $GCEXP_SEARCHPATH, this project, papers, plug-ins."""
    return [Path(folder) for folder in search_path()]


def search_path() -> Folders:
    """The folders of `search_dirs` as texts: a composition asks once, and looks for all of its options there."""
    here = os.getcwd()
    conf = _conf_dir()
    found = [conf]
    run_file = f"{conf}/run.yaml"
    run = mapping_in(run_file, text_of(run_file))
    hydra = run.get("hydra") or {}
    for entry in hydra.get("searchpath") or []:
        found.append(_listed_folder(str(entry), here))
    for folder in os.environ.get("GCEXP_SEARCHPATH", "").split(os.pathsep):
        if folder:
            found.append(_existing_folder(folder, f"file://{folder}", here))
    if _is_project():
        found.append(_absolute_path("conf", here))
    papers_found = _papers(conf)
    for folder in papers_found.values():
        if os.path.isdir(f"{folder}/conf"):
            found.append(_absolute_path(f"{folder}/conf", here))
    for name in plugins():
        if name not in papers_found:
            folder = _listed_folder(f"pkg://{name}", here)
            if os.path.isdir(f"{folder}/conf"):  # a package with options; else the folder of options itself
                folder = f"{folder}/conf"
            found.append(folder)
    return tuple(found)


def _listed_folder(entry: str, here: str) -> str:
    """Folder of an entry of Hydra's search path, such as ``pkg://gcexp.conf``."""
    kind, _, place = entry.rpartition("://")
    if (kind, place) == ("pkg", "gcexp.conf"):
        place = _bundled_path("conf")  # a package where gcexp is installed; beside it in a clone
    elif kind == "pkg":
        place = next(iter(_folders_of(place)), "")
    return _existing_folder(place, entry, here)


def _existing_folder(folder: str, entry: str, here: str) -> str:
    if not folder or not os.path.isdir(folder):
        raise UserError(
            f"hydra.searchpath names {entry}, which is not a folder (allowed: file://DIR, pkg://PACKAGE)"
        )
    return _absolute_path(folder, here)


def _folders_of(package: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return []
    if spec is None or spec.submodule_search_locations is None:
        return []
    return list(spec.submodule_search_locations)


def paper_folders() -> dict[str, Path]:
    """Folder of every paper by the dotted name of its package: a package with a ``paper.yaml``.

    They lie in ``gcexp_papers`` beside conf/, directly in the folder of a project, or the entry point
    ``gcexp.plugins`` names them. Who brings a conf/ with a run.yaml sees none of the papers that come with gcexp.
    """
    return {package: Path(folder) for package, folder in _papers(_conf_dir()).items()}


def packages_without_paper() -> dict[str, Path]:
    """Packages with figure files where papers lie that have no ``paper.yaml``, by their dotted names."""
    found = {}
    for package, place in _places_of_papers(_conf_dir()):
        folder = Path(place)
        is_package = (folder / "__init__.py").is_file()
        if is_package and not (folder / "paper.yaml").is_file() and any(folder.glob("figures/*.yaml")):
            found[package] = folder
    return found


def _papers(conf: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for package, place in _places_of_papers(conf):
        if package not in found and os.path.isfile(f"{place}/paper.yaml"):
            found[package] = place
    return found


def _places_of_papers(conf: str) -> list[tuple[str, str]]:
    """Folders that may be papers, with the dotted names of their packages."""
    beside_conf = os.path.dirname(conf)
    if conf == _absolute_path(_bundled_path("conf"), os.getcwd()):
        found = _packages_in(_bundled_path(PAPERS), f"{PAPERS}.")
    else:
        found = _packages_in(f"{beside_conf}/{PAPERS}", f"{PAPERS}.")
    found += _packages_in(beside_conf)
    if _is_project():
        found += _packages_in(os.getcwd())
    for name in plugins():
        found += [(name, str(Path(place).resolve())) for place in _folders_of(name)]
    return found


def _packages_in(folder: str, package: str = "") -> list[tuple[str, str]]:
    if not os.path.isdir(folder):
        return []
    return [(f"{package}{os.path.basename(place)}", place) for place in _folders_in(folder)]


def project() -> Path | None:
    """The working folder, if it is a project of its own: its conf/ adds options and figures and has no run.yaml."""
    return Path.cwd() if _is_project() else None


def _is_project() -> bool:
    return os.path.isfile(PROJECT) and os.path.isdir("conf") and not os.path.isfile("conf/run.yaml")


# --- Options


def option_file(group: str, option: str, folders: Folders | None = None) -> Path:
    """The file behind an option: its own, or that of the code or the trace that stands for it.

    A caller that asks for many options passes the `search_path`, so that it is looked up once.
    """
    if folders is None:
        folders = search_path()
    own = own_file(group, option, folders)
    if own is not None:
        return Path(own)
    if group == "scheme":
        code = code_behind(option, folders)
        if code is not None:
            return Path(str(own_file("code", code, folders)))
    if group == "delay":
        trace = trace_behind(option, folders)
        if trace is not None:
            return Path(trace)
    raise no_option(group, option)


def no_option(group: str, name: str) -> UserError:
    """That there is no option of a name, and which there are; of a file of times, what replays it."""
    if group == "delay" and os.path.exists(name):
        return UserError(
            f"delay={name} names a file, not a delay model: delay=trace delay.file={name} replays it"
        )
    return UserError(unknown(group, name, option_names(group)))


def option_names(group: str, folders: Folders | None = None) -> list[str]:
    """Names of a group's options, also those from outside the project; each thing by one name."""
    if folders is None:
        folders = search_path()
    names: set[str] = set()
    for folder in folders:
        if os.path.isdir(f"{folder}/{group}"):
            names.update(_yaml_files_in(f"{folder}/{group}"))
    without_file: set[str] = set()
    if group == "scheme":
        without_file.update(option_names("code", folders))
    if group == "delay":
        without_file.update(_traces())
    name_of_alias = aliases(group, folders)
    names |= without_file - set(name_of_alias.values())
    for alias, name in name_of_alias.items():
        if name in without_file:
            names.add(alias)
    return sorted(names)


def own_file(group: str, option: str, folders: Folders) -> str | None:
    """The file of an option, in the first folder that has it; None where it has none."""
    for folder in folders:
        try:
            files = _yaml_files_in(f"{folder}/{group}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        if option in files:
            return files[option]
    return None


def is_option(group: str, option: str, folders: Folders) -> bool:
    """Whether a group has an option, with a file of its own or without."""
    if own_file(group, option, folders) is not None:
        return True
    if group == "scheme":
        return code_behind(option, folders) is not None
    return group == "delay" and trace_behind(option, folders) is not None


def code_behind(scheme: str, folders: Folders) -> str | None:
    """The code that a scheme without a file stands for, under the code's name or an alias."""
    code = aliases("scheme", folders).get(scheme, scheme)
    if own_file("code", code, folders) is None:
        return None
    return code


def trace_behind(delay: str, folders: Folders) -> str | None:
    """The file of the trace that a delay model without a file replays."""
    return _traces().get(aliases("delay", folders).get(delay, delay))


def aliases(group: str, folders: Folders | None = None) -> dict[str, str]:
    """Names that papers use for codes and traces, from ``aliases.yaml`` of each folder: a scheme's, or a delay model's.

    >>> aliases("scheme")["cgc"], aliases("delay")["bytedance_ar"]
    ('cyclic_repetition', 'bytedance_ar_dp')
    """
    if folders is None:
        folders = search_path()
    found: dict[str, str] = {}
    for folder in reversed(folders):
        file = f"{folder}/aliases.yaml"
        if os.path.isfile(file):
            found |= _aliases_in(file, text_of(file)).get(group, {})
    return found


@cache
def _aliases_in(file: str, text: str) -> dict[str, dict[str, str]]:
    return fitted(dict[str, dict[str, str]], mapping_in(file, text), file)


def _traces() -> dict[str, str]:
    """Traces that come with the package, and above them those in the same folder here, by the names of delay models."""
    found: dict[str, str] = {}
    for folder in (_bundled_path(TRACES), TRACES):
        if os.path.isdir(folder):
            for name in _csv_files_in(folder):
                delay = name.removesuffix(".csv").replace("-", "_").lower()
                found[delay] = f"{folder}/{name}"
    return found


def about_trace(file: str) -> dict[str, Any]:
    """What ``index.json`` beside a trace says of it; nothing where there is none."""
    index = f"{os.path.dirname(file)}/index.json"
    if not os.path.isfile(index):
        return {}
    name = os.path.basename(file).removesuffix(".csv")
    # JSON is YAML: a mistake in it becomes a sentence in the same way.
    return mapping_in(index, text_of(index)).get(name, {})
