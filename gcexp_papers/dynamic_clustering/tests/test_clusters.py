"""What figures draw and assume: every worker lies in its cluster or beside them; thresholds are those of theory."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from gcexp.report.figurefile import figure
from gcexp_papers.dynamic_clustering.clusters import draw
from gcexp_papers.dynamic_clustering.theory import slow_threshold


def test_every_worker_lies_in_its_cluster_or_beside_them():
    frame = pd.DataFrame(
        {"cluster": [0, 0, 1, None], "worker": [3, 1, 2, 0], "slow": [True, False, False, True]}
    )
    axes = Figure().add_subplot()
    draw(axes, frame)
    balls = [patch for patch in axes.patches if isinstance(patch, Circle)]
    assert [round(ball.center[0]) for ball in balls] == [0, 0, 1, 2]
    assert balls[0].center[1] < balls[1].center[1]
    assert balls[0].get_facecolor() == balls[3].get_facecolor() != balls[1].get_facecolor()
    names = [text.get_text() for text in axes.texts]
    assert names.count("left over") == 1 and {"3", "1", "2", "0", "cluster 0", "cluster 1"} <= set(names)
    assert "moved" not in axes.get_legend_handles_labels()[1]
    draw(axes, frame.assign(moved=[False, True, False, False]))
    assert "moved" in axes.get_legend_handles_labels()[1]


def test_the_threshold_is_where_slow_and_fast_are_as_likely():
    """What the option files cannot compute: the numbers of the variants that go by a threshold."""
    runs = figure("dynamic_clustering_sensitivity", "quick").runs
    timed = [run for run in runs if "threshold@" in run.id]
    assert len(timed) == 4
    for run in timed:
        config = run.config
        law = {key: config["delay"][key] for key in ("alpha", "mu_s", "mu_f")}
        assert config["placement"]["threshold"] == slow_threshold(config["code"]["d"], **law)
