"""Gradient coding experiments: codes, waiting rules, delay models and learning tasks on one simulated clock."""

from importlib import import_module

__version__ = "1.0.0"
__all__ = ["advise", "benchmark", "compare", "error", "fit", "plot", "show", "simulate", "sweep", "train"]


#: Modules of the functions that are not in `experiments`.
_MODULES = {"advise": "advice.advise", "benchmark": "benchmarking.table", "fit": "advice.fit"}


def __getattr__(name: str):
    """A function of the package, loaded when it is first used, because every job imports the package.

    Editors and type checkers read ``__init__.pyi``.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"gcexp.{_MODULES.get(name, 'experiments')}")
    return getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
