"""Where the options are: the folders of conf/, their files, and YAML as Hydra reads it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from pathlib import Path

import yaml

from gcexp.errors import UserError, unknown

#: Groups whose options answer one question each, and the group in which a token's bare keys live.
GROUPS = ("scheme", "code", "wait", "placement", "delay", "task", "optimizer")


def conf_dir() -> Path:
    """Folder with run.yaml: $GCEXP_CONF, ./conf, or the one beside the package."""
    for folder in (os.environ.get("GCEXP_CONF"), "conf", Path(__file__).parents[2] / "conf"):
        if folder and (Path(folder) / "run.yaml").is_file():
            return Path(folder).resolve()
    raise UserError(
        "no conf/run.yaml here: run gcexp in the project's folder or set GCEXP_CONF to its conf folder"
    )


def search_dirs() -> list[Path]:
    """conf/ and the folders that ``hydra.searchpath`` in run.yaml or $GCEXP_SEARCHPATH adds to it."""
    dirs = [conf_dir()]
    for entry in [*_listed_searchpath(), *_extra_searchpath()]:
        kind, _, place = str(entry).rpartition("://")
        if kind == "pkg":
            try:
                spec = importlib.util.find_spec(place)
            except ModuleNotFoundError:
                spec = None
            places = list(spec.submodule_search_locations or []) if spec else []
        else:
            places = [place]
        if not places or not Path(places[0]).is_dir():
            raise UserError(
                f"hydra.searchpath names {entry}, which is not a folder (allowed: file://DIR, pkg://PACKAGE)"
            )
        dirs.append(Path(places[0]).resolve())
    return dirs


def _listed_searchpath() -> list[str]:
    return (read_yaml(conf_dir() / "run.yaml").get("hydra") or {}).get("searchpath") or []


def _extra_searchpath() -> list[str]:
    return [
        f"file://{Path(p).resolve()}" for p in os.environ.get("GCEXP_SEARCHPATH", "").split(os.pathsep) if p
    ]


def option_file(group: str, option: str) -> Path:
    """File of one option, the last folder of the search path first found."""
    for folder in search_dirs():
        if (path := folder / group / f"{option}.yaml").is_file():
            return path
    raise UserError(unknown(group, option, options(group)))


def options(group: str) -> list[str]:
    """Names of a group's options, also those from outside the project."""
    return sorted({p.stem for folder in search_dirs() for p in (folder / group).glob("*.yaml")})


def read_yaml(path: Path) -> dict:
    """A YAML file as a dict; a syntax error becomes a sentence with the line."""
    try:
        loaded = yaml.load(path.read_text("utf-8"), Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark else ""
        raise UserError(
            f"{path}:{line} not valid YAML ({getattr(error, 'problem', None) or error})"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(loaded or {}, dict):
        raise UserError(f"{path}: expected keys and values, got a {type(loaded).__name__}")
    return loaded or {}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as Hydra reads it: 1e-3 is a number, and a key given twice is a mistake."""

    def construct_mapping(self, node, deep=False):
        seen = []
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=deep)
            if key in seen:
                problem = f"key {key!r} stands twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            seen.append(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][-+]?\d+)$|^[-+]?(\d[\d_]*\.[\d_]*|\.\d+)$|^[-+]?\.inf$|^\.nan$"
    ),
    list("-+0123456789."),
)
