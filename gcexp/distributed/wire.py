"""What is sent between ranks: bytes of a known size, as connections of `multiprocessing` send them. Never a pickle."""

from __future__ import annotations

import hashlib
import hmac
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np

GOODBYE = b"."
_HELLO = struct.Struct("<32sqq")  # token, rank, step
_HEAD = struct.Struct(
    "<?q"
)  # whether an answer follows, newest decided step; then a few bytes more, or a sentence
_MOST_HEAD = 4096
_INTRODUCTION = 10.0  # seconds in which a connection must present the token


@dataclass(frozen=True)
class Seat:
    """A rank's place in an exchange of messages of `length` numbers, and its bounds as in `Coded`."""

    rank: int
    length: int
    token: bytes  # 32 random bytes that all ranks know, and nobody else
    bind: str = "127.0.0.1"
    patience: float = 30.0
    linger: float = 30.0
    most_kept: int = 2**28

    @property
    def name(self) -> str:
        """Of this exchange's keys in the process group's store; no other has it."""
        return f"gcexp/{hashlib.sha256(self.token).hexdigest()[:16]}"

    @property
    def most_answers(self) -> int:
        """Answers that may be kept for late ranks; two are needed in any case."""
        return max(2, self.most_kept // (4 * self.length))


def connect(address: tuple[str, int], seat: Seat, silence: float, step: int = 0) -> Connection:
    """Connect to a rank and present the token; `silence` bounds how long a read waits."""
    connection = socket.create_connection(address, timeout=silence)
    connection.sendall(_HELLO.pack(seat.token, seat.rank, step))
    return _connection(connection, silence)


def _connection(of: socket.socket, silence: float = 0.0) -> Connection:
    of.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    of.setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(silence), int(silence % 1 * 1e6))
    )
    of.settimeout(None)
    return Connection(of.detach())


def send_answer(connection: Connection, answer: np.ndarray, latest: int, more: bytes = b"") -> None:
    """Send an answer, the newest decided step and a few bytes more."""
    connection.send_bytes(_HEAD.pack(True, latest) + more)
    connection.send_bytes(memoryview(answer).cast("B"))


def send_failure(connection: Connection, sentence: str) -> None:
    """Send a sentence instead of an answer."""
    connection.send_bytes(_HEAD.pack(False, -1) + sentence.encode()[: _MOST_HEAD - _HEAD.size])


def receive_answer(connection: Connection, length: int) -> tuple[np.ndarray, int, bytes]:
    """What `send_answer` sent; the sentence of `send_failure` is a RuntimeError."""
    head = connection.recv_bytes(_MOST_HEAD)
    follows, latest = _HEAD.unpack_from(head)
    if not follows:
        raise RuntimeError(head[_HEAD.size :].decode())
    answer = np.frombuffer(
        connection.recv_bytes(4 * length), np.float32
    ).copy()  # one that torch may write to
    if len(answer) != length:
        raise ConnectionError("an answer of another size")
    return answer, latest, head[_HEAD.size :]


class Listener:
    """Gives each connection that presents the token to ``serve(connection, rank, step)``, in a thread of its own.

    Others are closed, and so is every connection behind `serve`.
    """

    def __init__(self, seat: Seat, serve: Callable[[Connection, int, int], None]):
        self._token, self._serve = seat.token, serve
        self._socket = socket.create_server((seat.bind, 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._admit, args=(connection,), daemon=True).start()

    def _admit(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, EOFError):
            connection.settimeout(_INTRODUCTION)
            hello = connection.recv(_HELLO.size)  # so few bytes come at once
            if len(hello) == _HELLO.size and hmac.compare_digest(hello[:32], self._token):
                with _connection(connection) as admitted:
                    self._serve(admitted, *_HELLO.unpack(hello)[1:])

    def close(self) -> None:
        """Accept no more."""
        with suppress(OSError):  # a blocked accept ends by this alone
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
