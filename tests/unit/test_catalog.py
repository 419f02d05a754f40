"""What the Snakemake workflow catalog asks of a repository before it lists it, without a network."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_the_workflow_lies_where_the_catalog_looks():
    # With a folder workflow/ the catalog reads workflow/Snakefile and workflow/rules, and skips a repository without.
    body = (ROOT / "workflow" / "Snakefile").read_text()
    assert list((ROOT / "workflow" / "rules").glob("*.smk"))
    included = {line.split('"')[1] for line in body.splitlines() if line.startswith("include:")}
    assert included == {f"rules/{path.name}" for path in (ROOT / "workflow" / "rules").glob("*.smk")}
    assert 'include: "workflow/Snakefile"' in (ROOT / "Snakefile").read_text()
    assert (ROOT / "README.md").is_file() and (ROOT / "LICENSE").is_file()
    assert (ROOT / "config" / "README.md").read_text().startswith("# ")


def test_its_settings_say_how_it_is_used():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    assert all(
        isinstance(value, bool) for value in [*usage["software-stack-deployment"].values(), usage["report"]]
    )
