"""How the chunks that the clock has played become a timeline, in which each distinct pattern is decoded once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from gcexp.errors import require
from gcexp.schemes.survivors import distinct_words, packed, unpacked
from gcexp.seeding import rng
from gcexp.timeline.chunks import PlayedChunk
from gcexp.timeline.decoding import CERTIFIED, SAMPLE, decode_patterns
from gcexp.timeline.timeline import Timeline

if TYPE_CHECKING:
    from gcexp.schemes import Scheme


def collect_timeline(
    scheme: Scheme, seeds: tuple[int, ...], iterations: int, chunks: Iterable[PlayedChunk]
) -> Timeline:
    """The timeline of chunks that were played: of an iteration its duration and a bit for each message are kept."""
    code = scheme.decoder
    most_messages = max(1, int(code.messages.max(initial=1)))
    steps, completed = np.full(len(seeds), iterations), None
    if scheme.lag:
        whole_run, completed = _decoded_over_time(scheme, len(seeds), iterations, chunks)
        steps = (completed < iterations).cumprod(axis=1).sum(axis=1)
        chunks = [whole_run]
    duration = np.empty((len(seeds), iterations))
    words_of_pattern = -(-code.n * most_messages // 64)
    words = np.empty((len(seeds), iterations, words_of_pattern), dtype=np.uint64)
    for chunk in chunks:
        duration[chunk.place] = chunk.duration
        packed_responses = packed(chunk.responses.reshape(-1, code.n), most_messages)
        words[chunk.place] = packed_responses.reshape(*chunk.duration.shape, -1)
    words = words.reshape(-1, words_of_pattern)
    first, pattern = distinct_words(words)
    patterns = unpacked(words[first], code.n, most_messages)  # as the decoder counts messages
    if scheme.decodes:

        def sample(promised: np.ndarray) -> np.ndarray:
            return rng(seeds[0], CERTIFIED).permutation(promised)[:SAMPLE]

        coefficients, residual = decode_patterns(code, patterns, sample)
    else:
        coefficients = np.zeros((len(patterns), code.k), bool)
        residual = np.full(len(patterns), np.nan)
    return Timeline(
        seeds=np.array(seeds),
        steps=steps,
        duration=duration,
        pattern=pattern.reshape(duration.shape),
        patterns=scheme.counted(patterns),
        coefficients=coefficients,
        residual=residual,
        messages=None if code is scheme.code else patterns,
        completed=completed,
    )


def _decoded_over_time(
    scheme: Scheme, seeds: int, iterations: int, chunks: Iterable[PlayedChunk]
) -> tuple[PlayedChunk, np.ndarray]:
    """All chunks of a code over time as one, with the messages that each gradient was decoded from, and `completed`.

    A gradient is decoded once its messages meet all quorums, or `lag` iterations later from what there is by then. The
    iterations that are not decoded before the run ends, and those behind them, which are no part of the run, are given
    the messages of the first one.
    """
    code, lag = scheme.code, scheme.lag
    require(
        iterations > lag,
        f"{scheme.wait!r} decodes a gradient up to {lag} iterations later: iterations must be at least {lag + 1}, got "
        f"{iterations}",
    )
    duration = np.empty((seeds, iterations))
    heard = np.empty((seeds, iterations, lag + 1, code.n), dtype=np.int16)
    for chunk in chunks:
        duration[chunk.place] = chunk.duration
        heard[chunk.place] = chunk.responses
    counts = np.zeros((seeds, iterations, code.n), dtype=np.int16)
    completed = np.full((seeds, iterations), iterations)
    for age in range(lag + 1):
        # Iterations t that the run still follows at t + age, and what is heard for each of them then.
        followed = slice(0, iterations - age)
        is_open = completed[:, followed] == iterations
        heard_now = is_open[..., None] * heard[:, age:, age]
        # What comes twice counts once.
        counts[:, followed] = np.minimum(counts[:, followed] + heard_now, code.messages)
        decodable = code.met(counts[:, followed].reshape(-1, code.n)).reshape(is_open.shape)
        completed_now = is_open & (decodable | (age == lag))
        now = np.arange(age, iterations)
        completed[:, followed] = np.where(completed_now, now, completed[:, followed])
    never_completed = (completed == iterations).cumsum(axis=1) > 0
    counts[never_completed] = np.broadcast_to(counts[:, :1], counts.shape)[never_completed]
    return PlayedChunk(0, 0, duration, counts), completed
