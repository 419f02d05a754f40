"""The star's rank 0 among strangers, the batches, what is refused, and that nothing needs torch that should not."""

import errno
import os
import secrets
import socket
import struct
import subprocess
import sys
import threading
import tracemalloc
import types
import warnings
from functools import partial
from multiprocessing.connection import Connection

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader

from gcexp import codes
from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.distributed import Coded
from gcexp.distributed.decisions import Decisions
from gcexp.distributed.meeting import Meeting
from gcexp.distributed.refusals import check_rounding, check_scheme, warn_of_dropout
from gcexp.distributed.star import Collector, Sender
from gcexp.distributed.wire import Seat, welcome
from gcexp.errors import RankError, UserError
from gcexp.schemes import Deadline, Fastest, Fewest, Home, Restart, Scheme, SelectiveRepeat
from gcexp.seeding import rng

LENGTH = 1000
LONG = 300.0  # seconds, after which something hangs: on a machine with much else to do nothing is sooner
TOKEN = secrets.token_bytes(32)
ONE = Scheme(Uncoded(n=1), Fastest(s=0))


class Star:
    """Rank 0 of three, and what others do."""

    def __init__(self, **options):
        self.store, self.seat = dist.HashStore(), partial(Seat, length=LENGTH, token=TOKEN, patience=LONG)
        scheme = Scheme(CyclicRepetition(n=3, s=1), Fastest(s=1))
        self.end = Collector(self.store, Decisions(scheme), self.seat(0, **options))

    def stranger(self):
        host, port = self.store.get("address").decode().split()
        return socket.create_connection((host, int(port)), timeout=LONG)

    def sender(self, rank):
        return Sender(self.store, self.seat(rank))

    def train(self, steps, *senders):
        """Take part with all messages of rank 0 and of some senders; rank 0's answers."""

        def part(end):
            return [bytes(end.exchange(step, message(step)).content) for step in range(steps)]

        threads = [threading.Thread(target=part, args=(sender,), daemon=True) for sender in senders]
        for thread in threads:
            thread.start()
        answers = part(self.end)
        for thread in threads:
            thread.join(LONG)
            assert not thread.is_alive()
        assert self.end.latest == steps - 1
        return answers


def message(step):
    return np.full(LENGTH, 1.0 + step, np.float32)


def closes(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_strangers_are_closed_and_the_run_goes_on():
    star, draw = Star(), rng(0, "gcexp.strangers")
    hellos = [draw.bytes(draw.integers(1, 200)) for _ in range(460)]
    hellos += [TOKEN[:length] for length in range(1, 21)]
    hellos += [struct.pack("<32sq", TOKEN, rank) for rank in (-1, 0, 3, 2**62)] * 5
    opened = []
    for hello in hellos:
        opened.append(star.stranger())
        opened[-1].sendall(hello)
    senders = [star.sender(rank) for rank in (1, 2)]
    assert all(map(closes, opened)) and len(opened) == 500
    star.train(20, *senders)
    for sender in senders:
        sender.close()
    with pytest.raises(OSError):  # all ranks were there: nobody is heard any more
        star.stranger()
    star.end.close(LONG)


def test_a_stranger_has_ten_seconds(monkeypatch):
    monkeypatch.setattr("gcexp.distributed.door._INTRODUCTION", 0.2)
    assert closes(Star().stranger())


@pytest.mark.parametrize("size", [1, 4 * LENGTH - 4, 4 * LENGTH + 4, 2**31 - 1, -5])
def test_a_message_of_another_size_ends_a_rank_and_allocates_nothing(size):
    star = Star()
    bad, good = star.stranger(), star.sender(2)
    bad.sendall(struct.pack("<32sq", TOKEN, 1))
    assert bad.recv(100).endswith(b"welcome")
    tracemalloc.start()
    bad.sendall(struct.pack("!i", size) + bytes(min(max(size, 0), 8 * LENGTH)))
    assert closes(bad)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1e6
    star.train(5, good)


def test_a_late_rank_gets_stored_answers_until_it_is_too_far_behind():
    star = Star(most_answers=10)
    late, good = star.sender(1), star.sender(2)
    answers = star.train(8, good)
    assert late.exchange(0, message(0)).content == answers[0] and late.latest == 7
    assert all(late.exchange(step, None).content == answers[step] for step in range(1, 8))
    star = Star(most_answers=10)
    late, good = star.sender(1), star.sender(2)
    star.train(30, good)
    with pytest.raises(RuntimeError, match="rank 1 .* 11 steps.* most_kept"):
        late.exchange(0, message(0))


def test_silent_strangers_are_bounded_and_keep_no_rank_out(monkeypatch):
    monkeypatch.setattr("gcexp.distributed.door._INTRODUCTION", 10 * LONG)
    star = Star()
    silent = [star.stranger() for _ in range(300)]
    assert all(map(closes, silent[: 300 - 64]))  # the oldest: only so many are kept
    senders = [star.sender(rank) for rank in (1, 2)]
    star.train(5, *senders)
    for sender in senders:
        sender.close()
    star.end.close(LONG)
    assert all(map(closes, silent))


def test_a_door_whose_accept_fails_opens_again(monkeypatch):
    star, accept, failures = Star(), socket.socket.accept, [*range(5)]

    def failing(listening):
        if failures:
            failures.pop()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return accept(listening)

    monkeypatch.setattr(socket.socket, "accept", failing)
    with pytest.warns(UserWarning, match="Too many open files"):
        senders = [star.sender(rank) for rank in (1, 2)]
    assert not failures
    star.train(5, *senders)


def test_a_rank_that_is_not_let_in_is_told_where_it_knocked():
    star = Star()
    with pytest.raises(RuntimeError, match=r"rank 0 at 127\.0\.0\.1:\d+ has not let rank 7 in"):
        Sender(star.store, Seat(7, LENGTH, TOKEN, patience=0.1))  # there are three
    star.train(5, star.sender(1), star.sender(2))


@pytest.mark.parametrize("length", [LENGTH, 10_000_000])  # a large message fills all buffers
def test_a_rank_0_that_neither_reads_nor_writes_is_named(length):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def let_in():
            connection = Connection(listening.accept()[0].detach())
            welcome(connection)
            held.append(connection)

        held = []
        store = dist.HashStore()
        store.set("address", "{} {}".format(*listening.getsockname()))
        threading.Thread(target=let_in, daemon=True).start()
        with pytest.raises(RuntimeError, match="rank 0"):
            Sender(store, Seat(1, length, TOKEN, patience=1.0)).exchange(0, np.zeros(length, np.float32))


def test_a_deadline_counts_from_the_step_before():
    asked = Decisions(Scheme(Uncoded(n=3), Deadline(time=0.5)))
    assert asked.stop(np.array([0.1, np.inf, 0.6])) == (0.5, (True, False, False))


def test_what_cannot_work_is_refused_by_name(alone):
    hooked, smaller, buffered = alone(), alone(), nn.Linear(2, 1)
    hooked.register_comm_hook(None, lambda state, bucket: None)
    smaller.process_group = types.SimpleNamespace(size=lambda: 2)
    buffered.register_buffer("seen", torch.zeros(1))
    later = Scheme(Uncoded(n=1), Deadline(time=1.0))
    for told, model, scheme, options in [
        ("DistributedDataParallel.* Linear", nn.Linear(2, 1), ONE, {}),
        ("find_unused_parameters=True", alone(find_unused_parameters=True), ONE, {}),
        ("(forward_sync|broadcast)_buffers=False", alone(buffered, broadcasts=True), ONE, {}),
        ("communication hook", hooked, ONE, {}),
        ("2 of 1", smaller, ONE, {}),
        ("late=stop", alone(), ONE, {"late": "stop"}),
        ("'tree'", alone(), ONE, {"form": "tree"}),
        ("form=star", alone(), later, {"form": "ring"}),
    ]:
        with pytest.raises(UserError, match=told):
            Coded(model, scheme, **options)
    with pytest.warns(UserWarning, match="BatchNorm"):
        Coded(alone(nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))), ONE).close()


def test_schemes_that_a_backward_pass_cannot_follow_are_refused_by_name():
    alike = partial(Scheme, wait=Fastest(s=0))
    for told, given in {
        r"CyclicRepetition\(n=5, s=1.* 5 workers.* 3": alike(CyclicRepetition(n=5, s=1)),
        "PartialWork.* messages": alike(codes.PartialWork(n=3, d=2, q=2)),
        "CommunicationEfficient.* blocks": alike(codes.CommunicationEfficient(n=3, d=2, m=2)),
        "CyclicMDS.* complex": alike(codes.CyclicMDS(n=3, s=1)),
        "wait=restart": Scheme(Uncoded(n=3), Restart((1.0,), (1.0,), (1.0, 1.0))),
        "Fewest": Scheme(codes.Clustered(n=3, clusters=1, d=2), Fewest()),
        r"Scheme\(code, wait\).* 'cgc'": "cgc",
        "decodes: false": Scheme(codes.Uncoded(3), Fastest(s=1), decodes=False),
        "SelectiveRepeat": Scheme(codes.CyclicRepetition(3, s=1), SelectiveRepeat()),
        "1.5x.* multiple": Scheme(Uncoded(3), Deadline("1.5x")),
        "Home": alike(Uncoded(n=3), placement=Home()),
    }.items():
        with pytest.raises(UserError, match=told):
            check_scheme(given, 3, "star", "finish")


def train(model, coded, epochs, share=1.0, optimizer=None):
    x, y = torch.randn(12, 2), torch.randn(12)
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(list(zip(x, y, strict=True)), batch_sampler=coded.batches(12, 4))
    for _ in range(epochs):
        for inputs, targets in loader:
            optimizer.zero_grad()
            losses = mse_loss(model(inputs)[:, 0], targets, reduction="none")
            coded.loss(losses[: int(share * 4)]).backward()
            optimizer.step()


class ZeroRedundancyOptimizer(torch.optim.SGD):
    """As torch's is named, which cannot be made in a world of one."""


def test_what_goes_wrong_in_a_step_is_named(alone):
    model = alone()
    with pytest.raises(RuntimeError, match="Join"), model.join():
        train(model, Coded(model, ONE), 1)
    model = alone()
    coded = Coded(model, ONE)
    with pytest.raises(RuntimeError, match="ZeroRedundancyOptimizer"):
        train(model, coded, 1, optimizer=ZeroRedundancyOptimizer(model.parameters(), lr=0.1))
    coded.close()
    model = alone()
    with pytest.raises(RuntimeError, match="step 0: .* 2 of .* 4 samples.*no_sync"):
        train(model, Coded(model, ONE), 1, share=0.5)


def test_parts_with_a_static_graph_are_told_what_plain_torch_refuses_too(alone):
    model = alone(static_graph=True)
    with pytest.raises(RuntimeError, match="static_graph=True"):
        train(model, Coded(model, ONE), 1, share=0.5)


def test_dropout_is_warned_of_where_partitions_are_shared():
    shared = CyclicRepetition(n=3, s=1)
    dropping = nn.Sequential(nn.Linear(2, 1), nn.Dropout(0.5))
    attending = nn.MultiheadAttention(4, 2, dropout=0.1)
    for model in (dropping, attending):
        with pytest.warns(UserWarning, match="dropout.*coded.generator"):
            warn_of_dropout(shared, model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_dropout(Uncoded(n=3), dropping)
        warn_of_dropout(shared, nn.Sequential(nn.Linear(2, 1), nn.Dropout(0.0)))


def test_codes_that_make_rounding_larger_are_told():
    large = codes.CommunicationEfficient(n=31, d=16, m=1)
    with pytest.raises(UserError, match="CommunicationEfficient.* 43 % .*at most 1 %"):
        check_rounding(large)
    with pytest.warns(UserWarning, match="CommunicationEfficient.* 0.18 %"):
        check_rounding(codes.CommunicationEfficient(n=20, d=11, m=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_rounding(CyclicRepetition(n=8, s=2))


def test_messages_of_different_batches_end_all_ranks():
    star = Star()
    senders = [star.sender(1), star.sender(2)]
    found = []

    def part(end, batch):
        with pytest.raises(RuntimeError, match="rank . .*seed=") as caught:
            for step in range(3):
                end.exchange(step, message(step), batch)
        found.append(str(caught.value))

    of_sender = [threading.Thread(target=part, args=(senders[0], "epoch=0, seed=0"), daemon=True)]
    of_sender.append(threading.Thread(target=part, args=(senders[1], "epoch=0, seed=0"), daemon=True))
    for thread in of_sender:
        thread.start()
    part(star.end, "epoch=0, seed=7")
    for thread in of_sender:
        thread.join(LONG)
    assert len(found) == 3 and all("seed=7" in one and "seed=0" in one for one in found)
    assert not any("epoch=0" in one for one in found)


def meet(store, *ranks):
    """What ends each of some ranks of three; None where the meeting agrees."""
    ended = {}

    def wait(rank, given):
        one = Meeting.__new__(Meeting)
        one._store, one._rank, one._ranks = store, rank, 3
        try:
            one.wait(given, patience=0.5)
            ended[rank] = None
        except RankError as error:
            ended[rank] = error

    threads = [threading.Thread(target=wait, args=one, daemon=True) for one in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    return ended


def test_a_rank_that_never_comes_is_told_by_all_that_waited(capsys):
    same = {"form": "star"}
    ended = meet(dist.HashStore(), (0, same), (2, same))
    assert {str(error) for error in ended.values()} == {"rank 1 has not come for 0.5 s"}
    assert [error.code for error in ended.values()] == [2, 2]
    assert capsys.readouterr().err.count("gcexp: rank 1") == 2


def test_what_one_rank_was_given_is_told_by_all():
    same = {"form": "star"}
    ended = meet(dist.HashStore(), (0, same), (1, same), (2, {"form": "ring"}))
    assert {str(error) for error in ended.values()} == {"rank 2 has form ring, rank 0 star"}
    assert meet(dist.HashStore(), (0, same), (1, same), (2, same)) == {0: None, 1: None, 2: None}


def test_a_rank_error_ends_a_process_with_exit_code_2():
    code = "from gcexp.errors import RankError; raise RankError('rank 1 has not come')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 2


def test_messages_that_take_longer_than_computing_are_warned_of(alone):
    model = alone()
    coded = Coded(model, ONE)
    coded._end.busy.extend([9.0] * 64)  # seconds
    with pytest.warns(UserWarning, match="form='ring'"):
        train(model, coded, 10)
    coded.close()


def test_batches_are_the_partitions_of_the_global_batch(alone):
    coded = Coded(alone(), ONE)
    batches = coded.batches(10, 4, seed=3)
    assert len(batches) == 3 and len(coded.batches(10, 4, drop_last=True)) == 2
    order = rng(3, "data_order", 0).permutation(10).tolist()
    assert [*batches] == [order[:4], order[4:8], order[8:]]
    following = rng(3, "data_order", 1).permutation(10).tolist()
    assert next(iter(batches)) == following[:4]  # each pass is the next epoch
    batches.set_epoch(0)
    assert next(iter(batches)) == order[:4]
    assert [*coded.batches(4, 2, shuffle=False)] == [[0, 1], [2, 3]]
    for size in (0, 11):
        with pytest.raises(UserError, match="batch_size"):
            coded.batches(10, size)
    with pytest.raises(UserError, match="per sample"):
        coded.loss(torch.tensor(1.0))
    with pytest.raises(UserError, match="50 samples.*no_sync"):
        coded.loss(torch.zeros(50))
    same = [coded.generator(partition).initial_seed() for partition in (0, 0, 1)]
    assert same[0] == same[1] != same[2]
    coded.close()


def test_gcexp_and_joining_need_no_torch():
    code = (
        "import sys, tempfile; sys.modules['torch'] = None\n"
        "import gcexp.command.main\n"
        "from gcexp.distributed import Recorder, join\n"
        "with Recorder(tempfile.mkdtemp(), rank=0).step(): pass\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
