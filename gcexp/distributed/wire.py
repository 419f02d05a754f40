"""What is sent between ranks: bytes of a known size, as connections of `multiprocessing` send them. Never a pickle."""

from __future__ import annotations

import hmac
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import NamedTuple, TypeAlias

import numpy as np

Content: TypeAlias = bytes | memoryview | np.ndarray
_HELLO = struct.Struct("<32sq")  # token, rank
_HEAD = struct.Struct("<??q")  # of a `Said`
_SENTENCE = 4096  # bytes of a sentence, at most
_INTRODUCTION = 10.0  # seconds in which a connection must present the token


@dataclass(frozen=True)
class Seat:
    """A rank's place in an exchange of messages of `length` numbers of four bytes."""

    rank: int
    length: int
    token: bytes  # 32 random bytes that all ranks know, and nobody else
    bind: str = "127.0.0.1"
    patience: float = 30.0
    most_answers: int = 1024  # that are kept for late ranks


class Said(NamedTuple):
    """What rank 0 says of a step: the answer, what to do if it is not `decided` yet, or why it has `failed`."""

    content: Content
    decided: bool = True
    failed: bool = False
    latest: int = -1  # newest decided step


def tell(connection: Connection, said: Said) -> None:
    """Send it."""
    connection.send_bytes(_HEAD.pack(*said[1:]))
    content = memoryview(said.content).cast("B")
    connection.send_bytes(content[:_SENTENCE] if said.failed else content)


def listen(connection: Connection, size: int) -> Said:
    """What the other side tells, at most so many bytes."""
    head = _HEAD.unpack(connection.recv_bytes(_HEAD.size))
    said = Said(connection.recv_bytes(max(size, _SENTENCE)), *head)
    if said.failed:
        raise RuntimeError(bytes(said.content).decode(errors="replace"))
    return said


def connect(address: tuple[str, int], seat: Seat, silence: float) -> Connection:
    """Connect to rank 0 and present the token; `silence` bounds how long reading or sending waits."""
    connection = socket.create_connection(address, timeout=silence)
    connection.sendall(_HELLO.pack(seat.token, seat.rank))
    return _connection(connection, silence)


def _connection(of: socket.socket, silence: float = 0.0) -> Connection:
    of.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    of.settimeout(None)
    longest = struct.pack("ll", int(silence), int(silence % 1 * 1e6))
    for waiting in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        of.setsockopt(socket.SOL_SOCKET, waiting, longest)
    return Connection(of.detach())


def admit(seat: Seat, serve: Callable[[Connection, int], None]) -> socket.socket:
    """Listen, and give each connection that presents the token to ``serve(connection, rank)``, in a thread of its own.

    Others are closed, and so is every connection behind `serve`.
    """
    listening = socket.create_server((seat.bind, 0))

    def accept() -> None:
        with suppress(OSError):  # it was closed
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=introduce, args=(connection,), daemon=True).start()

    def introduce(connection: socket.socket) -> None:
        with connection, suppress(OSError, EOFError):
            connection.settimeout(_INTRODUCTION)
            hello = connection.recv(_HELLO.size)  # so few bytes come at once
            if len(hello) == _HELLO.size and hmac.compare_digest(hello[:32], seat.token):
                with _connection(connection) as admitted:
                    serve(admitted, _HELLO.unpack(hello)[1])

    threading.Thread(target=accept, daemon=True).start()
    return listening


def admit_no_more(listening: socket.socket) -> None:
    """Close what `admit` has opened."""
    with suppress(OSError):  # a blocked accept ends by this alone
        listening.shutdown(socket.SHUT_RDWR)
    listening.close()
