"""A code whose messages are counted one by one, for schemes whose workers compute them in changing orders."""

from __future__ import annotations

import numpy as np

from gcexp.codes.base import Code
from gcexp.errors import require
from gcexp.schema import quoted


class ByMessage(Code):
    """A code as if each message had a worker of its own: a pattern (U, M) says which messages the master has.

    `Code.decode` of a count takes the first messages of a worker in the order of the code's rows. Where workers may
    compute in another order, a count does not say which messages have arrived; here each is counted by itself. Loads
    and times belong to the code itself.

    Parameters
    ----------
    code : Code
        It must decode any set of messages: `Code.message_quorums`.

    Raises
    ------
    ParameterError
        Where the code decodes only the first messages of each worker.

    Examples
    --------
    >>> code = ByMessage(Code([[1, 0, 0], [0, 1, 1], [0, 0, 1]], owner=[0, 0, 1], promise="least_squares"))
    >>> code.decode([[0, 1, 0], [1, 1, 0]]).coefficients.round(9)
    array([[0., 1., 1.],
           [1., 1., 1.]])
    """

    def __init__(self, code: Code):
        require(isinstance(code, Code), f"code must be a gradient code, got {quoted(code)}")
        quorums = code.message_quorums
        require(
            quorums is not None,
            f"{code!r} decodes the first messages of each worker only, in the order of its rows, and no others",
        )
        super().__init__(
            code.encoding,
            blocks=code.blocks,
            quorums=quorums or (),
            promise=code.promise,
            recovers=code.recovers,
        )
        self.code = code

    def weights(self, responses):
        return self.code.weights_of(np.asarray(responses) > 0)


def by_message(code: Code) -> Code:
    """The code counted message by message: itself, where its rows are the messages of workers 0, 1, ..., n-1."""
    if np.array_equal(code.owner, np.arange(code.n)):
        return code
    return ByMessage(code)
