"""`gcexp.goodput` and ``gcexp goodput``: rows, conditions, refusals, recorded faults, and a code of one's own."""

from functools import partial
from math import inf, isnan

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp.codes import Uncoded
from gcexp.command.main import main
from gcexp.delays import Draws
from gcexp.errors import DataError, UserError
from gcexp.failures import Costs, Faults, Job, Lifetimes, Steps, of_history, read_faults, recorded_history
from gcexp.failures.lifetimes import Event, Pool
from gcexp.schemes import Fastest, Scheme
from gcexp_adviser.goodput import COLUMNS

GIVEN = {"mtbf": 3600.0, "restart": 600.0, "save": 30.0}
SHARES = ["progress", "slower_steps", "saving", "redo", "lost_work", "restart", "waiting"]


@pytest.fixture(autouse=True)
def short_runs(monkeypatch):
    """End runs after a tenth of the failures or less: it is no matter here how closely goodputs are known."""
    monkeypatch.setattr(
        "gcexp_adviser.goodput.conditions.Job", partial(Job, most_fatal=100, most_failures=2000)
    )
    monkeypatch.setattr("gcexp_adviser.goodput.break_even._MOST_FATAL", 100)
    monkeypatch.setattr("gcexp_adviser.goodput.break_even._MOST_FAILURES", 200)


def table(times=6, schemes=("FRC, d = 2",), **keys):
    return gcexp.goodput(times, list(schemes), progress=False, **(GIVEN | keys))


# --- Rows -----------------------------------------------------------------------------------------------------


def test_a_table_has_the_three_that_need_no_code_and_never_and_at_once():
    found = table()
    assert list(found.columns) == list(COLUMNS)
    assert found["scheme"].tolist() == 2 * ["checkpoints alone", "respread", "drop", "FRC, d = 2"]
    assert found["rejoin"].tolist() == 4 * [inf] + 4 * [0.0]
    assert found[SHARES].sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-12)
    assert (found["goodput"] <= 1 / found["step"] * 1.0000001)[found["scheme"] != "drop"].all()
    assert found.attrs["exact"] == ("checkpoints alone", "respread", "FRC, d = 2")
    for told in ("3600 s", "600 s", "30 s", "MTBF"):
        assert told in found.attrs["sentence"]


def test_all_schemes_that_can_be_asked_stand_in_the_table_and_others_have_a_reason():
    found = gcexp.goodput(8, progress=False, rejoin=600, **GIVEN)
    assert {"cyclic, s = 1", "partial work, d = 2", "uneven, last row", "local SGD, H = 10"} <= set(
        found["scheme"]
    )
    assert "wait for all" not in set(found["scheme"])
    left_out = found.attrs["left_out"]
    assert {"bound: any loads", "uneven, hindsight"} <= set(left_out) and all(left_out.values())
    assert not {"backup 1", "local SGD, H = 10", "drop"} & set(found.attrs["exact"])


def test_drop_says_what_it_leaves_out():
    found = table(6, [], rejoin=3600.0).set_index("scheme")
    assert found.loc["drop", "used_share"] < 0.95
    assert found.loc["respread", "used_share"] == 1


def test_schemes_see_the_same_lifetimes():
    found = table(6, ["cyclic, s = 1"], rejoin=inf).set_index("scheme")
    again = table(6, ["cyclic, s = 1"], rejoin=inf, seed=1).set_index("scheme")
    assert found.loc["cyclic, s = 1", "endured"] == 2
    assert found.loc["respread", "endured"] == found.loc["drop", "endured"] == 6
    assert found.loc["respread", "goodput"] != again.loc["respread", "goodput"]


def test_recorded_times_with_phi_and_uneven_workers():
    times = 0.7 + 0.3 * np.random.default_rng(0).exponential(size=(200, 12))
    least, most = (table(times, phi=phi, rejoin=600).set_index("scheme") for phi in (0.0, 0.5))
    assert most.loc["FRC, d = 2", "goodput"] > least.loc["FRC, d = 2", "goodput"]
    assert most.loc["FRC, d = 2", "slower_steps"] < 0 < least.loc["FRC, d = 2", "slower_steps"]
    ratio = gcexp.benchmark(times, ["FRC, d = 2"], phi=[0.5], progress=False)["ratio"].iloc[0]
    assert most.loc["FRC, d = 2", "step"] == pytest.approx(ratio)


def test_a_law_has_a_thousand_rows_and_its_error():
    found = table(6, delay="shifted_exponential", rejoin=0.0, **{"delay.shift": 1.0, "delay.mean": 1.0})
    code = found.set_index("scheme").loc["FRC, d = 2"]
    assert "1001 scored rows" in found.attrs["workers"]
    assert 0 < code["goodput_se"] < 0.05


def test_mtbf_of_a_worker_is_that_of_the_job_times_n():
    one = table(rejoin=600.0)
    two = gcexp.goodput(
        6, ["FRC, d = 2"], progress=False, rejoin=600, restart=600, save=30, mtbf_worker=6 * 3600
    )
    pd.testing.assert_frame_equal(one, two)


def test_without_a_survivor_no_scheme_goes_on():
    found = table(3, ["deadline, 1.2 medians"], rejoin=inf).set_index("scheme")
    assert found.loc["deadline, 1.2 medians", "endured"] == 3


def test_a_period_that_never_ends_has_goodput_0_and_that_is_said():
    found = table(6, [], period=31 * 3600.0, rejoin=0.0)
    assert found.set_index("scheme").loc["checkpoints alone", "goodput"] == 0
    assert any("goodput 0" in note for note in found.attrs["notes"])


def test_weibull_lifetimes_fail_sooner_and_that_is_said():
    lives = [next(Lifetimes(64, mean=64.0, shape=0.78, seed=seed).life(0)).time for seed in range(1000)]
    assert np.mean(lives) == pytest.approx(64 ** (1 - 1 / 0.78), rel=0.12)  # .31 of the mtbf of 1
    assert any("0.78" in note for note in table(6, [], shape=0.78, rejoin=0.0).attrs["notes"])


# --- A code of one's own ----------------------------------------------------------------------------------------


def test_a_code_of_ones_own_takes_part_without_another_line(tmp_path, monkeypatch):
    (tmp_path / "mirrored.py").write_text(
        '''
from gcexp.codes import Code, Quorum


class Mirrored(Code):
    """Workers w and w + n/2 hold the same."""

    def __init__(self, n):
        half = n // 2
        rows = [[1 if p == w % half else 0 for p in range(half)] for w in range(n)]
        super().__init__(rows, quorums=[Quorum((w, w + half), [(1, 1)]) for w in range(half)])

    def weights(self, responses):
        import numpy as np

        half = self.n // 2
        weights = np.zeros(responses.shape)
        for w in range(half):
            first = responses[:, w] > 0
            weights[:, w] = first
            weights[:, w + half] = ~first & (responses[:, w + half] > 0)
        return weights
'''
    )
    for group in ("code", "scheme"):
        (tmp_path / "conf" / group).mkdir(parents=True)
    (tmp_path / "conf/code/mirrored.yaml").write_text("_target_: mirrored.Mirrored\nn: ${n}\n")
    (tmp_path / "conf/scheme/mirrored.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /code: mirrored\n  - override /wait: decodable\nexact: true\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("GCEXP_SEARCHPATH", str(tmp_path / "conf"))
    mine = table(8, ["mirrored", "FRC, d = 2"], rejoin=inf).set_index("scheme")
    assert "mirrored" in mine.index
    assert mine.loc["mirrored", "step"] == 2
    assert mine.loc["mirrored", "endured"] == pytest.approx(mine.loc["FRC, d = 2", "endured"], rel=0.1)


# --- Lifetimes and machines -------------------------------------------------------------------------------------


def test_domains_fail_together_and_come_back_together():
    events = []
    for event in Lifetimes(6, mean=100.0, domain=3, rejoin=1.0).life(0):
        events.append(event)
        if len(events) == 6:
            break
    assert {event.dead for event in events} <= {0, 0b111, 0b111000, 0b111111}
    assert events[1].time == pytest.approx(events[0].time + 1) or events[1].failed


def test_a_replacement_waits_for_a_machine():
    life = Lifetimes(2, mean=100.0, rejoin=0.0, spares=0, repair=7.0)
    failure, back = (event for event, _ in zip(life.life(0, Pool(0)), range(2), strict=False))
    assert failure.failed and (back.failed or back.time == pytest.approx(failure.time + 7))


def test_a_restart_waits_for_machines():
    life = Lifetimes(4, mean=100.0, spares=1, repair=50.0)
    # Of five machines three are broken: at 60, 80 and 100; the restart needs four.
    wait, pool = life.restarted(Pool(1), [10.0, 30.0, 50.0], 0b111, restart=5.0)
    assert wait == pytest.approx(30.0)  # two of them are back at 80
    assert pool.spares == 0 and pool.in_repair == pytest.approx((15.0,))


# --- Recorded faults ----------------------------------------------------------------------------------------------


def faults(*rows, n=3):
    return read_faults(pd.DataFrame(rows, columns=["time", "worker", "event"]), n)


def steps_of_all(n=3):
    return Steps(Scheme(Uncoded(n), Fastest(q=n)), Draws((0,), (1, 1, n), compute=float(n)))


def test_a_job_waits_until_its_scheme_endures_the_rest_and_restarts():
    lived = recorded_history(
        faults((100, 0, "down"), (150, 1, "down"), (200, 0, "up"), (300, 1, "up"), (1000, 2, "down")),
        steps_of_all(),
        restart=50.0,
    )
    assert lived.fatal.tolist() == [True, True]
    assert lived.waiting.tolist() == [200.0, 0.0]
    assert lived.restart.tolist() == [50.0, 0.0]
    assert lived.length.tolist() == [100.0, 650.0]
    found = of_history(lived, Costs(save=10.0), period=90.0)
    assert found.waiting == pytest.approx(0.2) and found.restart == pytest.approx(0.05)
    assert found.progress == pytest.approx((90 + 6 * 90) / 1000)
    assert found.error == 0


def test_who_goes_down_in_a_restart_is_down_when_it_is_over():
    lived = recorded_history(
        faults((100, 0, "down"), (110, 0, "up"), (120, 1, "down"), (400, 1, "up"), (900, 2, "down")),
        steps_of_all(),
        restart=50.0,
    )
    assert lived.waiting[0] == pytest.approx(10 + 240) and lived.restart[0] == pytest.approx(100)


def test_the_bundled_faults_are_those_of_231_servers():
    found = read_faults("stepfun-hbd", 400)
    assert isinstance(found, Faults)
    assert sum(event.failed for event in found.events) == 582
    assert found.events[-1].dead == 0
    time_down = 0.0
    last = Event(0.0, 0, False)
    for event in found.events:
        time_down += last.dead.bit_count() * (event.time - last.time)
        last = event
    assert time_down / 582 / 86400 == pytest.approx(5.552, abs=0.001)


def test_a_table_of_recorded_faults_has_one_row_for_each_scheme():
    found = gcexp.goodput(400, [], faults="stepfun-hbd", restart=600, save=30, progress=False)
    assert found["rejoin"].map(isnan).all() and len(found) == 3
    by_scheme = found.set_index("scheme")["goodput"]
    assert by_scheme["checkpoints alone"] < 0.1 < 0.9 < by_scheme["respread"] < 1


WRONG_FAULTS = [
    ([(1, 0, "up")], "not down"),
    ([(1, 0, "down"), (2, 0, "down")], "already"),
    ([(1, 7, "down")], "7"),
    ([(-1, 0, "down")], "-1"),
    ([(1, 0, "dwon")], "down"),
    ([], "0"),
]


@pytest.mark.parametrize("rows, names", WRONG_FAULTS)
def test_faults_that_make_no_sense_are_refused(rows, names):
    with pytest.raises(DataError, match=names):
        faults(*rows)


# --- Refusals ------------------------------------------------------------------------------------------------------

WRONG = [
    ({"mtbf": None}, "mtbf"),
    ({"mtbf": 0}, "mtbf"),
    ({"mtbf": -1.0}, "mtbf"),
    ({"mtbf_worker": 100.0}, "mtbf.worker"),
    ({"faults": "stepfun-hbd"}, "mtbf"),
    ({"restart": None}, "restart"),
    ({"restart": -1}, "restart"),
    ({"save": None}, "save"),
    ({"save": -1}, "save"),
    ({"save": 0}, "period"),
    ({"rejoin": -1}, "rejoin"),
    ({"repair": 10.0}, "spares"),
    ({"domain": 4}, "domain"),
    ({"period": 0}, "period"),
    ({"rejoin_law": "constnat"}, "constant"),
    ({"phi": 2}, "phi"),
    ({"schemes": ["fcr"]}, "frc"),
    ({"mtfb": 3}, "mtfb"),
    ({"times": None}, "n=64"),
    ({"delay.shift": 1.0}, "delay"),
]


@pytest.mark.parametrize("keys, names", WRONG)
def test_what_is_wrong_is_refused(keys, names):
    keys = {"times": 6, "schemes": []} | GIVEN | keys
    with pytest.raises(UserError, match=names):
        gcexp.goodput(progress=False, **keys)


def test_restart_and_save_may_be_0():
    found = table(4, [], restart=0, save=0, period=100.0, rejoin=0.0)
    assert found[["restart", "saving"]].to_numpy() == pytest.approx(0, abs=1e-12)


# --- The command ---------------------------------------------------------------------------------------------------


def test_the_command_prints_the_sentence_and_writes_the_table(capsys, tmp_path):
    words = "goodput n=6 mtbf=3600 restart=600 save=30 rejoin=600 redo=20 frc wait=decodable code.d=2"
    assert main([*words.split(), "-o", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for told in ("mtbf 3600 s", "restart 600 s", "save 30 s", "respread", "frc wait=decodable code.d=2"):
        assert told in said
    assert len(pd.read_csv(tmp_path / "goodput.csv")) == 4


def test_the_command_reads_a_log(capsys, tmp_path):
    rows = [(t, w, 1.0 + (w == t % 4)) for t in range(20) for w in range(4)]
    pd.DataFrame(rows, columns=["iteration", "worker", "time"]).to_csv(tmp_path / "mine.csv", index=False)
    assert (
        main(
            ["goodput", str(tmp_path / "mine.csv"), *"phi=0.5 mtbf=60 restart=6 save=3 rejoin=1 cgc".split()]
        )
        == 0
    )
    assert "phi 0.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        "n=6 mtbf=1 restart=1",
        "n=6 restart=1 save=1",
        "n=6 mtbf=3 mtbf=4 restart=1 save=1",
        "frc n=6 mtbf=1 restart=1 save=1",
    ],
)
def test_the_command_ends_with_2(words, capsys):
    assert main(["goodput", *words.split()]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_an_exact_scheme_without_a_waiting_rule_goes_on_while_it_can_decode():
    conditions = {"mtbf": 3600, "restart": 600, "save": 30, "rejoin": 600, "period": 2000, "progress": False}
    schemes = [
        {"scheme": "frc", "code.d": 2},
        {"scheme": "frc", "code.d": 2, "wait": "decodable", "label": "decodable"},
        {"scheme": "frc", "code.d": 2, "wait": "fastest", "label": "fastest"},
    ]
    table = gcexp.goodput(8, schemes, **conditions)
    endured = table.set_index("scheme")["endured"]
    assert endured["frc code.d=2"] == endured["decodable"] > endured["fastest"]
    assert any("frc code.d=2" in note and "decodable" in note for note in table.attrs["notes"])
