"""What is sent between ranks: a small header and raw float32 numbers of one known size. Nothing is unpickled."""

from __future__ import annotations

import hmac
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np

MESSAGE, ANSWER, GOODBYE, FAILED = range(4)
MOST_TEXT = 4096  # bytes of a sentence
INTRODUCTION = 10.0  # seconds in which a connection must present the token
_HEADER = struct.Struct("<BqqQ")  # kind, step, newest decided step, bytes that follow
_HELLO = struct.Struct("<32sqq")  # token, rank, step asked for


class BrokenTalk(ConnectionError):
    """The other side sent what no rank sends; the connection is closed."""


def send(connection: socket.socket, kind: int, step: int, latest: int = -1, body: memoryview | bytes = b"") -> None:
    """Send a header and what belongs to it."""
    connection.sendall(_HEADER.pack(kind, step, latest, memoryview(body).nbytes))
    if body:
        connection.sendall(body)


def receive(connection: socket.socket) -> tuple[int, int, int, int]:
    """The next header: kind, step, newest decided step, and the bytes that follow, which nothing was allocated for."""
    found = bytearray(_HEADER.size)
    fill(connection, memoryview(found))
    return _HEADER.unpack(found)


def fill(connection: socket.socket, view: memoryview, within: float | None = None) -> None:
    """Receive exactly as many bytes as `view` has, all of them `within` some seconds where that is said."""
    end = None if within is None else time.monotonic() + within
    while view:
        if end is not None:
            connection.settimeout(max(1e-3, end - time.monotonic()))
        got = connection.recv_into(view)
        if not got:
            raise ConnectionError("closed")
        view = view[got:]


def received(connection: socket.socket, length: int) -> tuple[np.ndarray, int]:
    """An answer of `length` numbers and the newest decided step; the other side's sentence is a RuntimeError."""
    kind, _, latest, size = receive(connection)
    if kind == FAILED and size <= MOST_TEXT:
        text = bytearray(size)
        fill(connection, memoryview(text))
        raise RuntimeError(text.decode("utf-8", "replace"))
    if kind != ANSWER or size != 4 * length:
        raise BrokenTalk("an answer of another size")
    answer = np.empty(length, np.float32)
    fill(connection, raw(answer))
    return answer, latest


def raw(values: np.ndarray) -> memoryview:
    """The bytes of an array, not copied."""
    return memoryview(values).cast("B") if len(values) else memoryview(b"")


def connect(address: tuple[str, int], token: bytes, rank: int, step: int, patience: float) -> socket.socket:
    """Connect to a rank and present the token."""
    connection = socket.create_connection(address, timeout=patience)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(_HELLO.pack(token, rank, step))
    return connection


class Listener:
    """Accepts connections and gives each that presents the token a thread of its own; others are closed.

    Parameters
    ----------
    bind : str
        Address on which it listens.
    token : bytes
        32 random bytes that all ranks know.
    serve : callable
        Called with the connection, the rank and the step that it names; the connection is closed after it.
    """

    def __init__(self, bind: str, token: bytes, serve: Callable[[socket.socket, int, int], None]):
        self._token, self._serve = token, serve
        self._socket = socket.create_server((bind, 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._introduced, args=(connection,), daemon=True).start()

    def _introduced(self, connection: socket.socket) -> None:
        hello = bytearray(_HELLO.size)
        with connection, suppress(OSError):
            fill(connection, memoryview(hello), INTRODUCTION)
            token, rank, step = _HELLO.unpack(hello)
            if hmac.compare_digest(token, self._token):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._serve(connection, rank, step)

    def close(self) -> None:
        """Accept no more."""
        with suppress(OSError):  # a blocked accept ends by this alone
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
