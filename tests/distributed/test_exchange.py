"""The star's rank 0 among strangers, the batches, what is refused, and that nothing needs torch that should not."""

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

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from gcexp import codes
from gcexp.codes import CyclicRepetition, Uncoded
from gcexp.distributed.coded import _JUDGED, Coded
from gcexp.distributed.decisions import Decisions
from gcexp.distributed.refusals import check_scheme
from gcexp.distributed.star import Collector, Sender
from gcexp.distributed.wire import Seat
from gcexp.errors import UserError
from gcexp.schemes import Deadline, Fastest, Fewest, Home, Restart, Scheme
from gcexp.seeding import rng

LENGTH = 1000
TOKEN = secrets.token_bytes(32)
SEAT = partial(Seat, length=LENGTH, token=TOKEN, patience=5.0)


def collector(scheme=None, **options):
    return Collector(
        Decisions(scheme or Scheme(CyclicRepetition(n=3, s=1), Fastest(s=1))), SEAT(0, **options)
    )


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def beside(function, *given):
    thread = threading.Thread(target=function, args=given, daemon=True)
    thread.start()
    return thread


def message(rank, step):
    return np.full(LENGTH, 1.0 + rank + step, np.float32)


def steps(end, count, first=0):
    """Take part with all of a rank's messages."""
    for step in range(first, count):
        end.exchange(step, message(0, step))


def closes(connection):
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_strangers_are_closed_and_the_run_goes_on():
    star, draw = collector(), rng(0, "gcexp.strangers")
    hellos = [draw.bytes(draw.integers(1, 200)) for _ in range(460)]
    hellos += [TOKEN[:length] for length in range(1, 21)]
    hellos += [struct.pack("<32sq", TOKEN, rank) for rank in (-1, 0, 3, 2**62)] * 5
    opened = []
    for hello in hellos:
        opened.append(connected(star.port))
        opened[-1].sendall(hello)
    senders = [Sender(("127.0.0.1", star.port), SEAT(rank)) for rank in (1, 2)]
    assert all(map(closes, opened)) and len(opened) == 500
    threads = [beside(steps, end, 20) for end in senders]
    steps(star, 20)
    for thread, sender in zip(threads, senders, strict=True):
        thread.join(10)
        sender.close()
    with pytest.raises(OSError):  # all ranks were there: nobody is heard any more
        connected(star.port)
    star.close(5.0)
    assert star.latest == 19


def test_a_stranger_has_ten_seconds(monkeypatch):
    monkeypatch.setattr("gcexp.distributed.wire._INTRODUCTION", 0.2)
    star = collector()
    assert closes(connected(star.port))


@pytest.mark.parametrize("size", [1, 4 * LENGTH - 4, 4 * LENGTH + 4, 2**31 - 1, -5])
def test_a_message_of_another_size_ends_a_rank_and_allocates_nothing(size):
    star = collector()
    bad, good = connected(star.port), Sender(("127.0.0.1", star.port), SEAT(2))
    bad.sendall(struct.pack("<32sq", TOKEN, 1))
    tracemalloc.start()
    bad.sendall(struct.pack("!i", size) + bytes(min(max(size, 0), 8 * LENGTH)))
    assert closes(bad)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1e6
    thread = beside(steps, good, 5)
    steps(star, 5)
    thread.join(10)
    assert star.latest == 4 and not thread.is_alive()


def test_a_rank_that_is_too_far_behind_is_told_to_leave():
    star = collector(most_answers=10)
    late, good = (Sender(("127.0.0.1", star.port), SEAT(rank)) for rank in (1, 2))
    thread = beside(steps, good, 30)
    steps(star, 30)
    thread.join(10)
    with pytest.raises(RuntimeError, match="rank 1 is 11 steps behind"):
        late.exchange(0, message(1, 0))
    good.close()
    star.close(5.0)


def test_a_late_rank_gets_stored_answers_and_learns_how_far_the_others_are():
    star = collector()
    late, good = (Sender(("127.0.0.1", star.port), SEAT(rank)) for rank in (1, 2))
    answers, thread = [], beside(steps, good, 8)
    for step in range(8):
        answers.append(bytes(star.exchange(step, message(0, step)).content))
    thread.join(10)
    assert late.exchange(0, message(1, 0)).content == answers[0] and late.latest == 7
    assert all(late.exchange(step, None).content == answers[step] for step in range(1, 8))


def test_a_deadline_counts_from_the_step_before():
    asked = Decisions(Scheme(Uncoded(n=3), Deadline(time=0.5)))
    assert asked.stop(np.array([0.1, np.inf, 0.6])) == (0.5, (True, False, False))


@pytest.fixture
def alone(monkeypatch):
    """A world of one rank, in this process."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield partial(DistributedDataParallel, forward_sync_buffers=False)
    dist.destroy_process_group()


ONE = Scheme(Uncoded(n=1), Fastest(s=0))


class Boundless(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        return self.layer(x)


def scheme(code, wait=None, **more):
    return Scheme(code, wait or Fastest(s=0), **more)


def test_what_cannot_work_is_refused_by_name(alone):
    def linear():
        return nn.Linear(2, 1)

    hooked = alone(linear())
    hooked.register_comm_hook(None, lambda state, bucket: None)
    smaller = alone(linear())
    smaller.process_group = types.SimpleNamespace(size=lambda: 2)
    models = {
        "DistributedDataParallel, got a Linear": linear(),
        "find_unused_parameters=True": alone(linear(), find_unused_parameters=True),
        "forward_sync_buffers=False": DistributedDataParallel(Boundless()),
        "communication hook already": hooked,
        "has 2 of 1": smaller,
    }
    for told, model in models.items():
        with pytest.raises(UserError, match=told):
            Coded(model, ONE)
    for told, options in {"cannot be stopped": {"late": "stop"}, "unknown form": {"form": "tree"}}.items():
        with pytest.raises(UserError, match=told):
            Coded(alone(linear()), ONE, **options)
    with pytest.raises(UserError, match="needs form=star"):
        Coded(alone(linear()), scheme(Uncoded(n=1), Deadline(time=1.0)), form="ring")


def test_schemes_that_a_backward_pass_cannot_follow_are_refused_by_name():
    schemes = {
        "has 5 workers, the process group 3 ranks": scheme(CyclicRepetition(n=5, s=1)),
        "messages per worker": scheme(codes.PartialWork(n=3, d=2, q=2)),
        "blocks": scheme(codes.CommunicationEfficient(n=3, d=2, m=2)),
        "complex": scheme(codes.CyclicMDS(n=3, s=1)),
        "wait=restart": scheme(Uncoded(n=3), Restart((1.0,), (1.0,), (1.0, 1.0))),
        "bound of durations": scheme(codes.Clustered(n=3, clusters=1, d=2), Fewest()),
        "every rank keeps its partitions": scheme(Uncoded(n=3), placement=Home()),
    }
    for told, given in schemes.items():
        with pytest.raises(UserError, match=told):
            check_scheme(given, 3, "star", "finish")


def trained(model, coded, count, samples=12, size=4, optimizer=None):
    x, y = torch.randn(samples, 2), torch.randn(samples)
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(list(zip(x, y, strict=True)), batch_sampler=coded.batches(samples, size))
    for _ in range(count):
        for inputs, targets in loader:
            optimizer.zero_grad()
            coded.loss(mse_loss(model(inputs)[:, 0], targets, reduction="none")).backward()
            optimizer.step()
    return loader


def test_zero_and_join_are_refused_where_they_show(alone):
    model = alone(nn.Linear(2, 1))
    coded = Coded(model, ONE)
    with pytest.raises(RuntimeError, match="Join"), model.join():
        trained(model, coded, 1)

    class ZeroRedundancyOptimizer(torch.optim.SGD):
        """As torch's is named, which cannot be made in a world of one."""

    coded.close()
    model = alone(nn.Linear(2, 1))
    coded = Coded(model, ONE)
    with pytest.raises(RuntimeError, match="ZeroRedundancyOptimizer"):
        trained(model, coded, 1, optimizer=ZeroRedundancyOptimizer(model.parameters(), lr=0.1))
    coded.close()
    torch.optim.SGD(model.parameters(), lr=0.1).step()  # the hook of all optimisers is gone


def test_batch_normalisation_is_warned_of_and_long_messages(alone):
    with pytest.warns(UserWarning, match="BatchNorm"):
        Coded(alone(nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1))), ONE).close()
    model = alone(nn.Linear(2, 1))
    coded = Coded(model, ONE)
    coded._end.busy.extend([9.0] * 64)
    with pytest.warns(UserWarning, match="form='ring'"):
        trained(model, coded, _JUDGED)
    coded.close()
    model = alone(nn.Linear(2, 1))
    coded = Coded(model, ONE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coded._end.busy.clear()
        coded._end.busy = type("Free", (list,), {"append": lambda self, x: list.append(self, 0.0)})()
        trained(model, coded, _JUDGED)
    coded.close()


def test_batches_are_the_partitions_of_the_global_batch(alone):
    model = alone(nn.Linear(2, 1))
    coded = Coded(model, ONE)
    batches = coded.batches(10, 4, seed=3)
    assert len(batches) == 3 and len(coded.batches(10, 4, drop_last=True)) == 2
    order = rng(3, "data_order", 0).permutation(10).tolist()
    assert [*batches] == [order[:4], order[4:8], order[8:]]
    assert [*batches][0] == rng(3, "data_order", 1).permutation(10).tolist()[
        :4
    ]  # each pass is the next epoch
    batches.set_epoch(0)
    assert next(iter(batches)) == order[:4]
    assert [*coded.batches(4, 2, shuffle=False)] == [[0, 1], [2, 3]]
    for size in (0, 11):
        with pytest.raises(UserError, match="batch_size"):
            coded.batches(10, size)
    with pytest.raises(UserError, match="number per sample"):
        coded.loss(torch.tensor(1.0))
    with pytest.raises(UserError, match="sees 5 samples, 0"):
        coded.batches(10, 4)
        coded._issued.clear()
        coded.loss(torch.zeros(5))
    same = [coded.generator(partition).initial_seed() for partition in (0, 0, 1)]
    assert same[0] == same[1] != same[2]
    coded.close()


def test_gcexp_and_joining_need_no_torch():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import gcexp, gcexp.distributed, gcexp.command.main\n"
        "from gcexp.distributed import join\n"
        "from gcexp.distributed import Recorder\n"
        "import tempfile\n"
        "with Recorder(tempfile.mkdtemp(), rank=0).step(): pass\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
