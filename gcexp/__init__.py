"""Gradient coding experiments: codes, waiting rules, delay models and learning tasks on one simulated clock."""

from importlib import import_module

__version__ = "1.0.0"
__all__ = [
    "advise",
    "benchmark",
    "build",
    "compare",
    "error",
    "fit",
    "goodput",
    "plot",
    "show",
    "simulate",
    "sweep",
    "train",
]


#: Modules of the functions that are not in `experiments`: those of the package above this one.
_OF_THE_ADVISER = {
    "advise": "gcexp_adviser.remedies.advise",
    "benchmark": "gcexp_adviser.benchmark.table",
    "fit": "gcexp_adviser.diagnosis.fit",
    "goodput": "gcexp_adviser.goodput.table",
}


def __getattr__(name: str):
    """A function of the package, loaded when it is first used, because every job imports the package.

    Editors and type checkers read ``__init__.pyi``.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(_OF_THE_ADVISER.get(name, "gcexp.experiments"))
    except ModuleNotFoundError as error:
        if error.name != "gcexp_adviser":
            raise
        from gcexp.errors import UserError

        raise UserError(f"gcexp.{name} is a function of gcexp_adviser, which is not there") from None
    return getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
