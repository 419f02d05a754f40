"""The scheme of a composed run: its code, waiting rule, placement and overhead, and what must agree between them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gcexp.errors import ParameterError, UserError
from gcexp.run.build import build, is_redrawn, locate, redrawn
from gcexp.run.declared import class_value
from gcexp.run.run import seed_list
from gcexp.schema import fitted

if TYPE_CHECKING:  # a plan loads no codes
    from gcexp.codes.base import Code
    from gcexp.schemes.scheme import Scheme

#: What a scheme is built from.
SCHEME_KEYS = ("code", "wait", "placement", "loads", "overhead", "late", "chunks", "exact", "bound", "n")

#: Codes by their values, while `schemes_kept`.
_kept: dict[str, Code] | None = None
#: Entries of all their matrices, about: one that is full has as many as its workers squared.
_MOST_KEPT = 2**24


@contextmanager
def schemes_kept() -> Iterator[None]:
    """Keep codes, for a sweep that checks, plays and counts each point: many small or the last few large.

    Without this a sweep of 80 points with 12 workers takes 0.27 CPU-s instead of 0.19, and one with 200 workers takes
    twice as long. Not for jobs: what they read is recorded, and what is at hand reads nothing.
    """
    global _kept
    _kept = {}
    try:
        yield
    finally:
        _kept = None


def build_scheme(config: dict, seed: int | None = None):
    """Scheme of a composed run; `seed` replaces the code's own where the code is redrawn for every seed."""
    from gcexp.schemes.scheme import Scheme, durations_only

    code = _code_of(config, seed if seed is not None and is_redrawn(config) else None)
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
    )
    s = getattr(scheme.wait, "s", None)
    if s is not None and not 0 <= s < code.n:
        raise ParameterError(f"the waiting rule needs 1 <= q <= n (0 <= s < n), got s={s} with n={code.n}")
    if durations_only(scheme.wait) and not bound:
        raise UserError(f"{scheme.wait!r} is a bound, and the scheme declares bound: false; add bound=true")
    return scheme


def schemes_of(config: dict, seeds: tuple[int, ...]) -> Iterator[tuple[Scheme, tuple[int, ...]]]:
    """The scheme of all seeds, or where the code is drawn for each seed one after the other, each with its seeds."""
    for some in [(seed,) for seed in seeds] if is_redrawn(config) else [seeds]:
        yield build_scheme(config, some[0]), some


def _code_of(config: dict, seed: int | None) -> Code:
    """The code of a run, with a seed in the place of its own."""
    from gcexp.schemes.scheme import require_workers

    node = config["code"]
    if not isinstance(node, dict) or "_target_" not in node:  # built in Python, or refused
        return build(config, "code")
    # Before it is built: a matrix of too many workers fills the memory without a word.
    of = locate(node["_target_"], "code._target_")
    for key, n in (("n", config.get("n")), ("code.n", node.get("n"))):
        if isinstance(n, int):
            require_workers(of, n, key)
    node = node if seed is None else redrawn(node, seed)
    key = json.dumps(node, default=id)
    if _kept is not None and key in _kept:
        return _kept[key]
    try:
        code = build({"code": node}, "code")
    except ParameterError as error:
        raise ParameterError(f"{error} (code: {node['_target_'].rpartition('.')[2]})") from None
    if _kept is not None:
        _kept[key] = code
        while len(_kept) > max(1, _MOST_KEPT // code.n**2):
            del _kept[next(iter(_kept))]
    return code


def loads(config: dict) -> dict[str, float]:
    """What the workers of a run compute and send; of a code that is drawn per seed, over the seeds of the run.

    ``computation_load_mean`` is the mean share of the data that a worker computes, ``computation_load`` the mean over
    the seeds of the largest share, ``computation_load_largest`` the largest of them; ``communication_load`` are the
    gradients that a worker sends at most, the mean over the seeds.
    """
    codes = [scheme.code for scheme, _ in schemes_of(config, seed_list(config["seeds"]))]
    means = [float(code.load.mean() / code.k) for code in codes]
    computed = [float(code.load.max() / code.k) for code in codes]
    sent = [float(code.messages.max() * code.length) for code in codes]
    return {
        "computation_load_mean": sum(means) / len(codes),
        "computation_load": sum(computed) / len(codes),
        "computation_load_largest": max(computed),
        "communication_load": sum(sent) / len(codes),
    }


def require_trainable(config: dict) -> None:
    """Refuse to train with a bound of durations, on a delay that is a clock only, or seeds together if not exactly."""
    if _of_class(config["delay"], "clock_only", "draw"):
        raise UserError("local_steps has a clock but no training curve")
    if config["bound"]:
        raise UserError(
            "the scheme declares bound: true, durations without a decode, so no task can be trained with it "
            "(allowed: gcexp simulate, figures of kind timings)"
        )
    if not config["exact"] and _of_class(config["task"], "exact_only", "together"):
        raise UserError(
            "the scheme declares exact: false, and the task trains all seeds at once with every coefficient 1 "
            "(allowed: schemes with exact: true, or a task such as mnist_mlp)"
        )


def _of_class(part: Any, name: str, beside: str) -> Any:
    """What the class of a part says, of one built in Python or one that its source tells."""
    if isinstance(part, dict):
        target = part.get("_target_")
        return class_value(target, name, beside) if isinstance(target, str) else None
    return getattr(part, name, None)
