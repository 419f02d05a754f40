"""Gradient coding experiments: codes, waiting rules, delay models and learning tasks on one simulated clock."""

from importlib import import_module

__version__ = "1.0.0"
__all__ = ["advise", "benchmark", "compare", "error", "fit", "plot", "show", "simulate", "sweep", "train"]


def __getattr__(name: str):
    if (
        name in __all__
    ):  # loaded when used: every job imports this package; editors and type checkers read __init__.pyi
        module = {"advise": "advice.advise", "benchmark": "benchmarking", "fit": "advice.fit"}.get(
            name, "experiments"
        )
        return getattr(import_module(f"gcexp.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
