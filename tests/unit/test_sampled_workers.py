"""Sampled workers: each iteration is priced on those who were asked in it, where a person says so."""

import numpy as np
import pandas as pd
import pytest

import gcexp
from gcexp.command.main import main
from gcexp.errors import ParameterError, UserError
from gcexp_adviser.remedies.remedies import Remedy, remedies
from gcexp_adviser.remedies.settings import settings
from gcexp_adviser.remedies.terms import Terms
from gcexp_adviser.remedies.verdict import Comparison

ASKED, WORKERS, ITERATIONS = 4, 8, 120


def sampled(slow=None, rows=ITERATIONS, seed=0):
    """Times of which four workers of eight are asked in each iteration; NaN for the others."""
    draw = np.random.default_rng(seed)
    x = np.exp(0.1 * draw.standard_normal((rows, WORKERS)))
    if slow is not None:
        x[:, slow] *= 2
    x[draw.random(x.shape).argsort(axis=1) >= ASKED] = np.nan
    return x


def frame(x):
    rows, workers = np.nonzero(~np.isnan(x))
    return pd.DataFrame({"iteration": rows, "worker": workers, "time": x[rows, workers]})


def test_an_answer_is_that_for_the_workers_that_were_asked():
    x = sampled()
    advice = gcexp.advise(frame(x), phi=0.5, absent="sampled")
    assert advice.verdict == "do nothing" and advice.scheme is None
    waited = np.nanmax(x, axis=1)
    assert advice.comparison.waiting - advice.comparison.extra(Remedy("wait")) == pytest.approx(waited)
    assert f"{waited.mean():.4g} on the mean" in " ".join(advice.sentences)
    assert "missing" not in " ".join(advice.sentences).replace("nobody is missing", "")
    assert advice.diagnosis.found == ["no_mechanism"]


def test_a_slow_worker_is_found_and_left_out():
    advice = gcexp.advise(frame(sampled(slow=3)), phi=0.5, absent="sampled")
    assert advice.diagnosis.found == ["bad_node"] == gcexp.fit(frame(sampled(3)), absent="sampled").found
    assert advice.verdict == "rebalance" and advice.main.remedy == "exclude"
    assert np.flatnonzero(advice.main.plan.shares == 0).tolist() == [3]
    assert "Exclude worker 3" in advice.sentence


@pytest.mark.parametrize("phi", [0.0, 0.5, 1.0])
def test_each_iteration_is_priced_as_if_there_were_only_those_who_were_asked(phi):
    x = sampled(slow=2, rows=30)
    x[3, np.flatnonzero(~np.isnan(x[3]))[0]] = np.nan  # three were asked
    for remedy in remedies(ASKED, 4, are_sampled=True):
        plan = remedy.learned(x)
        took = plan.times(x, [phi])[0]
        for row, taken in zip(x, took, strict=True):
            asked = np.flatnonzero(~np.isnan(row))
            assert taken == pytest.approx(alone(plan, row[asked], plan.shares[asked], phi)), remedy


def alone(plan, times, shares, phi):
    """Time of one iteration of some workers, with the formulas for complete times."""
    remedy, c = plan.remedy, len(times)
    if remedy.kind == "exclude":
        kept = shares > 0
        kept = kept if kept.any() else ~kept
        return (times[kept] * (phi + (1 - phi) * c / kept.sum())).max()
    if remedy.kind == "rebalance":
        return (times * (phi + (1 - phi) * c * shares / shares.sum())).max()
    fits = c % remedy.size == 0 if remedy.kind == "grouped" else remedy.size <= c
    if remedy.kind == "wait" or not fits:
        return times.max()
    return type(plan)(remedy, np.arange(c), np.ones(c)).times(times[None], [phi])[0, 0]


def test_the_bound_is_that_of_those_who_were_asked():
    x = sampled()
    compared = Comparison(x)
    dense = np.sort(x, axis=1)[:, :ASKED]
    assert compared.n == ASKED
    for terms in (Terms(), Terms(d_max=1.05)):
        assert Comparison(x, terms).floor(0.5) == pytest.approx(Comparison(dense, terms).floor(0.5))
    assert compared.capacity(Remedy("grouped", size=2, s=1), 0.5) == pytest.approx(
        Comparison(dense).capacity(Remedy("grouped", size=2, s=1), 0.5)
    )


def test_settings_count_who_was_asked():
    x = sampled()
    some, dense = settings(x, (0.5,)), settings(np.sort(x, axis=1)[:, :ASKED], (0.5,))
    for name in ("value", "time", "used", "worst_iteration"):
        assert some[name].tolist() == pytest.approx(dense[name].tolist()), name
    assert some[some["setting"] == "quorum"]["value"].tolist() == [3, 2]


def test_whole_iterations_are_what_they_were():
    x = np.exp(0.1 * np.random.default_rng(0).standard_normal((60, 6)))
    told, usual = (gcexp.advise(x, phi=0.5, absent=absent) for absent in ("sampled", None))
    assert told.ratio == usual.ratio and told.verdict == usual.verdict


def test_the_question_names_what_to_type_for_each_answer(here, refused_command, capsys):
    frame(sampled()).to_csv("clients.csv", index=False)
    for verb in ("advise", "fit", "benchmark"):
        said = refused_command(("4 of 8 workers", "absent=sampled", "absent=late"), verb, "clients.csv")
        assert ("gcexp advise" in said) == (verb == "benchmark")
    refused_command("absent=sampled", "trace", "check", "clients.csv")
    refused_command("absent=sampled", "goodput", "clients.csv", "mtbf=3600", "restart=60", "save=30")
    for absent in ("absent=sampled", "absent=late"):
        for command in (["advise"], ["fit"], ["trace", "check"]):
            assert main([*command, "clients.csv", absent]) == 0
    capsys.readouterr()
    assert main(["trace", "import", "clients.csv", "-o", "clean.csv"]) == 0
    out = capsys.readouterr().out
    assert "gcexp advise clean.csv absent=sampled or gcexp advise clean.csv absent=late" in out
    assert main(["trace", "import", "clients.csv", "absent=sampled", "-o", "asked.csv"]) == 0
    assert capsys.readouterr().out.endswith("gcexp advise asked.csv absent=sampled\n")


def test_what_needs_all_workers_is_refused(here, refused):
    x = frame(sampled())
    for given in (
        {"late": "every"},
        {"slowness": "data"},
        {"moves": True},
        {"task": "digits_mlp", "level": 0.9},
    ):
        refused("absent=sampled", lambda given=given: gcexp.advise(x, absent="sampled", **given))
    refused("timeout", lambda: gcexp.advise(x, absent="sampled", timeout=3.0), error=ParameterError)
    refused("replay", lambda: gcexp.benchmark(x, absent="sampled"), error=ParameterError)
    x.to_csv("clients.csv", index=False)
    keys = {
        "scheme": "uncoded",
        "n": 8,
        "delay": "trace",
        "delay.file": "clients.csv",
        "delay.absent": "sampled",
    }
    refused(
        "gcexp advise", lambda: gcexp.simulate(**keys, iterations=5, progress=False), error=ParameterError
    )
    with pytest.raises(UserError, match="same workers in each iteration"):
        gcexp.advise(x, phi=0.5, absent="sampled").write_scheme("advised.yaml")


def test_a_sampled_worker_that_was_not_asked_for_long_has_not_gone():
    x = sampled()
    x[-12:, 5] = np.nan
    x[-12:, 0] = np.where(np.isnan(x[-12:, 0]), 1.0, x[-12:, 0])
    assert "gone" not in gcexp.fit(x, absent="sampled").found


def test_a_number_that_no_worker_has_is_told():
    x = np.exp(0.1 * np.random.default_rng(0).standard_normal((60, 6)))
    table = frame(x)
    told = "4 has no row at all"
    assert told not in " ".join(gcexp.advise(table, phi=0.5).sentences)
    without = table[table["worker"] != 4]
    assert told in " ".join(gcexp.advise(without, phi=0.5).sentences)
    apart = table.assign(worker=table["worker"] * 3)
    assert "no row at all" not in " ".join(gcexp.advise(apart, phi=0.5).sentences)


def times(rows=ITERATIONS, workers=6, slow=1, seed=0):
    """Times of a cluster in which all wait for a slow worker."""
    x = np.exp(0.1 * np.random.default_rng(seed).standard_normal((rows, workers)))
    x[:, slow] *= 2
    return x


def places(x):
    """Which place each entry has in its row, from the smallest one on."""
    return x.argsort(axis=1).argsort(axis=1)


def test_a_job_that_keeps_the_fastest_is_asked_about_where_one_worker_is_hardly_among_them(refused):
    x = times()
    x[places(x) >= 5] = np.nan
    x[40, [1, 2]] = 1.0, np.nan
    refused(("5 of 6 workers", "absent=sampled", "absent=late"), gcexp.advise, frame(x))


def test_workers_are_asked_about_where_their_number_varies(refused):
    draw = np.random.default_rng(1)
    x = times(slow=3)
    x[places(draw.random(x.shape)) >= draw.integers(3, 6, (ITERATIONS, 1))] = np.nan
    refused(("3 to 5 of 6 workers", "absent=sampled", "absent=late"), gcexp.advise, frame(x))
    advice = gcexp.advise(frame(x), phi=0.5, absent="sampled")
    assert "3 to 5 of 6 workers were asked" in " ".join(advice.sentences)


@pytest.mark.parametrize("rounds", [1, 10, 60])
def test_workers_that_are_sampled_behind_rounds_of_all_are_asked_about(rounds, refused):
    x = np.concatenate([times(rounds, workers=8, seed=4), sampled()])
    refused(("4 of 8 workers", "absent=sampled", "absent=late"), gcexp.advise, frame(x))


def test_a_worker_with_hardly_a_row_is_asked_about(refused):
    x = times()
    x[np.delete(np.arange(ITERATIONS), [7, 30, 71, 100]), 1] = np.nan
    x[::9, 2] = np.nan
    refused(("worker 1", "4 of 120", "absent=late", "absent=sampled"), gcexp.advise, frame(x))


def lost_rows(x):
    """A row in fifty is lost."""
    return np.random.default_rng(2).random(x.shape) < 0.02


def timed_out(x):
    """A timeout ends the slow worker in half of the iterations."""
    return x > np.median(x[:, 1])


def varying_fastest(x):
    """The fastest four to six of six are kept."""
    return places(x) >= np.random.default_rng(2).integers(4, 7, (len(x), 1))


def left_early(x):
    """A worker is there in the first iterations only."""
    return (np.arange(len(x))[:, None] > 3) & (np.arange(x.shape[1]) == 1)


def replaced(x):
    """A worker takes the place of another one."""
    later = np.arange(len(x))[:, None] >= 50
    return np.where(np.arange(x.shape[1]) == 1, later, (np.arange(x.shape[1]) == 4) & ~later)


def helped_out(x):
    """A worker is there for twelve iterations."""
    rows = np.arange(len(x))[:, None]
    return ((rows < 30) | (rows >= 42)) & (np.arange(x.shape[1]) == 1)


@pytest.mark.parametrize(
    "lacks",
    [lost_rows, timed_out, varying_fastest, left_early, replaced, helped_out],
    ids=lambda f: f.__name__,
)
def test_ordinary_gaps_are_not_asked_about(lacks):
    x = times()
    x[lacks(x)] = np.nan
    assert gcexp.advise(frame(x), phi=0.5).recorded.absent != "sampled"


def test_few_lost_rows_of_many_workers_are_not_asked_about():
    x = times(60, workers=100)
    x[np.random.default_rng(3).random(x.shape) < 0.05] = np.nan
    assert np.isnan(x).any(axis=1).mean() > 0.95
    assert gcexp.advise(frame(x), phi=0.5).recorded.absent == "late"
