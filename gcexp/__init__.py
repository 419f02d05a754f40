"""Gradient coding experiments: codes, waiting rules, delay models and learning tasks on one simulated clock."""

__version__ = "1.0.0"
__all__ = ["benchmark", "compare", "error", "plot", "show", "simulate", "sweep", "train"]


def __getattr__(name: str):
    if (
        name in __all__
    ):  # loaded when used: every job imports this package; editors and type checkers read __init__.pyi
        from gcexp import benchmarking, experiments

        return getattr(benchmarking if name == "benchmark" else experiments, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
