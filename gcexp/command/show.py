"""What a composed scheme is, in numbers: behind ``gcexp show``."""

from __future__ import annotations

import json

import numpy as np

from gcexp.command.arguments import as_json, new_file, overrides
from gcexp.run.compose import meanings
from gcexp.run.run import Run

_SMALL = 12  # matrices up to this many rows and columns are shown


#: Groups whose keys are explained: a scheme's parts, and the delay that a figure shows.
_EXPLAINED = ("code", "wait", "placement", "loads", "delay")


def description(one: Run, keys: dict[str, str]) -> dict:
    """Loads, messages, guarantee and, where small, the matrices of a scheme's code; what its keys mean."""
    scheme = one.scheme
    code = scheme.code
    found = {
        "code": repr(code),
        "wait": repr(scheme.wait),
        **({"placement": repr(scheme.placement)} if scheme.placement else {}),
        **({"loads": repr(scheme.loads)} if scheme.loads else {}),
        "delay": repr(one.delay_model),
        "overhead": scheme.overhead,
        "workers": code.n,
        "partitions": code.k,
        "load": code.load.tolist(),
        "messages": code.messages.tolist(),
        "message_length": code.length,
        **one.loads(),
        "exact": one.exact,
        "guarantee": guarantee(code),
        "drawn_per_seed": one.is_redrawn,
        "keys": {key: text for key, text in keys.items() if key.startswith(_EXPLAINED)},
    }
    if max(code.encoding.shape) <= _SMALL:
        dense = code.encoding.toarray()
        found["assignment"] = code.assignment.astype(int).tolist()
        found["encoding"] = np.real(dense).tolist()
        if np.iscomplexobj(dense):
            found["encoding_imaginary"] = np.imag(dense).tolist()
    return found


def guarantee(code) -> str:
    """The code's promise as a sentence."""
    share = "all" if code.recovers == code.k else f"at least {code.recovers} of"
    wanted = {
        "indicator": f"the sum of {share} {code.k} partitions",
        "least_squares": "the combination closest to the full sum",
        "linear": "a fixed linear combination",
    }[code.promise]
    if not code.quorums:
        return f"{wanted}, whoever is heard"
    needs = []
    for quorum in code.quorums[:3]:
        workers = quorum.workers
        consecutive = workers == tuple(range(workers[0], workers[-1] + 1)) and len(workers) > 2
        named = f"{workers[0]}..{workers[-1]}" if consecutive else ", ".join(map(str, workers))
        each = (f"{q} of workers {named} with {r} message{'s' * (r > 1)}" for r, q in quorum.need)
        needs.append(" or ".join(each))
    more = f" and {len(code.quorums) - 3} more quorums" if len(code.quorums) > 3 else ""
    return f"{wanted}, from any {'; any '.join(needs)}{more}"


def format_description(found: dict) -> str:
    """The description as aligned lines."""
    found, lines = dict(found), []
    mean, largest = found.pop("computation_load_mean"), found.pop("computation_load_largest")
    found["computation_load"] = f"{mean:g} on average, {largest:g} at most"
    if np.isclose(mean, largest):
        found["computation_load"] = f"{mean:g} for each"
    for key, value in found.items():
        name = key.replace("_", " ")
        if key in ("assignment", "encoding", "encoding_imaginary"):
            rows = np.array2string(np.array(value), precision=3, suppress_small=True, max_line_width=120)
            lines += [f"{name}:", *(f"  {row}" for row in rows.splitlines())]
        elif key == "keys":
            width = max(map(len, value), default=0)
            lines += ["keys:", *(f"  {word:{width}}  {text}" for word, text in value.items())]
        else:
            if isinstance(value, list) and len(set(value)) == 1:
                value = f"{value[0]} for each"
            lines.append(f"{name + ':':20} {f'{value:g}' if isinstance(value, float) else value}")
    return "\n".join(lines)


def add(parser) -> None:
    """Arguments of the command."""
    overrides(parser)
    as_json(parser)
    parser.add_argument(
        "--figure", type=new_file, help="draw one iteration: file to write, .png, .pdf or .svg"
    )
    parser.add_argument("--seed", type=int, default=0, help="whose draws the figure shows (default: 0)")


def run(arguments) -> None:
    """Describe a scheme, and draw its first iteration where a figure is asked for."""
    one = Run.of(arguments.overrides, trains=False, checked=False)
    found = description(one, meanings(arguments.overrides))
    if arguments.figure:
        from gcexp.experiments import show
        from gcexp.figures import save

        save(show(*arguments.overrides, seed=arguments.seed), [arguments.figure])
    print(json.dumps(found, indent=1) if arguments.json else format_description(found))
