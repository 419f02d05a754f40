"""Fresh tables are the published ones, so that what claims find in the published ones holds of the code as it is."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gcexp.figures import read_table, write_table
from gcexp.report.agreement import EQUAL, WITHIN, compare_presets
from gcexp.report.entries import runs_of
from gcexp.report.published import published_table
from gcexp.report.table import assemble
from gcexp.report.targets import target_files

pytestmark = pytest.mark.slow

#: They take long to make.
LEFT_OUT = {
    *("adaptive_condition", "adaptive_stability"),
    *("codes_comparison", "codes_recent", "codes_scale", "codes_stability"),
    *("comm_efficient_stability", "dynamic_clustering_fig4", "dynamic_clustering_fig5"),
    *("dynamic_clustering_heterogeneous", "dynamic_clustering_losses", "dynamic_clustering_map"),
    *("soft_bibd_fig2", "stragglers_advice"),
    *("stragglers_breakeven", "stragglers_fair", "stragglers_goodput_map", "stragglers_goodput_rate"),
    *("stragglers_late", "stragglers_map", "stragglers_placement"),
}
#: Arguments that make a part of an analysis that takes long, and how many of its first rows.
PARTS = {"adaptive_stability_training": ({"sizes": [20], "seeds": 1, "iterations": 60}, 3)}
MANY = 24  # runs of a figure
TARGETS = [
    target
    for target, path in target_files().items()
    if target not in LEFT_OUT and not re.search("^kind: curves", path.read_text(), re.M)
]


@pytest.mark.parametrize("target", TARGETS)
def test_a_fresh_table_is_the_published_one(target, published_figure, tmp_path):
    """Of simulated runs the rows of the first seed, which more seeds do not change; of many runs those of least n.

    Of an analysis that takes long the first rows.
    """
    paper = published_figure(target)
    fresh = paper
    if paper.runs:
        first_seed = replace(paper.file, quick={"seeds": 1})
        runs = [*runs_of(first_seed, {})]
        if len(runs) > MANY:
            least = min(run.config["n"] for run in runs)
            runs = [run for run in runs if run.config["n"] == least]
        fresh = replace(paper, preset="quick", runs=tuple(runs))
    if target in PARTS:
        fresh = replace(paper, file=replace(paper.file, analysis=paper.file.analysis | PARTS[target][0]))
    write_table(assemble(fresh)[0], tmp_path / "table.csv")
    made, published = read_table(tmp_path / "table.csv"), read_table(published_table(target))
    if target in PARTS:
        published = published.head(PARTS[target][1])
    comparison = compare_presets(fresh, made, paper, published)
    assert comparison.outcome in (EQUAL, WITHIN), comparison.about
