"""``--sdm conda`` and ``--sdm apptainer``: stand-ins for both programs write down what Snakemake asks of them."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.workflow

CONDA = """\
#!/bin/bash
# Answers as conda does; an environment that it makes has a gcexp that says in which environment it was called.
case "$*" in
    *"info --json"*) echo '{{"conda_prefix": "{folder}", "platform": "linux-64"}}';;
    *--version*) echo "conda 25.1.0";;
    *channel_priority*) echo '{{"get": {{"channel_priority": "strict"}}}}';;
    "env create"*)
        while [ $# -gt 1 ]; do
            case "$1" in --file) file=$2;; --prefix) prefix=$2;; esac
            shift
        done
        mkdir -p "$prefix/bin"
        head -1 "$file" > "$prefix/what"
        echo '#!/bin/bash' > "$prefix/bin/gcexp"
        echo "echo \\"\\$(cat $prefix/what) \\$2\\" >> {folder}/calls; exec {gcexp} \\"\\$@\\"" >> "$prefix/bin/gcexp"
        chmod 755 "$prefix/bin/gcexp";;
esac
"""
ACTIVATE = 'export PATH="$1/bin:$PATH"\n'
APPTAINER = """\
#!/bin/bash
# Runs on this machine what should run in an image, and says in which one.
if [ "$1" = --version ]; then echo "apptainer version 1.3.0"; exit; fi
while [ "$1" != sh ] && [ "$1" != bash ]; do image=$1; shift; done
echo "$image" >> "{folder}/calls"
exec "$@"
"""


@pytest.fixture
def stand_ins(fresh, tmp_path, monkeypatch):
    """A folder with both programs, first on the path; calls of jobs are lines of its file ``calls``."""
    folder = tmp_path / "programs"
    (folder / "bin").mkdir(parents=True)
    gcexp = next(Path(place) for place in fresh.environment["PATH"].split(":")) / "gcexp"
    for name, text in (("conda", CONDA), ("apptainer", APPTAINER), ("activate", ACTIVATE)):
        (folder / "bin" / name).write_text(text.format(folder=folder, gcexp=gcexp))
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:" + fresh.environment["PATH"])
    return folder


@pytest.mark.slow
def test_jobs_run_in_the_image_that_the_configuration_names(fresh, stand_ins):
    code, output = fresh.snakemake("-j1", "data/prepared/digits.npz", "--sdm", "apptainer")
    assert code == 0, output
    image = "docker://example.org/gcexp:1.0.0"
    target = "reports/quick/data/small_three.csv"
    image_of = ("--sdm", "apptainer", "--config", f"container={image}")
    code, output = fresh.snakemake("-n", target, *image_of)
    assert code == 0 and f"Singularity image {image} will be pulled" in output, output
    assert (stand_ins / "calls").read_text().split() == ["containers/gcexp.sif"]
