"""What is sent between ranks: bytes of a known size, as connections of `multiprocessing` send them. Never a pickle."""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import NamedTuple, TypeAlias

import numpy as np

Content: TypeAlias = bytes | memoryview | np.ndarray
HELLO = struct.Struct("<32sq")  # token, rank
_HEAD = struct.Struct("<??q")  # of a `Said`
_ASKED = struct.Struct("<256s")  # what stands before a rank's message
_SENTENCE = 4096  # bytes of a sentence, at most
_WELCOME = b"welcome"
_PAUSE = 0.1  # seconds between two attempts to be let in


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


def ask(connection: Connection, batch: str, content: Content) -> None:
    """Send a rank's message of a step, and before it of which global batch it is."""
    connection.send_bytes(_ASKED.pack(batch.encode()))
    connection.send_bytes(memoryview(content).cast("B"))


def asked(connection: Connection, size: int) -> tuple[str, bytes] | None:
    """Of which batch a rank's message is, and the message, at most so many bytes; None where it says something else."""
    head = connection.recv_bytes(_ASKED.size)
    if len(head) != _ASKED.size:
        return None
    (batch,) = _ASKED.unpack(head)
    return batch.rstrip(b"\0").decode(errors="replace"), connection.recv_bytes(size)


def tell(connection: Connection, said: Said) -> None:
    """Send it."""
    connection.send_bytes(_HEAD.pack(said.decided, said.failed, said.latest))
    content = memoryview(said.content).cast("B")
    connection.send_bytes(content[:_SENTENCE] if said.failed else content)


def listen(connection: Connection, size: int) -> Said:
    """What the other side tells, at most so many bytes."""
    decided, failed, latest = _HEAD.unpack(connection.recv_bytes(_HEAD.size))
    content = connection.recv_bytes(max(size, _SENTENCE))
    if failed:
        raise RuntimeError(content.decode(errors="replace"))
    return Said(content, decided, failed, latest)


def connect(address: tuple[str, int], seat: Seat, silence: float) -> Connection:
    """A connection to rank 0, which has let this rank in; `silence` bounds how long reading or sending waits.

    Rank 0 closes connections that it does not know yet if too many others want to be heard, so this tries for as long.

    Raises
    ------
    RuntimeError
        If rank 0 does not let this rank in.
    """
    end = time.monotonic() + silence
    while True:
        try:
            return _introduced(address, seat, silence)
        except (OSError, EOFError) as error:
            if time.monotonic() >= end:
                host, port = address
                reason = str(error)
                if isinstance(error, BlockingIOError):
                    reason = "it says nothing"
                elif isinstance(error, EOFError):
                    reason = "it closed the connection"
                told = f"rank 0 at {host}:{port} has not let rank {seat.rank} in for {silence:g} s ({reason})"
                raise RuntimeError(told) from None
        time.sleep(_PAUSE)


def _introduced(address: tuple[str, int], seat: Seat, silence: float) -> Connection:
    """One attempt to present the token and to be welcomed."""
    with socket.create_connection(address, timeout=silence) as outgoing:
        outgoing.sendall(HELLO.pack(seat.token, seat.rank))
        connection = connection_of(outgoing, silence)
    try:
        connection.recv_bytes(len(_WELCOME))
    except BaseException:
        connection.close()
        raise
    return connection


def welcome(connection: Connection) -> None:
    """Say to a rank that it is let in."""
    connection.send_bytes(_WELCOME)


def connection_of(of: socket.socket, silence: float = 0.0) -> Connection:
    """A connection that takes the socket over; 0 seconds of silence are no bound."""
    of.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    of.settimeout(None)
    longest = struct.pack("ll", int(silence), int(silence % 1 * 1e6))
    for waiting in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        of.setsockopt(socket.SOL_SOCKET, waiting, longest)
    return Connection(of.detach())
