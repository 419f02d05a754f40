"""The scheme of a composed run: its code, waiting rule, placement and overhead, and what must agree between them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gcexp.errors import ParameterError, UserError
from gcexp.run.build import build, is_redrawn, locate, with_seed
from gcexp.schema import fitted, is_whole

if TYPE_CHECKING:  # a plan that only draws loads no codes
    from gcexp.codes.base import Code
    from gcexp.schemes.scheme import Scheme

#: Entries of all matrices that `Codes` keeps, about: a matrix that is full has as many as its workers squared.
_MOST_KEPT = 2**24


class Codes:
    """The codes of several runs, each built and tried once: many small ones, or the last few large ones.

    Runs of a sweep often share a code, and a code for many workers takes longer to build than its clock takes.
    """

    def __init__(self) -> None:
        self._built: dict[str, Code] = {}
        self._tried: set[str] = set()

    def of(self, config: dict, seed: int | None = None) -> Code:
        """The code of a composed run, with a seed in the place of its own."""
        node = config["code"]
        if not isinstance(node, dict) or "_target_" not in node:  # built in Python, or refused
            return build(config, "code")
        _refuse_too_many_workers(config)
        if seed is not None:
            node = with_seed(node, seed)
        key = json.dumps(node, default=id)
        if key not in self._built:
            self._built[key] = _built(node)
            most = max(1, _MOST_KEPT // self._built[key].n ** 2)
            while len(self._built) > most:
                oldest = next(iter(self._built))
                del self._built[oldest]
        return self._built[key]

    def require_accurate(self, code: Code, node: Any) -> None:
        """Refuse an exact code that rounding spoils at its size (`gcexp.codes.accuracy`)."""
        from gcexp.codes.accuracy import is_tried, require_accurate

        key = json.dumps(node, default=id)
        if key in self._tried or not is_tried(code):
            return
        require_accurate(code)
        self._tried.add(key)


def _refuse_too_many_workers(config: dict) -> None:
    """Tell it before the code is built: a matrix of too many workers fills the memory without a word."""
    from gcexp.schemes.scheme import require_workers

    node = config["code"]
    of = locate(node["_target_"], "code._target_")
    for key, n in (("n", config.get("n")), ("code.n", node.get("n"))):
        if isinstance(n, int):
            require_workers(of, n, key)


def _built(node: dict) -> Code:
    """The code of an option, whose name stands in what it refuses."""
    try:
        return build({"code": node}, "code")
    except ParameterError as error:
        name = node["_target_"].rpartition(".")[2]
        raise ParameterError(f"{error} (code: {name})") from None


def named_keys(overrides: Iterable[str]) -> set[str]:
    """The keys that overrides give a value."""
    return {override.partition("=")[0] for override in overrides}


def numbers_of(code: Code, overrides: Iterable[str]) -> list[str]:
    """The workers and stragglers of a code from Python as overrides, without those that a person named."""
    named = named_keys(overrides)
    found = []
    for key in ("n", "s"):
        number = getattr(code, key, None)
        if key not in named and is_whole(number):
            found.append(f"{key}={number}")
    return found


def require_same_workers(config: dict, code: Code) -> None:
    """Refuse a code whose number of workers is not n: it would run, and be called a run of n workers."""
    n = fitted(int, config["n"], "n")
    if code.n != n:
        raise ParameterError(f"{type(code).__name__} has {code.n} workers, got n={n}; set n={code.n}")


def require_same_stragglers(config: dict, code: Code) -> None:
    """Refuse a code that is built for other than the s stragglers that a person named beside it."""
    node = config["code"]
    built_for = getattr(code, "s", None)
    if isinstance(node, dict):
        built_for = node.get("s", built_for)
    s = config["s"]
    if is_whole(built_for) and built_for != s:
        raise ParameterError(
            f"{type(code).__name__} is built for s={built_for} stragglers, got s={s}; set s={built_for} "
            "(wait.s is the number of workers for which the master does not wait)"
        )


def build_scheme(config: dict, seed: int | None = None, codes: Codes | None = None) -> Scheme:
    """Scheme of a composed run; `seed` replaces the code's own where the code is drawn for every seed."""
    from gcexp.schemes.scheme import Scheme, durations_only

    if seed is not None and not is_redrawn(config):
        seed = None
    code = (codes or Codes()).of(config, seed)
    require_same_workers(config, code)
    fitted(bool, config.get("exact", False), "exact")
    bound = fitted(bool, config.get("bound", False), "bound")
    scheme = Scheme(
        code,
        build(config, "wait"),
        fitted(float, config.get("overhead", 0.0), "overhead"),
        build(config, "placement"),
        late=config.get("late", "stop"),
        chunks=fitted(int | None, config.get("chunks"), "chunks"),
        loads=build(config, "loads"),
        bound=bound,
        decodes=fitted(bool, config.get("decodes", True), "decodes"),
    )
    s = getattr(scheme.wait, "s", None)
    if s is not None and not 0 <= s < code.n:
        raise ParameterError(f"the waiting rule needs 1 <= q <= n (0 <= s < n), got s={s} with n={code.n}")
    backups = getattr(scheme.loads, "b", None)
    if s is not None and backups is not None and backups != s:
        raise ParameterError(
            f"the loads make up for loads.b={backups} workers, but the waiting rule does not wait for s={s}; set "
            f"loads.b={s}, or s alone"
        )
    if durations_only(scheme.wait) and not bound:
        raise UserError(f"{scheme.wait!r} is a bound, and the scheme declares bound: false; add bound=true")
    return scheme
