"""Every simulated time comes from scheme x delay -> timeline: nobody else draws times or runs a clock; and every name
of a code is its option file: no module keeps a list of its own. Whoever may is named here, with the reason.
"""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import gcexp.codes  # noqa: F401  # so that every family is known
from gcexp.codes.base import Code

PACKAGE = Path(__file__).resolve().parents[2] / "gcexp"
MODULES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
PAPERS = PACKAGE.parent / "gcexp_papers"
MODULES |= {path.relative_to(PACKAGE.parent).as_posix(): path for path in sorted(PAPERS.glob("*/*.py"))}

# --- The clock: who may --------------------------------------------------------------------------------------------

#: The clock itself, the models that draw and the rules that wait. What follows is about every other module.
ROAD = ("timeline.py", "delays/", "schemes/")
#: Draws of times. Designs have a number gamma and anybody may read a timeline, so that of these two a call counts.
TIMES = {
    *("exponential", "standard_exponential", "pareto", "weibull", "gamma()", "standard_gamma", "geometric"),
    *("lognormal", "rayleigh", "wald", "poisson", "rvs", "ppf", "isf", "draw", "law"),
}
#: Pricing draws, and waiting.
STEPS = {"arrival", "stop"}
#: Uniform numbers, of which an inverse distribution function makes times; in these rooms they are no times.
UNIFORM, NO_TIMES = {"random", "uniform"}, ("codes/", "data/", "tasks/", "testing.py")
#: Streams of draws, and looking for the q-th worker: in rooms of formulas, where hardly anything else is sorted.
IN_FORMULAS, FORMULAS = (
    {"start", "sort", "argsort", "partition", "argpartition"},
    ("analysis/", "theory/", "gcexp_papers/"),
)

#: Places, as module or module:function, and what they may use.
MAY = {
    # From a run's config to its timeline: the one place; and who asks for it.
    "run/stages.py": {"gcexp.timeline.run_clock", "gcexp.timeline.joined"},
    "experiments.py": {"gcexp.run.stages.simulated"},  # the same from Python
    "report/plan.py": {"gcexp.run.stages.simulated"},  # what a figure will cost
    # Whether models and rules keep their contracts is asked one by one.
    "testing.py": {"gcexp.timeline.simulate", ".draw", ".arrival", ".stop"},
    "figures/compose.py:_figure": {".draw"},  # a panel
    "figures/style.py:_save_png": {".draw"},  # a canvas
    # Statements about a delay law itself: its draws are looked at, and no time comes from them.
    "gcexp_papers/dynamic_clustering/statements.py:_states": {".draw"},  # how often states change
    "gcexp_papers/partial_recovery/statements.py:_tails": {".law"},  # quantiles of two laws in order
    "gcexp_papers/partial_recovery/statements.py:_section_9": {
        ".draw",
        ".arrival",
    },  # what is kept, and for how long
    "gcexp_papers/partial_recovery/numerics.py:expected_iteration_time": {
        ".law"
    },  # a quantile function that is integrated
    # Uniform numbers that are no times.
    "gcexp_papers/comm_efficient/numerics.py:_minibatch": {".random"},  # which samples
    "gcexp_papers/dynamic_clustering/statements.py:_memberships": {".random"},  # who is slow
    "gcexp_papers/dynamic_clustering/statements.py:_swaps": {
        ".random",
        ".uniform",
    },  # who is slow, and how many
    "gcexp_papers/comm_efficient/learning.py:logistic_statements": {".random"},  # features and labels
    "gcexp_papers/comm_efficient/learning.py:_accelerated": {".uniform"},  # slopes of a quadratic
    "gcexp_papers/partial_recovery/network.py:network": {".random"},  # images
    "gcexp_papers/soft_bibd/numerics.py:existence": {".random"},  # points of the plane
    "gcexp_papers/soft_bibd/statements.py:_points": {".random"},  # points of the plane
    # Sorted, but no times.
    "gcexp_papers/dynamic_clustering/numerics.py:matrices": {"numpy.sort"},  # columns of a matrix
    "gcexp_papers/dynamic_clustering/numerics.py:_times": {"numpy.argsort"},  # workers by cluster
    "theory/dynamic_clustering.py:expected_time_of_counts": {"numpy.sort"},  # slow workers per cluster
}


def of_a_clock(name: str, module: str) -> bool:
    """Whether whoever uses a name makes a time, or asks the clock for one."""
    last = name.rpartition(".")[2]
    if name.startswith("gcexp.timeline"):  # to read one is no clock; formulas have nothing to read
        return last not in ("Timeline", "load") or module.startswith(FORMULAS)
    if name.startswith("gcexp."):
        return name == "gcexp.run.stages.simulated" or last == "held_exponentials"
    if name.startswith(("numpy.random.", "random.")):
        return last not in ("default_rng", "Generator", "SeedSequence")
    if name.startswith("scipy.stats"):
        return module.startswith(FORMULAS)
    return name.startswith((".", "numpy.")) and (
        last in TIMES | STEPS
        or (last in UNIFORM and name != "numpy.random" and not module.startswith(NO_TIMES))
        or (last in IN_FORMULAS and module.startswith(FORMULAS))
        or name in ("numpy.partition", "numpy.argpartition")
    )


# --- Codes: who may keep some under names --------------------------------------------------------------------------

NAMES_MAY = {
    # Arguments by their names, in the examples of codes that are made of codes.
    "codes/composite.py:DirectSum": {"mapping"},
    "codes/composite.py:Kronecker": {"mapping"},
    # Rows of a table about these very schemes: labels, by which nobody asks for a code.
    "gcexp_papers/partial_recovery/numerics.py:cyclic_schemes": {"pairs"},
    "gcexp_papers/partial_recovery/numerics.py:chosen_stragglers": {"pairs"},
    "gcexp_papers/adaptive/numerics.py:decode_errors": {"mapping"},
}


def classes_of(kind: type) -> set[type]:
    below = set(kind.__subclasses__())
    return below.union(*map(classes_of, below))


CODES = {cls.__name__ for cls in classes_of(Code) if cls.__module__.startswith("gcexp.")}


# --- What a module uses --------------------------------------------------------------------------------------------


def imported(tree: ast.AST) -> dict[str, str]:
    """What the names that a module imports stand for, wherever it imports them."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found |= {alias.asname: alias.name} if alias.asname else {top: top}
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def dotted(node: ast.AST, known: dict[str, str]) -> str:
    """A name in full where it was imported; an attribute of anything else behind a dot."""
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    if isinstance(node, ast.Attribute):
        before = dotted(node.value, known)
        return f".{node.attr}" if before.startswith(".") else f"{before}.{node.attr}"
    return ""


def uses(node: ast.AST, known: dict[str, str]) -> set[str]:
    """All that is imported or mentioned, and what is called once more with () behind it."""
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Import):
            found |= {alias.name for alias in one.names}
        if isinstance(one, ast.ImportFrom):
            found |= {f"{one.module}.{alias.name}" for alias in one.names}
        if isinstance(one, ast.Name | ast.Attribute):
            found.add(dotted(one, known))
        if isinstance(one, ast.Call) and dotted(one.func, known).endswith((".gamma", ".Timeline")):
            found.add(f"{dotted(one.func, known)}()")
    return found


def places(module: str, tree: ast.Module, found: Callable[[ast.AST], set[str]]) -> dict[str, set[str]]:
    """What `found` names in every function and class of a module, and outside of them."""
    each: dict[str, set[str]] = {}
    for node in tree.body:
        where = f"{module}:{node.name}" if hasattr(node, "name") else module
        each.setdefault(where, set()).update(found(node))
    return {where: names for where, names in each.items() if names}


def clocks(module: str, source: str) -> dict[str, set[str]]:
    """What a module has of a clock, by place."""
    tree = ast.parse(source)
    known = imported(tree)
    return places(module, tree, lambda node: {name for name in uses(node, known) if of_a_clock(name, module)})


def registries(module: str, source: str) -> dict[str, set[str]]:
    """How a module goes from names to codes, by place: mapping, pairs, zip or choice."""
    tree = ast.parse(source)
    known = imported(tree)
    makers = CODES | {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(one, ast.Call) and last(one.func, known) in CODES for one in ast.walk(node))
    }
    return places(
        module,
        tree,
        lambda node: {kind for one in ast.walk(node) for kind in kinds(one, known, makers)},
    )


def kinds(node: ast.AST, known: dict[str, str], makers: set[str]) -> list[str]:
    """In what way a node goes from names to codes, if it does."""

    def made(*nodes: ast.AST) -> bool:
        return any(gives(one, known, makers) for one in nodes)

    def pair(one: ast.AST) -> bool:
        return isinstance(one, ast.Tuple | ast.List) and any(map(is_text, one.elts)) and made(one)

    found = {
        "mapping": made(*mapped(node)),
        "pairs": any(map(pair, listed(node))),
        "zip": (
            isinstance(node, ast.Call)
            and last(node.func, known) == "zip"
            and made(*node.args)
            and any(is_text(text) for one in node.args for text in ast.walk(one))
        ),
        "choice": any(
            last(one, known) in makers
            for branch in chosen(node)
            for one in ast.walk(branch)
            if isinstance(one, ast.Name | ast.Attribute)
        ),
    }
    return [kind for kind, there in found.items() if there]


def last(node: ast.AST, known: dict[str, str]) -> str:
    """The last part of a name, as it was called where it comes from."""
    return (dotted(node, known) or getattr(node, "id", "")).rpartition(".")[2]


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def gives(node: ast.AST | None, known: dict[str, str], makers: set[str]) -> bool:
    """Whether a value is a code, its class or what makes it, or has one in it; not what a function says about one."""
    match node:
        case ast.Name() | ast.Attribute():
            return last(node, known) in makers
        case ast.Call():
            handed = [*node.args, *(keyword.value for keyword in node.keywords)]
            parts = [node.func, *(one for one in handed if not isinstance(one, ast.Call))]
            parts = [node.func] if last(node.func, known) in ("isinstance", "issubclass") else parts
        case ast.Lambda():
            parts = [node.body]
        case ast.IfExp():
            parts = [node.body, node.orelse]
        case ast.Dict():
            parts = node.values
        case ast.Starred():
            parts = [node.value]
        case ast.Tuple() | ast.List() | ast.Set():
            parts = node.elts
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            parts = [node.elt]
        case _:
            parts = []
    return any(gives(part, known, makers) for part in parts)


def mapped(node: ast.AST) -> list[ast.AST]:
    """Values of a mapping, however it is spelled."""
    if isinstance(node, ast.Dict):
        return [*node.values]
    if isinstance(node, ast.DictComp):
        return [node.value, *(one.iter for one in node.generators)]
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict":
        return [*node.args, *(keyword.value for keyword in node.keywords)]
    return []


def listed(node: ast.AST) -> list[ast.AST]:
    """Elements of a sequence, however it is spelled."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [*node.elts]
    return [node.elt] if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp) else []


def chosen(node: ast.AST) -> list[ast.AST]:
    """What is done where something has a certain name."""
    if isinstance(node, ast.match_case) and any(map(is_text, ast.walk(node.pattern))):
        return [*node.body]
    if isinstance(node, ast.If | ast.IfExp):
        compared = [one for one in ast.walk(node.test) if isinstance(one, ast.Compare)]
        sides = [side for one in compared for side in (one.left, *one.comparators)]
        if any(is_text(text) for side in sides for text in (side, *listed(side))):
            return node.body if isinstance(node, ast.If) else [node.body]
    return []


# --- Nobody else does ----------------------------------------------------------------------------------------------


def allowed(place: str, listed: dict[str, set[str]]) -> set[str]:
    return listed.get(place, set()) | listed.get(place.partition(":")[0], set())


@pytest.mark.slow
@pytest.mark.parametrize(("look", "listed", "road"), [(clocks, MAY, ROAD), (registries, NAMES_MAY, ())])
def test_nobody_else_does(look, listed, road):
    found: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        if not module.startswith(tuple(road)):
            found |= look(module, path.read_text())
    assert {place: more for place, names in found.items() if (more := names - allowed(place, listed))} == {}
    for place, names in listed.items():  # and who is named here still does
        assert names == set().union(*(found[one] for one in found if f"{one}:".startswith(f"{place}:"))), (
            place
        )


def test_there_is_a_road_and_there_are_codes():
    own = set().union(*clocks("timeline.py", MODULES["timeline.py"].read_text()).values())
    assert {".draw", ".arrival", ".stop"} <= own and len(CODES) > 25
    assert "_Played(" in MODULES["timeline.py"].read_text()


# --- Whoever did would be seen -------------------------------------------------------------------------------------

SIMULATORS = {
    "the clock": "from gcexp.timeline import run_clock\ndef f(s, d): return run_clock(s, d, (0,), 9)",
    "its module": "from gcexp import timeline\ndef f(s, d): return timeline.run_clock(s, d, (0,), 9)",
    "its module, renamed": "import gcexp.timeline as t\ndef f(s, draws): t._Played(s, (0,), 9).add(0, 0, draws)",
    "its inside, renamed": "from gcexp.timeline import _Played as P",
    "all of it": "from gcexp.timeline import *",
    "at a function's call": "def f(s, draws):\n    from gcexp.timeline import simulate\n    return simulate(s, draws)",
    "the clock of a config": "from gcexp.run import stages\ndef f(c, l): return stages.simulated(c, l)",
    "the same, renamed": "from gcexp.run.stages import simulated as s",
    "a timeline by hand": "from gcexp.timeline import Timeline\nTimeline(seeds, steps, duration, *rest)",
    "draws of a model": "TwoStateMarkov().draw((0,), 3, 4)",
    "draws, priced": "def f(draws): return draws.arrival(0.1, 1)",
    "a waiting rule": "rule.stop(code, at)",
    "a delay law": "def f(delay, u): return delay.law(u)",
    "a delay law, handed on": "def f(delay, u): return map(delay.law, u)",
    "held draws": "from gcexp.delays import held_exponentials",
    "numpy's global draws": "import numpy as np\nnp.random.weibull(2, 9)",
    "draws by name": "from numpy.random import pareto",
    "draws of the library": "import random\nrandom.expovariate(1)",
    "a distribution": "from scipy import stats\ndef f(u): return stats.expon(0, 1).ppf(u)",
    "an inverse, by logarithm": "import numpy as np\ndef f(rng): return -np.log(rng(0, 'x').random(9))",
    "an inverse, by a power": "def f(rng): return rng(0, 'x').uniform(size=9) ** -0.5",
    "the q-th worker": "import numpy as np\ndef f(times, q): return np.partition(times, q - 1)[..., q - 1]",
}
DRAWS = ("exponential", "standard_exponential", "pareto", "weibull", "gamma", "geometric", "lognormal")
IN_ANALYSIS = {
    "a timeline": "from gcexp.timeline import Timeline",
    "streams of a model": "def f(delay): return delay.start((0,), 4)(9)",
    "sorted times": "import numpy as np\ndef f(times, q): return np.sort(times, axis=1)[:, q - 1]",
    "times, sorted": "def f(times): times.sort(axis=1)",
}


@pytest.mark.parametrize("source", SIMULATORS.values(), ids=SIMULATORS)
@pytest.mark.parametrize("module", ["analysis/new.py", "report/new.py", "theory/new.py"])
def test_a_second_simulator_would_be_seen(module, source):
    assert clocks(module, source)


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("module", ["analysis/new.py", "report/new.py", "codes/new.py"])
def test_draws_of_times_would_be_seen(module, name):
    assert clocks(module, f"def f(rng): return rng(0, 'delays').{name}(2.0, size=9)")


@pytest.mark.parametrize("source", IN_ANALYSIS.values(), ids=IN_ANALYSIS)
def test_a_clock_of_an_analysis_would_be_seen(source):
    assert clocks("analysis/new.py", source)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("report/new.py", "from gcexp.timeline import Timeline\ndef f(p): return Timeline.load(p).clock"),
        ("analysis/new.py", "from gcexp.theory import order_statistics\norder_statistics.pareto(3, 4)"),
        ("analysis/new.py", "def f(design): return design.gamma"),
        ("analysis/new.py", "import numpy as np\nnp.random.default_rng(0).standard_normal((3, 4))"),
        ("codes/new.py", "def f(rng, n): return rng(0, 'assignment').random(n) < 0.5"),
    ],
)
def test_what_makes_no_times_is_no_clock(module, source):
    assert not clocks(module, source)


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("mapping", 'CODES = {"uncoded": Uncoded}'),
        ("mapping", 'MINE: dict = {"a": codes.CyclicMDS, "b": 3}'),
        ("mapping", 'EXACT = {"real": (_fifth, lambda n, s: codes.CyclicMDS(n, s, "real"))}'),
        (
            "mapping",
            'def made(n, s):\n    return FractionalRepetition(n, s + 1)\nEXACT = {"repetition": made}',
        ),
        ("mapping", "EXACT = dict(cyclic=partial(CyclicRepetition, n=6))"),
        ("mapping", 'EXACT = {field: partial(CyclicMDS, field=field) for field in ("real", "complex")}'),
        ("mapping", 'EXACT = MappingProxyType({"a": [ReedSolomon(6, 2)]})'),
        ("mapping", "EXACT = {cls.__name__: cls for cls in (CyclicMDS, ReedSolomon)}"),
        ("mapping", 'def code(name, n):\n    return {"uncoded": Uncoded, "cyclic": CyclicMDS}[name](n)'),
        ("mapping", 'class Table:\n    def code(self):\n        known = {"uncoded": Uncoded(4)}'),
        ("mapping", 'from gcexp.codes import Uncoded as U\nMINE = {"uncoded": U}'),
        ("pairs", 'PAIRS = [("uncoded", Uncoded), ("cyclic", CyclicMDS)]'),
        (
            "pairs",
            'def f(n):\n    return ((f"uncoded {n}", Uncoded(n)), ["cyclic", lambda: CyclicMDS(n, 1)])',
        ),
        ("pairs", 'def f(sizes):\n    return [("uncoded", Uncoded(n)) for n in sizes]'),
        ("zip", 'def f():\n    return list(zip(("uncoded", "cyclic"), (Uncoded, CyclicMDS)))'),
        ("choice", 'def f(name, n):\n    if name == "uncoded":\n        return Uncoded(n)'),
        (
            "choice",
            'def f(name):\n    if not name:\n        return\n    elif name in ("a", "b"):\n        c = Uncoded',
        ),
        ("choice", 'def f(name, n):\n    return Uncoded(n) if name == "uncoded" else CyclicMDS(n, 1)'),
        (
            "choice",
            'def f(name, n):\n    match name:\n        case "a" | "b":\n            return Uncoded(n)',
        ),
    ],
)
def test_a_second_registry_would_be_seen(kind, source):
    assert kind in set().union(*registries("analysis/new.py", source).values())


@pytest.mark.parametrize(
    "source",
    [
        'COSTS = {"decode": cost}\ndef cost(code: CyclicMDS):\n    return code.n',
        "FAMILIES = (CyclicMDS, ReedSolomon)",
        'NAMES = {FractionalRepetition: "FRC"}',
        'def f(code):\n    return {"exact": 1 if isinstance(code, CyclicMDS) else 0}',
        'def f(n):\n    return {"bound": worst(Uncoded(n))}',
        'def f(n):\n    yield "lemma1", "every n", (Uncoded(n).load == 1).all()',
        'def f(how, n):\n    code = Uncoded(n)\n    if how == "decode":\n        return code.k',
    ],
)
def test_what_only_asks_about_codes_is_no_registry(source):
    assert not registries("analysis/new.py", source)
