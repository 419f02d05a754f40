"""Rank 0's door: who presents the token is let in, and strangers can neither fill it nor close it."""

from __future__ import annotations

import hmac
import socket
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait

from gcexp.distributed import wire

_INTRODUCTION = 10.0  # seconds in which a connection must present the token
_MOST_UNKNOWN = 64  # connections that have not presented it yet; one more, and the oldest is closed
_PAUSE = 0.1  # seconds before a failed accept is tried again
_LOOK = 1.0  # seconds after which the thread looks whether the door was closed, where nothing else wakes it


class Door:
    """Listens on an address, and gives each connection that presents the token to ``serve(connection, rank)``.

    One thread accepts and reads tokens. A rank that is let in has a thread of its own, behind which its connection is
    closed. An accept that fails, as where a process may open no more files, is tried again until the door is closed.
    """

    def __init__(self, seat: wire.Seat, serve: Callable[[Connection, int], None]):
        self._seat = seat
        self._serve = serve
        self._unknown: dict[socket.socket, float] = {}  # until when each may present the token, oldest first
        self._warned = False
        self._closed = threading.Event()
        self._listening = socket.create_server((seat.bind, 0))
        self.address: tuple[str, int] = self._listening.getsockname()
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more; connections behind the door stay."""
        self._closed.set()
        with suppress(OSError):  # not every system can, and then the thread looks after a second
            self._listening.shutdown(socket.SHUT_RDWR)

    def _watch(self) -> None:
        """What the thread does until the door is closed."""
        with self._listening:
            while not self._closed.is_set():
                seconds = _LOOK
                if self._unknown:
                    first_end = min(self._unknown.values())
                    seconds = min(seconds, max(0.0, first_end - time.monotonic()))
                ready = wait([self._listening, *self._unknown], seconds)
                for stranger in [*self._unknown]:
                    if stranger in ready:
                        self._introduce(stranger)
                if self._listening in ready:
                    self._accept()
                self._close_unknown()
        for stranger in self._unknown:
            stranger.close()

    def _accept(self) -> None:
        """Take one more connection that nothing is known of."""
        try:
            stranger, _ = self._listening.accept()
        except OSError as error:
            if not self._closed.is_set():
                self._warn(error)
                self._closed.wait(_PAUSE)
            return
        self._unknown[stranger] = time.monotonic() + _INTRODUCTION

    def _close_unknown(self) -> None:
        """Close those that have presented no token in time, and the oldest if they are too many."""
        now = time.monotonic()
        too_many = len(self._unknown) - _MOST_UNKNOWN
        for place, (stranger, end) in enumerate([*self._unknown.items()]):
            if place < too_many or end <= now:
                del self._unknown[stranger]
                stranger.close()

    def _introduce(self, stranger: socket.socket) -> None:
        """Read what a connection presents, and let it in or close it."""
        del self._unknown[stranger]
        rank = None
        with suppress(OSError):
            stranger.setblocking(False)
            rank = self._rank_of(stranger.recv(wire.HELLO.size))  # so few bytes come at once
        if rank is None:
            stranger.close()
            return
        try:
            threading.Thread(target=self._let_in, args=(stranger, rank), daemon=True).start()
        except RuntimeError as error:  # there can be no more threads
            self._warn(error)
            stranger.close()

    def _rank_of(self, hello: bytes) -> int | None:
        """The rank that presents the token, or None."""
        if len(hello) != wire.HELLO.size:
            return None
        token, rank = wire.HELLO.unpack(hello)
        return rank if hmac.compare_digest(token, self._seat.token) else None

    def _let_in(self, known: socket.socket, rank: int) -> None:
        """What a rank's thread does."""
        with known, suppress(OSError, EOFError), wire.connection_of(known) as connection:
            self._serve(connection, rank)

    def _warn(self, error: Exception) -> None:
        """Say once why ranks may wait before they are let in."""
        if not self._warned:
            self._warned = True
            with suppress(UserWarning):  # which some programs turn into errors, and this thread must not end
                warnings.warn(f"rank 0 cannot let other ranks in, and tries again: {error}", stacklevel=2)
