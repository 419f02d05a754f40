"""What a composed scheme is, in numbers: behind ``gcexp show``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from gcexp.command.arguments import add_json, add_overrides, new_file
from gcexp.run.compose import meanings
from gcexp.run.run import Run

if TYPE_CHECKING:
    from gcexp.codes.base import Code, Quorum

_SMALL = 12  # matrices up to this many rows and columns are shown
_MATRICES = ("assignment", "encoding", "encoding_imaginary")
#: Groups whose keys are explained: a scheme's parts, and the delay that a figure shows.
_EXPLAINED = ("code", "wait", "placement", "loads", "delay")


def description(run: Run, keys: dict[str, str]) -> dict:
    """Loads, messages, guarantee and, where small, the matrices of a scheme's code; what its keys mean."""
    scheme = run.scheme
    code = scheme.code
    found: dict[str, Any] = {"code": repr(code), "wait": repr(scheme.wait)}
    if scheme.placement:
        found["placement"] = repr(scheme.placement)
    if scheme.loads:
        found["loads"] = repr(scheme.loads)
    remarks = {}
    for key, remark in keys.items():
        if key.startswith(_EXPLAINED):
            remarks[key] = remark
    found |= {
        "delay": repr(run.delay_model),
        "overhead": scheme.overhead,
        "workers": code.n,
        "partitions": code.k,
        "load": code.load.tolist(),
        "messages": code.messages.tolist(),
        "message_length": code.length,
        **run.loads(),
        "exact": run.exact,
        "guarantee": guarantee(code),
        **code.remarks,
        "drawn_per_seed": run.is_redrawn,
        "keys": remarks,
    }
    if max(code.encoding.shape) <= _SMALL:
        encoding = code.encoding.toarray()
        found["assignment"] = code.assignment.astype(int).tolist()
        found["encoding"] = np.real(encoding).tolist()
        if np.iscomplexobj(encoding):
            found["encoding_imaginary"] = np.imag(encoding).tolist()
    return found


def guarantee(code: Code) -> str:
    """The code's promise as a sentence."""
    share = f"at least {code.recovers} of"
    if code.recovers == code.k:
        share = "all"
    wanted = {
        "indicator": f"the sum of {share} {code.k} partitions",
        "least_squares": "the combination closest to the full sum",
        "linear": "a fixed linear combination",
    }[code.promise]
    if not code.quorums:
        return f"{wanted}, whoever is heard"
    needs = "; any ".join(_need(quorum) for quorum in code.quorums[:3])
    sentence = f"{wanted}, from any {needs}"
    more = len(code.quorums) - 3
    if more > 0:
        sentence += f" and {more} more quorums"
    return sentence


def _need(quorum: Quorum) -> str:
    """What decoding needs of the workers of a quorum, such as ``1 of workers 0, 3 with 1 message``."""
    workers = quorum.workers
    named = ", ".join(str(worker) for worker in workers)
    if len(workers) > 2 and workers == tuple(range(workers[0], workers[-1] + 1)):
        named = f"{workers[0]}..{workers[-1]}"
    ways = []
    for messages, needed in quorum.need:
        plural = "" if messages == 1 else "s"
        ways.append(f"{needed} of workers {named} with {messages} message{plural}")
    return " or ".join(ways)


def format_description(found: dict) -> str:
    """The description as aligned lines."""
    shown = dict(found)
    mean = shown.pop("computation_load_mean")
    largest = shown.pop("computation_load_largest")
    if np.isclose(mean, largest):
        shown["computation_load"] = f"{mean:g} for each"
    else:
        shown["computation_load"] = f"{mean:g} on average, {largest:g} at most"
    lines: list[str] = []
    for key, value in shown.items():
        name = key.replace("_", " ")
        if key in _MATRICES:
            lines.append(f"{name}:")
            matrix = np.array2string(np.array(value), precision=3, suppress_small=True, max_line_width=120)
            for row in matrix.splitlines():
                lines.append(f"  {row}")
        elif key == "keys":
            lines.append("keys:")
            width = max(map(len, value), default=0)
            for word, remark in value.items():
                lines.append(f"  {word:{width}}  {remark}")
        else:
            lines.append(f"{name + ':':20} {_in_words(value)}")
    return "\n".join(lines)


def _in_words(value: Any) -> str:
    """A value for people: one number where all entries of a list are equal."""
    if isinstance(value, list) and len(set(value)) == 1:
        return f"{value[0]} for each"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def add(parser) -> None:
    """Add the arguments of the command."""
    add_overrides(parser)
    add_json(parser)
    parser.add_argument(
        "--figure", type=new_file, help="draw one iteration: file to write, .png, .pdf or .svg"
    )
    parser.add_argument("--seed", type=int, default=0, help="whose draws the figure shows (default: 0)")


def run(arguments) -> None:
    """Describe a scheme, and draw its first iteration where a figure is asked for."""
    described = Run.of(arguments.overrides, trains=False, checked=False)
    found = description(described, meanings(arguments.overrides))
    if arguments.figure:
        from gcexp.experiments import show
        from gcexp.figures import save

        save(show(*arguments.overrides, seed=arguments.seed), [arguments.figure])
    if arguments.json:
        print(json.dumps(found, indent=1))
    else:
        print(format_description(found))
