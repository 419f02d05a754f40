"""Section VI: the model of the workers, and mean completion times in Figs. 3 to 5 and in ablations of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from gcexp.analysis.claims import Verdict, claim, every, less, number, ratio_within
from gcexp.delays.markov import TwoStateMarkov


@claim("two_state_chain", assumed=True)
def workers_change_state_with_probability_p():
    """For p = 0.05, 0.2, 0.5, 20 workers, 200 seeds and iterations the share of changes is p, to 4 standard errors."""
    for p in (0.05, 0.2, 0.5):
        slow = TwoStateMarkov(p=p).draw(tuple(range(200)), 200, 20).is_slow
        changes = np.diff(np.asarray(slow), axis=1)
        yield abs(changes.mean() - p) <= 4 * np.sqrt(p * (1 - p) / changes.size)


def _faster(table: pd.DataFrame, quick: Mapping[str, Any], slow: Mapping[str, Any]) -> Verdict:
    """Whether the median over the seeds of the ratio of two mean completion times is below one."""
    return ratio_within(table, quick, slow, y="mean_iteration_time_s", below=1, seeds=20)


def _of(scheme: str) -> dict[str, Any]:
    """A scheme after all 400 iterations."""
    return {"label": scheme, "iteration": 400}


def _saved(table: pd.DataFrame, column: str = "saved_share", **where: Any) -> float:
    """What a scheme saves on average over the seeds, against the one that the figure compares it with."""
    return number(table, column, where, "mean", rows=None)


@claim(
    "fig3_clustering_helps",
    "static_clustering_beats_gc_cited",
    "clusters_reduce_time",
    figure="fig3",
    assumed=True,
)
def static_clusters_are_faster_than_one_code(table):
    """In simulation 1 GC-SC completes an iteration sooner than GC."""
    return _faster(table, _of("GC-SC"), _of("GC"))


@claim("fig3_dynamic_best", figure="fig3", assumed=True)
def dynamic_clusters_are_fastest_in_simulation_1(table):
    """In simulation 1 GC-DC completes an iteration sooner than GC-SC and GC."""
    return every(_faster(table, _of("GC-DC"), _of(one)) for one in ("GC-SC", "GC"))


@claim("speeds_up_by_spreading", figure="fig3", assumed=True)
def dynamic_clusters_are_faster_than_static_ones(table):
    """In simulation 1 GC-DC completes an iteration sooner than GC-SC."""
    return _faster(table, _of("GC-DC"), _of("GC-SC"))


@claim("improves_over_gc", figure=["fig3", "fig4"], assumed=True)
def dynamic_clusters_are_faster_than_one_code(fig3, fig4):
    """In simulations 1 and 2 GC-DC completes an iteration sooner than GC."""
    return every(_faster(table, _of("GC-DC"), _of("GC")) for table in (fig3, fig4))


@claim("lower_bound", figure="fig3", assumed=True)
def bound_is_below_every_scheme(table):
    """In simulation 1 the time of LB lies below those of GC-DC, GC-SC and GC."""
    return every(_faster(table, _of("LB"), _of(one)) for one in ("GC-DC", "GC-SC", "GC"))


@claim("fig3_smaller_gain", figure="fig3", assumed=True)
def dynamics_save_less_than_clustering(table):
    """In simulation 1 GC-DC saves less of GC-SC's time than GC-SC of GC's, as a share and in absolute time."""
    return every(
        less(*(_saved(table, column, **_of(one)) for one in ("GC-DC", "GC-SC")))
        for column in ("saved_share", "saved_time_s")
    )


@claim("fig4_dynamic_best", figure="fig4", assumed=True)
def dynamic_clusters_are_fastest_in_simulation_2(table):
    """In simulation 2 GC-DC completes an iteration sooner than GC-SC and GC."""
    return every(_faster(table, _of("GC-DC"), _of(one)) for one in ("GC-SC", "GC"))


@claim("fig5_similar_trends", figure="fig5", assumed=True)
def dynamic_clusters_are_fastest_in_simulation_3(table):
    """In simulation 3, where states are known, GC-DC completes an iteration sooner than GC-SC and GC, as in Fig. 4."""
    return every(_faster(table, _of("GC-DC"), _of(one)) for one in ("GC-SC", "GC"))


@claim("fig5_larger_than_fig4", figure="fig5", assumed=True)
def known_states_save_more_than_previous_ones(table):
    """In simulation 3 GC-DC saves a larger share of GC-SC's time than with the previous states."""
    return less(*(_saved(table, **_of(one)) for one in ("GC-DC, previous state", "GC-DC")))


# --- Why simulation 2 gains more ----------------------------------------------------------------------------


def _share(table: pd.DataFrame, setting: str) -> float:
    """Share of GC-SC's time that GC-DC saves with the previous states."""
    return _saved(table, setting=setting, known="previous state")


@claim("fig4_much_larger_gain", figure="ablation", assumed=True)
def simulation_2_saves_at_least_twice_the_share(table):
    """GC-DC saves at least twice as large a share of GC-SC's time in simulation 2 as in simulation 1."""
    first, second = (
        _share(table, one) for one in ("n = 12, P = 4, r = 2, m = 2", "n = 20, P = 5, r = 3, m = 3")
    )
    return less(2 * first, second, or_equal=True)


@claim("fig4_cause", figure="ablation", assumed=True)
def more_memberships_save_more(table):
    """At n = 20, P = 5, r = 3 three memberships save a larger share than two."""
    return less(*(_share(table, f"n = 20, P = 5, r = 3, m = {m}") for m in (2, 3)))


@claim(
    "fig4_cause",
    figure="ablation",
    assumed=True,
    reason="The paper names larger clusters and more memberships together, and sizes, loads and memberships of both "
    "simulations are lost in our copy, so that this rests on assumed ones. With these, more memberships help, but "
    "larger clusters at the same load do not, neither alone nor together with more memberships: a larger cluster waits "
    "for more workers. What makes simulation 2 gain more here is the load, which we let grow from 2 to 3.",
)
def larger_clusters_save_more_at_the_same_load(table):
    """At r = 2 clusters of 4 with 2 or 3 memberships (n = 20) save more than clusters of 3 with 2 (n = 12)."""
    small = _share(table, "n = 12, P = 4, r = 2, m = 2")
    return every(less(small, _share(table, f"n = 20, P = 5, r = 2, m = {m}")) for m in (2, 3))


@claim("extra_data_gives_freedom", figure="sweeps", assumed=True)
def two_memberships_are_faster_than_one(table):
    """In simulation 2 GC-DC with one membership takes the time of GC-SC, and with two memberships less."""
    one, two = ({"swept": "memberships", "value": m, "label": "GC-DC, previous state"} for m in (1, 2))
    static = one | {"label": "GC-SC"}
    same = ratio_within(table, one, static, y="mean_iteration_time_s", at_least=1, at_most=1, seeds=20)
    return every(same, _faster(table, two, one))


@claim("footnote_1_refined_order", figure="sensitivity", assumed=True)
def renewing_the_order_does_not_slow_down(table):
    """In simulations 1 and 2 an order that is renewed after each round does not make iterations longer."""
    sides = [
        [{"setting": f"simulation {i}", "variant": one} for one in ("refresh order", "default")]
        for i in (1, 2)
    ]
    return every(ratio_within(table, *one, y="mean_iteration_time_s", at_most=1, seeds=20) for one in sides)
