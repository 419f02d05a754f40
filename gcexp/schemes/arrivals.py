"""Messages in the order in which they arrive, for waiting rules that look at each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from gcexp.codes import Code

_CHUNK = 2**22  # entries of one array


class Arrivals:
    """Arrivals of all messages in I iterations, sorted; ties go to the lower worker index, then in sending order.

    Attributes
    ----------
    time, message : ndarray (I, M)
        When the p-th message arrives, and which row of the encoding it is.
    """

    def __init__(self, code: Code, time: np.ndarray):
        by_worker = np.lexsort((code.rank, code.owner))
        order = np.argsort(time[:, by_worker], axis=1, kind="stable")
        self.code, self.message = code, by_worker[order]
        self.time = np.take_along_axis(time, self.message, axis=1)

    @classmethod
    def chunks(cls, code: Code, arrive: Callable, width: int = 1) -> Iterator[tuple[slice, Arrivals]]:
        """Arrivals of some iterations at a time, so that arrays with `width` entries each stay small."""
        most = int(code.messages.max(initial=0))
        by_rank = [arrive(r).reshape(-1, code.n) for r in range(1, most + 1)]
        iterations = len(by_rank[0])
        messages = len(code.owner)
        step = max(1, _CHUNK // max(1, width, messages))
        for i in range(0, iterations, step):
            rows = slice(i, i + step)
            time = np.empty((len(by_rank[0][rows]), messages))
            for r, at in enumerate(by_rank):
                message = np.flatnonzero(code.rank == r)
                time[:, message] = at[rows, code.owner[message]]
            yield rows, cls(code, time)

    @property
    def place(self) -> np.ndarray:
        """Place of each message in the order, (I, M)."""
        place = np.empty(self.message.shape, dtype=np.intp)
        np.put_along_axis(place, self.message, np.arange(self.message.shape[1])[None], axis=1)
        return place

    def responses(self, first: np.ndarray, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Messages of each worker among the `first` ones of some iterations, int16."""
        message = self.message[rows]
        early = np.arange(self.message.shape[1]) < first[:, None]
        responses = np.zeros((len(message), self.code.n), dtype=np.int16)
        row, at = np.nonzero(early)
        np.add.at(responses, (row, self.code.owner[message[row, at]]), 1)
        return responses
