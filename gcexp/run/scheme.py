"""The scheme of a composed run: its code, waiting rule, placement and overhead, and what must agree between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gcexp.errors import ParameterError, UserError
from gcexp.run.build import build, is_redrawn, locate, named, redrawn
from gcexp.run.declared import class_value
from gcexp.run.run import seed_list
from gcexp.schema import fitted

#: What a scheme is built from.
SCHEME_KEYS = ("code", "wait", "placement", "loads", "overhead", "late", "chunks", "exact", "bound", "n")

#: Codes and schemes by their values and classes, while `schemes_kept`.
_kept: dict[str, dict[tuple, Any]] | None = None
#: Entries of all their matrices, about: one that is full has as many as its workers squared.
_MOST_KEPT = 2**24


@contextmanager
def schemes_kept() -> Iterator[None]:
    """Keep codes and schemes, for a sweep that checks, plays and counts each point: many small or the last few large.

    Not for jobs: what they read is recorded, and what is at hand reads nothing.
    """
    global _kept
    _kept = {"code": {}, "scheme": {}}
    try:
        yield
    finally:
        _kept = None


def build_scheme(config: dict, seed: int | None = None):
    """Scheme of a composed run; `seed` replaces the code's own where the code is redrawn for every seed."""
    seed = seed if seed is None or is_redrawn(config) else None
    return _known("scheme", {key: config.get(key) for key in SCHEME_KEYS}, seed, lambda: _build(config, seed))


def _known(what: str, wanted: dict, seed: int | None, make: Callable[[], Any]) -> Any:
    """What is kept of a kind under its values; else, or where those are a person's objects, what `make` makes."""
    if _kept is None or not all(
        value is None or isinstance(value, dict | str | int | float) for value in wanted.values()
    ):
        return make()
    kept = _kept[what]
    key = (json.dumps(wanted), seed, *(locate(target, "_target_") for target in named(wanted, "_target_")))
    if key not in kept:
        kept[key] = made = make()
        n = getattr(made, "code", made).n
        while len(kept) > max(1, _MOST_KEPT // n**2):
            del kept[next(iter(kept))]
    return kept[key]


def _build(config: dict, seed: int | None):
    from gcexp.schemes.scheme import Scheme, durations_only, require_workers

    if isinstance(config["code"], dict) and "_target_" in config["code"]:  # else built in Python
        # Before it is built: a matrix of too many workers fills the memory without a word.
        of = locate(config["code"]["_target_"], "code._target_")
        for key, n in (("n", config.get("n")), ("code.n", config["code"].get("n"))):
            if isinstance(n, int):
                require_workers(of, n, key)
    drawn = config if seed is None else config | {"code": redrawn(config["code"], seed)}
    try:
        code = _known("code", {"code": drawn["code"]}, None, lambda: build(drawn, "code"))
    except ParameterError as error:
        raise ParameterError(f"{error} (code: {config['code']['_target_'].rpartition('.')[2]})") from None
    overhead = fitted(float, config.get("overhead", 0.0), "overhead")
    fitted(bool, config.get("exact", False), "exact")
    bound = fitted(bool, config.get("bound", False), "bound")
    scheme = Scheme(
        code,
        build(config, "wait"),
        overhead,
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


def loads(config: dict) -> dict[str, float]:
    """What the workers of a run compute, and the busiest one computes and sends.

    Of a code that is drawn per seed, over the seeds of the run.

    Returns
    -------
    dict
        ``computation_load_mean``: share of the data that a worker computes, its mean over workers and seeds;
        ``computation_load``: largest share of the data that a worker computes, its mean over the seeds;
        ``computation_load_largest``, the largest of them; ``communication_load``: gradients that a worker sends at
        most, the mean over the seeds.
    """
    seeds = seed_list(config["seeds"]) if is_redrawn(config) else (None,)
    codes = [build_scheme(config, seed).code for seed in seeds]
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
