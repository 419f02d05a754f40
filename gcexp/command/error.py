"""``gcexp error``: how bad stragglers are for a code, from the shell."""

from __future__ import annotations

import json
from typing import Any

from gcexp.codes.base import Code
from gcexp.command.arguments import add_json, add_overrides
from gcexp.command.theory import plain
from gcexp.decoding_error.best_known import compared, why_not_compared
from gcexp.decoding_error.error import KINDS
from gcexp.errors import UserError
from gcexp.experiments import error
from gcexp.experiments.error_table import build_code, config_of_code
from gcexp.run.build import is_redrawn
from gcexp.schema import is_whole, typed

_NUMBERS = ("trials", "seed", "steps", "max_sets", "max_searched")
_LISTS = ("s", "stragglers")
_MOST = 100_000  # numbers of a range
#: Words that are arguments of `gcexp.error`.
OWN = ("kind", "decoding", "p", "trace", "seeds", *_LISTS, *_NUMBERS)


def errors(given: list[str]) -> dict:
    """Errors of a composed code, ready for JSON.

    What `OWN` names are arguments of `gcexp.error`; everything else is an override, so that ``code.s=3`` is the s a
    code is built for, and ``code.seed=1`` the seed of its assignment.
    """
    options: dict[str, Any] = {}
    overrides_of_code = []
    for word in given:
        key, equal, text = word.partition("=")
        if equal and key in OWN:
            options[key] = _value(key, text)
        else:
            overrides_of_code.append(word)
    kind = options.setdefault("kind", _kind_of(options))
    if "stragglers" in options and kind != "set":
        raise UserError(f"stragglers are for kind=set, got kind={kind} (kinds: {', '.join(KINDS)})")
    config = config_of_code(overrides_of_code)
    code = build_code(config)
    found = error(*overrides_of_code, progress=True, **options)
    decoding = options.get("decoding", "optimal")
    notes = []
    if decoding == "optimal" and code.promise == "linear":
        notes.append("The code's own weights are not the optimal ones: decoding=own gives their error.")
    if "seeds" not in options and is_redrawn(config):
        notes.append("This is one draw of a random code: seeds=10 tells the spread over ten.")
    built_for = _built_for_another(config, options.get("s", []))
    if built_for is not None:
        notes.append(f"The code is built for s={built_for}, since no code.s is given.")
    if kind == "worst" and "seeds" not in options:
        found["exact"] = found["lower"] == found["upper"]
        reason = _why_not_compared(code, decoding)
        if reason:
            notes.append(f"Not compared with the best known codes: {reason}.")
        else:
            pairs_of_errors = zip(found["s"], found["upper"], strict=True)
            found["best_known"] = [compared(code, s, upper) for s, upper in pairs_of_errors]
    return {
        "code": repr(code),
        "workers": code.n,
        "partitions": code.k,
        "kind": kind,
        "decoding": decoding,
        "note": " ".join(notes),
        "errors": plain(found.to_dict("records")),
    }


def _built_for_another(config: dict, asked: list[int]) -> int | None:
    """The default s for which a code is built, where none of the numbers of stragglers that are asked for is that."""
    default = config["code"].get("s")
    if not is_whole(default) or "code.s" in config["named"] or not asked or default in asked:
        return None
    return default


def _why_not_compared(code: Code, decoding: str) -> str | None:
    """Why the worst errors of a code are not held against the table of best codes, or None."""
    if decoding != "optimal":
        return f"the table of best codes is one of optimal decoding, not of decoding={decoding}"
    return why_not_compared(code)


def _kind_of(options: dict[str, Any]) -> str:
    """The kind that the given arguments are for."""
    for key, kind in (("stragglers", "set"), ("p", "by_worker"), ("trace", "recorded")):
        if key in options:
            return kind
    return "worst"


def _value(key: str, text: str) -> Any:
    """The value of an argument of `gcexp.error`."""
    if key in _NUMBERS:
        return _number(key, text)
    if key in _LISTS:
        return _numbers(key, text)
    if key == "seeds":
        return typed(text)
    if key == "p":
        return _probabilities(text)
    return text


def _probabilities(text: str) -> float | list[float]:
    """One probability, ``0.2``, or one for each worker, ``[0.1,0.2]``."""
    try:
        found = [float(one) for one in text.strip("[]").split(",")]
    except ValueError:
        raise UserError(f"p must be numbers, got {text!r} (allowed: 0.2, [0.1,0.2])") from None
    if "[" in text or len(found) > 1:
        return found
    return found[0]


def _numbers(key: str, text: str) -> list[int]:
    """Whole numbers, written ``4``, ``0..8``, ``[0, 4, 8]`` or ``0,4,8``."""
    left, dots, right = text.partition("..")
    if dots:
        first = _number(key, left)
        last = _number(key, right)
        count = last - first + 1
        if count < 1:
            raise UserError(
                f"{key}={text} are no numbers, since {last} < {first} (allowed: {key}={last}..{first})"
            )
        if count > _MOST:
            raise UserError(f"{key}={text} are {count} numbers (allowed: up to {_MOST})")
        return list(range(first, last + 1))
    numbers = []
    for word in text.strip("[]").split(","):
        if word.strip():
            numbers.append(_number(key, word))
    return numbers


def _number(key: str, text: str) -> int:
    """A whole number."""
    number = typed(text.strip())
    if is_whole(number):
        return number
    sentence = f"{key} must be whole numbers, got {text!r}"
    if key in _LISTS:
        sentence += " (allowed: 4, 0..8, [0,4,8])"
    raise UserError(sentence)


def format_errors(found: dict) -> str:
    """A line for each s."""
    lines = [
        f"{found['code']}: error ||c - 1||^2 / k, {found['kind']} stragglers, {found['decoding']} decoding"
    ]
    for one in found["errors"]:
        lines.append(f"s = {one['s']:3.4g}  {_in_words(found['kind'], one)}")
        if one.get("best_known"):
            lines.append(f"         {one['best_known']}")
    if found["note"]:
        lines.append(found["note"])
    return "\n".join(lines)


def _in_words(kind: str, one: dict) -> str:
    """The error for one s."""
    if "draws" in one:
        return _draws_in_words(one)
    if kind in ("random", "by_worker", "recorded"):
        return _mean_in_words(one)
    if kind == "set":
        return f"{one['error']:.6g} without {one['stragglers']}"
    if one["exact"]:
        return f"{one['lower']:.6g} ({one['how']})"
    return f"between {one['lower']:.6g} and {float(one['upper']):.6g}"


def _draws_in_words(one: dict) -> str:
    """The error over draws of a random code: its mean, the spread of the draws, and their extremes."""
    words = []
    for name in ("lower", "upper", "mean", "error"):
        if name in one:
            spread = "" if one[f"{name}_std"] is None else f" ± {one[f'{name}_std']:.2g}"
            words.append(
                f"{name} {one[name]:.6g}{spread} ({one[f'{name}_least']:.4g} to {one[f'{name}_most']:.4g})"
            )
    return f"{', '.join(words)} over {one['draws']} draws of the code"


def _mean_in_words(one: dict) -> str:
    """The mean error over drawn or recorded stragglers, and the mean coefficients where they are known."""
    words = f"mean {one['mean']:.6g}"
    if one["stderr"] is not None:  # one set tells nothing of it
        words += f" ± {one['stderr']:.2g}"
    words += f", largest of {one['trials']}: {one['largest']:.6g}"
    if not one.get("coefficients"):
        return words
    least = min(one["coefficients"])
    most = max(one["coefficients"])
    words += f"; mean coefficients of the partitions from {least:.4g} to {most:.4g}"
    if one["coefficients_stderr"] is not None:
        words += f" ± {one['coefficients_stderr']:.2g}"
    return words


def add(parser) -> None:
    """Add the arguments of the command."""
    add_overrides(parser)
    add_json(parser)


def run(arguments) -> None:
    """Errors of a code."""
    found = errors(arguments.overrides)
    if arguments.json:
        print(json.dumps(found, indent=1))
    else:
        print(format_errors(found))
