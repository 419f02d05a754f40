"""On which device a run is trained."""

from __future__ import annotations

import inspect

from gcexp.errors import require, require_known
from gcexp.run.build import locate

DEVICES = ("auto", "cpu", "cuda", "mps")  # as in gcexp.tasks.devices, which loads torch


def with_device(task: dict, name: object) -> dict:
    """The options of a task that shall be trained on a device, where its option file has no key for it.

    A class without an option ``device`` computes in numpy: it takes ``auto`` and ``cpu``, which change nothing.

    Raises
    ------
    ParameterError
        For another name, and for a GPU where the class cannot use one.

    Examples
    --------
    >>> with_device({"_target_": "gcexp.tasks.linear_regression.LinearRegression"}, "auto")
    {'_target_': 'gcexp.tasks.linear_regression.LinearRegression'}
    """
    require_known("task.device", name, DEVICES)
    built = locate(task["_target_"], "task._target_")
    if "device" in inspect.signature(built).parameters:
        return {**task, "device": name}
    numpy_only = f"{built.__name__} computes in numpy on the processor; use auto or cpu"
    require(name in ("auto", "cpu"), f"task.device={name}: {numpy_only}")
    return task


def trained_on(task: object) -> str | None:
    """The device that a task's option ``device`` means here; None for one without, which uses the processor."""
    name = task.get("device") if isinstance(task, dict) else getattr(task, "device", None)
    if name != "auto":
        return name
    from gcexp.tasks.devices import device_of

    return device_of(name)
