"""What a person gives to `gcexp.simulate`, `train` and `sweep`: overrides as text, and keys with values of Python."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gcexp.errors import UserError
from gcexp.run.build import GROUPS_BUILT, build
from gcexp.run.dependencies import digest_of
from gcexp.run.seeds import seed_range, spell_seeds
from gcexp.schema import quoted
from gcexp.traces.record import TraceFile

if TYPE_CHECKING:
    from gcexp.delays import Trace

_TEXT = (str, int, float, list, tuple, type(None))  # what an override can spell


@dataclass(frozen=True)
class Given:
    """What was given for one run.

    Attributes
    ----------
    overrides : list of str
        All that options and values say.
    objects : dict
        Objects in the place of options, by group.
    keys : dict
        The value of each key as a table shows it.
    """

    overrides: list[str]
    objects: dict[str, Any]
    keys: dict[str, Any]

    @classmethod
    def of(cls, overrides: Iterable[str], keys: Mapping[str, Any]) -> Given:
        """Read overrides, and keys whose values are names, numbers, lists or objects.

        Raises
        ------
        UserError
            For an override that is no text, and for an object that a key does not take.

        Examples
        --------
        >>> Given.of(["scheme=cgc", "n=6"], {"n": 6}).overrides  # as advice and a call may both say it
        ['scheme=cgc', 'n=6']
        """
        found = cls([], {}, {})
        for text in overrides:
            _require_text(text)
            key, _, value = text.partition("=")
            found.overrides.append(text)
            found.keys[key] = value
        for key, value in keys.items():
            if not found._says(key, value):
                found._add(key, value)
        return found

    def _says(self, key: str, value: Any) -> bool:
        """Whether an override gives this key the same value already, as in ``simulate(*advice.scheme, n=6)``."""
        if key not in self.keys or not isinstance(value, _TEXT):
            return False
        return spell_value(value) == self.keys[key]

    def _add(self, key: str, value: Any) -> None:
        """Take up one key."""
        is_array = hasattr(value, "shape") and not hasattr(value, "draw")
        if key == "delay" and (is_array or isinstance(value, TraceFile)):
            self.objects[key], self.keys[key] = _trace_in_memory(value)
            return
        value = _value_of(key, value)
        if isinstance(value, _TEXT):
            self.overrides.append(f"{key}={spell_value(value)}")
            self.keys[key] = value
        else:
            self.objects[key] = value
            self.keys[key] = repr(value)


def _require_text(override: object) -> None:
    """Refuse an override that is no text."""
    if isinstance(override, str):
        return
    sentence = f"an override is text, as in 'code.beta=15', got {quoted(override)}"
    if isinstance(override, Mapping):
        sentence += "; a mapping is given as **keys"
    raise UserError(sentence)


def _value_of(key: str, value: Any) -> Any:
    """The value of a key: what an override can spell, or an object of the key's kind."""
    if hasattr(value, "tolist") and key not in GROUPS_BUILT:  # numbers of numpy's
        value = value.tolist()
    if key == "seeds":
        return spell_seeds(seed_range(value))
    if isinstance(value, _TEXT):
        return value
    if isinstance(value, Mapping) and key not in GROUPS_BUILT:
        return _spell_mapping(value)
    if key not in GROUPS_BUILT:
        known = ", ".join(GROUPS_BUILT)
        raise UserError(f"{key} is a name or a number, got {quoted(value)} (objects are taken for: {known})")
    return build({key: value}, key)


def _spell_mapping(value: Mapping) -> str:
    """A mapping of numbers as an override spells it.

    >>> _spell_mapping({3: 2.0, "others": 1})
    '{3: 2.0, others: 1}'
    """
    parts = [f"{key}: {spell_value(number)}" for key, number in value.items()]
    return "{" + ", ".join(parts) + "}"


def _trace_in_memory(times: Any) -> tuple[Trace, str]:
    """The delay model that replays times in memory, and a name for it.

    They are a record, a frame with its columns, or an array (iterations, workers).
    """
    from gcexp.delays import Trace
    from gcexp.traces.clean import record_in_memory

    file = times if isinstance(times, TraceFile) else record_in_memory(times)
    recorded = file.values["time"]
    rows, workers = recorded.shape
    digest = digest_of(recorded.tolist())[:6]
    return Trace(file), f"{file.name} of {rows} iterations and {workers} workers ({digest})"


def spell_value(value: Any) -> str:
    """A value as an override spells it; an object by its repr."""
    if isinstance(value, str):
        return value
    if isinstance(value, _TEXT):
        return json.dumps(value)
    return repr(value)
