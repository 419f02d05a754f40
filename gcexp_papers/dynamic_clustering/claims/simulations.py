"""Section VI: the model of the workers, and mean completion times in Figs. 3 to 5 and in ablations of them."""

from __future__ import annotations

import numpy as np

from gcexp.analysis.claims import because, claim, every, less, number, ratio_within, selected
from gcexp.analysis.ranges import range_said
from gcexp.delays.markov import TwoStateMarkov


@claim("two_state_chain", assumed=True)
def workers_change_state_with_probability_p():
    """The share of changes is p to 4 standard errors, over 20 workers, 200 seeds and 200 iterations."""
    for p in (0.05, 0.2, 0.5):
        slow = TwoStateMarkov(p=p).draw(tuple(range(200)), 200, 20).is_slow
        changes = np.diff(np.asarray(slow), axis=1)
        yield abs(changes.mean() - p) <= 4 * np.sqrt(p * (1 - p) / changes.size)


def _ratio(table, quick, slow, **bounds):
    """Whether the median over the seeds of the ratio of two mean completion times lies within bounds."""
    return ratio_within(table, quick, slow, y="mean_iteration_time_s", seeds=20, **bounds)


def _of(scheme):
    """A scheme after all 400 iterations."""
    return {"label": scheme, "iteration": 400}


def _faster(table, quick, *slow):
    """Whether a scheme completes an iteration sooner than each of some others."""
    return every(_ratio(table, _of(quick), _of(one), below=1) for one in slow)


def _over_delays(table, simulation, quick, *slow):
    """For which assumed parameters of the workers a scheme is faster, one parameter at a time; 20 seeds."""

    def judged(p, mu_s):
        here = {"simulation": simulation, "delay.p": p, "delay.mu_s": mu_s}
        faster = here | {"scheme": quick}
        return every(_ratio(table, faster, here | {"scheme": one}, below=1) for one in slow)

    changes = {p: judged(p, 0.1) for p in (0.01, 0.05, 0.1, 0.3, 0.5)}
    speeds = {mu_s: judged(0.05, mu_s) for mu_s in (0.1, 1, 5)}
    said = [
        range_said("probabilities p of a change of state", "", changes),
        range_said("rates mu_s of slow workers", "", speeds),
    ]
    return f"Simulation {simulation}, over the assumed parameters: {' '.join(said)}"


def _saved_of_gc(table, scheme):
    """The share of GC's mean completion time that a scheme saves."""
    own, gc = (number(table, "mean_iteration_time_s", _of(one), "mean", rows=None) for one in (scheme, "GC"))
    return 1 - own / gc


def _saved(table, column="saved_share", **where):
    """What a scheme saves on average over the seeds, against the one that the figure compares it with."""
    return number(table, column, where, "mean", rows=None)


@claim(
    *("fig3_clustering_helps", "static_clustering_beats_gc_cited", "clusters_reduce_time"),
    *("fig3_dynamic_best", "speeds_up_by_spreading", "lower_bound"),
    figure=("fig3", "map"),
    assumed=True,
)
def order_in_simulation_1(table, delays):
    """The bound is below GC-DC, this below GC-SC, and this below GC."""
    clusters = _faster(table, "GC-SC", "GC")
    told = (
        f"GC-SC saves {_saved_of_gc(table, 'GC-SC'):.0%} and GC-DC {_saved_of_gc(table, 'GC-DC'):.0%} of GC's time. "
        "The paper gives no number for 'significantly'; the order is judged."
    )
    yield "fig3_clustering_helps", because(every(clusters, _faster(table, "GC-DC", "GC")), told)
    for name in ("static_clustering_beats_gc_cited", "clusters_reduce_time"):
        yield name, clusters
    best = _faster(table, "GC-DC", "GC-SC", "GC")
    yield "fig3_dynamic_best", because(best, _over_delays(delays, 1, "gc_dc", "gc_sc", "gc"))
    yield "speeds_up_by_spreading", _faster(table, "GC-DC", "GC-SC")
    yield "lower_bound", _faster(table, "LB", "GC-DC", "GC-SC", "GC")


@claim("improves_over_gc", figure=["fig3", "fig4", "map"], assumed=True)
def dynamic_clusters_are_faster_than_one_code(fig3, fig4, delays):
    """The order is judged; how much is saved is told, since 'significant' and 'drastically' have no number."""
    for simulation, table in enumerate((fig3, fig4), 1):
        saved = f"GC-DC saves {_saved_of_gc(table, 'GC-DC'):.0%} of GC's time in simulation {simulation}."
        told = f"{saved} {_over_delays(delays, simulation, 'gc_dc', 'gc')}"
        yield because(_faster(table, "GC-DC", "GC"), told)


@claim("fig3_smaller_gain", figure="fig3", assumed=True)
def dynamics_save_less_than_clustering(table):
    """GC-DC saves less of GC-SC's time than GC-SC of GC's, as a share and in absolute time."""
    for column in ("saved_share", "saved_time_s"):
        by_dynamics = _saved(table, column, **_of("GC-DC"))
        by_clustering = _saved(table, column, **_of("GC-SC"))
        yield less(by_dynamics, by_clustering)


@claim("fig4_dynamic_best", figure="fig4", assumed=True)
def dynamic_clusters_are_fastest_in_simulation_2(table):
    return _faster(table, "GC-DC", "GC-SC", "GC")


def _with_known_states(sweeps):
    """For which assumed parameters of the workers GC-DC with known states is the fastest; 400 seeds."""
    known = "GC-DC, perfect state"
    said = []
    for swept, name in (
        ("p", "probabilities p of a change of state"),
        ("mu_s", "rates mu_s of slow workers"),
    ):
        found = {}
        for value in selected(sweeps[["swept", "value"]], {"swept": swept})["value"].unique():
            here = {"swept": swept, "value": value}
            faster = here | {"label": known}
            found[value] = every(
                _ratio(sweeps, faster, here | {"label": one}, below=1) for one in ("GC-SC", "GC")
            )
        said.append(range_said(name, "", found))
    return f"Simulation 3, over the assumed parameters: {' '.join(said)}"


@claim("fig5_similar_trends", "fig5_larger_than_fig4", figure=("fig5", "sweeps"), assumed=True)
def dynamic_clusters_are_fastest_in_simulation_3(table, sweeps):
    """Known states also save more than previous ones."""
    fastest = _faster(table, "GC-DC", "GC-SC", "GC")
    yield "fig5_similar_trends", because(fastest, _with_known_states(sweeps))
    by_previous = _saved(table, **_of("GC-DC, previous state"))
    by_known = _saved(table, **_of("GC-DC"))
    yield "fig5_larger_than_fig4", less(by_previous, by_known)


# --- Why simulation 2 gains more ----------------------------------------------------------------------------


def _shares(table, *settings):
    """Shares of GC-SC's time that GC-DC saves with the previous states, for n, P, r, m."""
    found = []
    for n, clusters, r, m in settings:
        name = f"n = {n}, P = {clusters}, r = {r}, m = {m}"
        found.append(_saved(table, setting=name, known="previous state"))
    return found


def _gain_over_changes(table):
    """For which probabilities of a change of state simulation 2 saves at least twice the share of simulation 1."""
    found = {}
    for p in (0.01, 0.05, 0.1, 0.3, 0.5):
        here = {"scheme": "gc_dc", "delay.p": p, "delay.mu_s": 0.1}
        first = _saved(table, **here, simulation=1)
        second = _saved(table, **here, simulation=2)
        found[p] = less(2 * first, second, or_equal=True)
    return range_said("probabilities p of a change of state", "", found)


@claim("fig4_much_larger_gain", "fig4_cause", figure="ablation", assumed=True)
def simulation_2_and_more_memberships_save_more(table):
    """With r = 3 simulation 2 saves at least twice the share of simulation 1, and 3 memberships save more than 2."""
    first, second, fewer = _shares(table, (12, 4, 2, 2), (20, 5, 3, 3), (20, 5, 3, 2))
    yield "fig4_much_larger_gain", less(2 * first, second, or_equal=True)
    yield "fig4_cause", less(fewer, second)


@claim("fig4_much_larger_gain", figure=("ablation", "map"), assumed=True)
def simulation_2_saves_more_at_the_load_of_simulation_1(table, delays):
    """With r = 2, as in simulation 1, simulation 2 saves at least twice the share of simulation 1."""
    first, second, lighter = _shares(table, (12, 4, 2, 2), (20, 5, 3, 3), (20, 5, 2, 3))
    told = (
        "The load of simulation 2 is lost, and the answer depends on it: GC-DC saves "
        f"{second:.1%} of GC-SC's time with the assumed r = 3 and {lighter:.1%} with r = 2, against {first:.1%} in "
        "simulation 1. The paper gives no number for 'much'; the bar of at least twice the share is ours. With r = 3: "
        f"{_gain_over_changes(delays)}"
    )
    return because(less(2 * first, lighter, or_equal=True), told)


@claim(
    "fig4_cause",
    figure="ablation",
    assumed=True,
    reason="The paper names larger clusters and more memberships together, and sizes, loads and memberships of both "
    "simulations are lost in our copy, so that this rests on assumed ones. With these, more memberships help, but "
    "larger clusters at the same load do not, neither alone nor together with more memberships: a larger cluster "
    "waits for more workers. What makes simulation 2 gain more here is the load, which we let grow from 2 to 3.",
)
def larger_clusters_save_more_at_the_same_load(table):
    """Clusters of 4 with 2 or 3 memberships save more than clusters of 3 with 2."""
    small, *large = _shares(table, (12, 4, 2, 2), (20, 5, 2, 2), (20, 5, 2, 3))
    return every(less(small, one) for one in large)


@claim("extra_data_gives_freedom", figure="sweeps", assumed=True)
def two_memberships_are_faster_than_one(table):
    """GC-DC with one membership takes the time of GC-SC, and with two memberships less."""
    one, two = ({"swept": "memberships", "value": m, "label": "GC-DC, previous state"} for m in (1, 2))
    static = one | {"label": "GC-SC"}
    return every(_ratio(table, one, static, at_least=1, at_most=1), _ratio(table, two, one, below=1))


@claim("footnote_1_refined_order", figure="sensitivity", assumed=True)
def renewing_the_order_does_not_slow_down(table):
    for setting in ("simulation 1", "simulation 2"):
        renewed = {"setting": setting, "variant": "refresh order"}
        once = {"setting": setting, "variant": "default"}
        yield _ratio(table, renewed, once, at_most=1)
