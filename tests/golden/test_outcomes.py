"""The committed outcomes of the papers' statements are those that the claims give on the published tables."""

import pytest
import yaml

from gcexp.report import audit, statements

PAPERS = audit.papers()


@pytest.mark.parametrize("package", PAPERS, ids=[folder.name for folder in PAPERS.values()])
def test_committed_outcomes_are_those_of_the_claims(package):
    folder = PAPERS[package]
    if folder.name == "partial_recovery":
        pytest.importorskip("torch", reason="a claim takes steps of the paper's network, which needs torch")
    rows, found = audit.judge_paper(package, folder)
    assert rows == [one for one in statements.committed_outcomes() if one.paper == folder.name]
    assert not audit.numbers_that_differ(found)
    if not yaml.safe_load((folder / "paper.yaml").read_text()).get("study"):
        assert 8 <= sum(one.main == "yes" for one in rows) <= 15


def test_a_code_host_displays_the_list_of_statements():
    for folder in PAPERS.values():
        page = statements.COMMITTED.with_name("statements") / f"{folder.name}.md"
        assert page.stat().st_size <= 100_000
