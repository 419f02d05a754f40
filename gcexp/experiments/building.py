"""A run from the config of a person's own Hydra app."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gcexp.errors import UserError, unknown
from gcexp.run.compose import run_file
from gcexp.run.for_hydra import KEY, RUN
from gcexp.run.given import spell_value
from gcexp.run.options import GROUPS, search_path
from gcexp.run.run import Run
from gcexp.schema import fitted, is_whole, quoted

if TYPE_CHECKING:
    from omegaconf import DictConfig

#: What a scheme's file declares, and nobody gives.
_DECLARED = ("exact", "bound", "decodes", "benchmark")


def build(config: DictConfig | Mapping[str, Any], label: str = "") -> Run:
    """The run that a Hydra app composed from gcexp's options, with every part of it checked.

    Parameters
    ----------
    config : DictConfig or mapping
        The config of an app with ``gcexp/run`` in its list of defaults, or what stands there below ``gcexp``.
    label : str
        What tables call the run.

    Returns
    -------
    Run
        What `gcexp.simulate` and `gcexp.train` take in the place of overrides: its `clock` is the one that the same
        options have on the command line, bit by bit. It knows values and not the names of its options.

    Raises
    ------
    UserError
        For a config without a run, a key that no option has, with the nearest one, a reference that cannot be resolved,
        and values that the mathematics does not allow.

    Examples
    --------
    >>> from hydra import compose, initialize
    >>> import gcexp
    >>> with initialize(version_base="1.3"):
    ...     config = compose(overrides=["+gcexp=run", "gcexp/scheme=frc", "gcexp.n=4", "gcexp.s=1"])
    >>> run = gcexp.build(config)
    >>> run.scheme.code
    FractionalRepetition(n=4, d=2, k=4)
    >>> len(gcexp.simulate(run))
    2
    """
    label = fitted(str, label, "label")
    node = _below_key(config)
    composed = _resolved(node)
    run, _ = run_file(search_path())
    _require_keys_of_a_run(composed, run, node)
    _require_others(composed["delay"])
    overrides = []
    for key, default in run.items():
        if composed[key] != default and key not in _DECLARED:
            overrides.append(f"{key}={spell_value(composed[key])}")
    return Run.of_config(composed, overrides, trains=False, label=label)


def _below_key(config: DictConfig | Mapping[str, Any]) -> DictConfig:
    """What stands below ``gcexp`` in the config of an app; else the config itself."""
    from omegaconf import DictConfig, OmegaConf

    if not isinstance(config, DictConfig):
        config = OmegaConf.create(dict(fitted(Mapping, config, "config")))
    node = config.get(KEY, config)
    if not isinstance(node, DictConfig):
        raise UserError(f"{KEY} is a mapping with the keys of a run, got {quoted(node)}")
    return node


def _resolved(node: DictConfig) -> dict[str, Any]:
    """Plain values, with what references stand for."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        return OmegaConf.to_container(node, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        sentence, *_ = str(error).splitlines()
        raise UserError(f"{error.full_key or KEY}: {sentence}") from None


def _require_keys_of_a_run(composed: dict[str, Any], run: dict[str, Any], node: DictConfig) -> None:
    """Refuse what lacks a key of a run, and a key that is none and that no value refers to."""
    from omegaconf import OmegaConf

    for key in (*run, "code", "wait", "delay", "task", "optimizer"):
        if key not in composed:
            raise UserError(f"{KEY} has no key {key!r}: write {RUN} into the list of defaults of the app")
    for group in GROUPS:
        name = composed.get(group)
        if isinstance(name, str):
            raise UserError(
                f"{KEY}.{group}: an option is chosen in the list of defaults, 'override {KEY}/{group}: {name}', or on "
                f"the command line, {KEY}/{group}={name}"
            )
    known = {*run, *GROUPS} - {"scheme"}
    written = str(OmegaConf.to_container(node, resolve=False))
    referred_to = set(re.findall(rf"\$\{{{KEY}\.(\w+)", written))
    for key in composed:
        if key not in known and key not in referred_to:
            raise UserError(f"{KEY}: {unknown('key', key, known)}")


def _require_others(delay: Any) -> None:
    """Refuse numbers of some workers alone: Hydra has put them in the place of the number of all others."""
    if not isinstance(delay, dict):
        return
    for key, value in delay.items():
        if isinstance(value, dict) and value and all(is_whole(worker) for worker in value):
            raise UserError(
                f"{KEY}.delay.{key}: name the number of all other workers too, as in {{3: 2.0, others: 1.0}}, "
                f"got {quoted(value)}"
            )
