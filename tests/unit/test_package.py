"""What is published: equal bytes, a wheel that works alone, containers and environments that hold what they need."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gcexp.errors import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = "".join((ROOT / name).read_text() for name in ("requirements.lock", "requirements-docs.lock"))
PINS = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", LOCKS, re.M))
# Tests that read the clone's own files: options, pages, its environment, and workflows of a host.
OF_THE_CLONE = (
    "tests/unit/test_provenance.py::test_continuous_integration_says_what_it_took",
    "tests/unit/test_provenance.py::test_a_clone_that_was_moved_uses_itself",
    *(f"tests/unit/test_stability.py::test_{what}" for what in ("options", "keys", "one_version_everywhere")),
)

OUTSIDE = {name: text for name, text in os.environ.items() if not name.startswith(("GCEXP_", "PYTHON"))}


def called(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def contents(path):
    """The digest of each file in a source distribution, so that a failure names the file."""
    with tarfile.open(path) as archive:
        files = [member for member in archive if member.isfile()]
        return {file.name: hashlib.sha256(archive.extractfile(file).read()).hexdigest() for file in files}


@pytest.fixture(scope="session")
def built(once):
    """Wheel and sdist, by suffix."""
    command = [sys.executable, *"-m hatchling build -d".split()]
    folder = once("dist", lambda place: called(*command, str(place), cwd=ROOT))
    return {path.suffix: path for path in folder.iterdir()}


@pytest.fixture(scope="session")
def wheel(built, once):
    """Folder of the unpacked wheel."""

    def unpack(folder):
        with zipfile.ZipFile(built[".whl"]) as archive:
            archive.extractall(folder)

    return once("wheel", unpack)


@pytest.fixture(scope="session")
def sdist(built, once):
    """Folder of the unpacked sdist."""

    folder = once("sdist", lambda place: called("tar", "-xf", str(built[".gz"]), "-C", str(place)))
    return folder / f"gcexp-{PROJECT['version']}"


@pytest.fixture(scope="session")
def installed(built, once):
    """A fresh environment with the wheel, which borrows only the dependencies of this one."""

    def install(folder):
        called(sys.executable, "-m", "venv", "--without-pip", str(folder / "fresh"))
        python = str(folder / "fresh/bin/python")
        options = ["--quiet", "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check"]
        called(sys.executable, "-m", "pip", "--python", python, "install", *options, str(built[".whl"]))
        (packages,) = (folder / "fresh/lib").glob("python*/site-packages")
        borrowed = [place for place in sys.path if place.endswith("site-packages")]
        (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n")

    return once("installed", install) / "fresh"


@pytest.mark.slow
def test_another_process_builds_the_same_bytes(built, tmp_path):
    """The wheel is built again of what goes into a container."""
    command = [sys.executable, *"-m hatchling build -t sdist -d".split()]
    called(*command, str(tmp_path), cwd=ROOT)
    (again,) = tmp_path.glob("*.tar.gz")
    assert contents(again) == contents(built[".gz"])
    assert digest(again) == digest(built[".gz"])


@pytest.mark.slow
@pytest.mark.usefixtures("clone")
def test_the_wheel_holds_what_lies_beside_the_package(wheel):
    listed = called("git", "ls-files", cwd=ROOT)
    tracked = [Path(line) for line in listed.splitlines() if (ROOT / line).is_file()]
    beside = [path for path in tracked if path.parts[0] in ("conf", "workflow", "profiles")]
    recorded = ("data/traces/*.csv", "data/faults/*.csv", "licenses/*.txt")
    traces = [path for path in tracked if any(map(path.match, recorded))]
    published = [path for path in tracked if path.match("reports/published/data/*.csv")]
    assert len(beside) > 120 and len(traces) > 20 and published
    lacking = [path for path in [*beside, *traces, *published] if not (wheel / "gcexp" / path).is_file()]
    assert not lacking
    packages = {"gcexp", "gcexp_adviser", "gcexp_papers", "hydra_plugins"}
    for path in (path for path in tracked if path.parts[0] in packages):
        assert (wheel / path).is_file() != ("gcexp_papers" in path.parts and "tests" in path.parts), path
    found = [path.relative_to(wheel) for path in wheel.rglob("*") if path.is_file()]
    assert {path.parts[0].partition("-")[0] for path in found} == packages
    assert not [path for path in found if path.suffix == ".pyc" or "raw" in path.parts]
    for folder in ("data/traces/licenses", "data/faults/licenses"):
        texts = {path.name for path in wheel.glob(f"*.dist-info/licenses/{folder}/*")}
        assert texts == {path.name for path in (ROOT / folder).iterdir()}


@pytest.mark.slow
def test_its_extras_are_those_of_which_the_commands_speak(wheel):
    (file,) = wheel.glob("*.dist-info/METADATA")
    asked = [Requirement(text) for text in message_from_string(file.read_text()).get_all("Requires-Dist")]
    for extra, packages in EXTRAS.items():
        brought = {one.name for one in asked if one.marker and one.marker.evaluate({"extra": extra})}
        assert {"scikit-learn" if name == "sklearn" else name for name in packages} <= brought
    base = {one.name for one in asked if not one.marker}
    assert base == {Requirement(text).name for text in PROJECT["dependencies"]} and "torch" not in base


# As in an environment without the extras: what they bring cannot be imported. Hydra finds the options as well.
ALONE = f"""
import os, sys
class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {sorted(name for packages in EXTRAS.values() for name in packages)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from gcexp.command.main import main
print([main(line.split()) for line in sys.argv[1:]])
import gcexp
from hydra import compose, initialize_config_dir
with initialize_config_dir(os.getcwd(), version_base="1.3"):
    print(compose("config", ["delay.shape=3"])["delay"]["shape"], os.path.dirname(gcexp.__file__))
    run = gcexp.build(compose("config", ["+gcexp=run", "gcexp/scheme=frc", "gcexp.n=4", "gcexp.s=1"]))
    print(run.scheme.code)
"""
SHOWN = re.search(r"^gcexp (simulate .*)$", (ROOT / "docs/package.md").read_text(), re.M)[1]
COMMANDS = {
    SHOWN: 0,
    "simulate scheme=cgc n=10 s=1 delay=pai_job1 iterations=20 seeds=1": 0,
    "list": 0,
    "theory partial_recovery.lower_bound n=15 s=9 alpha=2/3": 0,
    "error code=cyclic_repetition n=6 s=0..2 kind=worst": 0,
    "show scheme=frc n=6 s=1": 0,
    "advise bytedance-AR-dp phi=0.5": 0,
    "init mine": 0,
    "compare partial_recovery_fig4_fixed_s_timing --preset paper": 0,
    "run scheme=cgc n=4 s=1": 2,
    "schema figure": 2,
}


@pytest.mark.paper("partial_recovery")
@pytest.mark.slow
def test_an_installed_wheel_works_without_the_clone_and_the_extras(installed, tmp_path):
    where = {"cwd": tmp_path, "env": OUTSIDE}
    assert called(installed / "bin/gcexp", "--version", **where).split()[-1] == PROJECT["version"]
    options = "defaults: [delay: pareto, _self_]\nhydra: {searchpath: ['pkg://gcexp.conf']}\n"
    (tmp_path / "config.yaml").write_text(options)
    command = [installed / "bin/python", "-c", ALONE, *COMMANDS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **where)
    (packages,) = (installed / "lib").glob("python*/site-packages")
    *printed, codes, composed, built = done.stdout.splitlines()
    assert codes == f"{[*COMMANDS.values()]}", done.stdout[-2000:] + done.stderr
    assert composed.split() == ["3", str(packages / "gcexp")]
    assert built == "FractionalRepetition(n=4, d=2, k=4)"  # by the plug-in for Hydra
    _, *seeds = printed[:6]  # by the command of the page, behind a head
    assert [line.split()[0] for line in seeds] == ["cgc"] * 5
    learn, workflow = done.stderr.strip().splitlines()
    assert "torch" in learn and "'gcexp[learn]'" in learn
    assert "pydantic" in workflow and "'gcexp[workflow]'" in workflow
    schema = (ROOT / "docs/figure.schema.json").read_bytes()
    assert (tmp_path / "mine" / "figure.schema.json").read_bytes() == schema
    assert (tmp_path / "mine" / "Snakefile").is_file() and not (tmp_path / "logs").exists()


def test_the_lock_pins_all_that_is_asked_for():
    extras = PROJECT["optional-dependencies"].values()
    for text in [*PROJECT["dependencies"], *(text for extra in extras for text in extra)]:
        asked = Requirement(text)
        assert asked.name == PROJECT["name"] or asked.specifier.contains(PINS[canonicalize_name(asked.name)])


@pytest.mark.slow
def test_tests_of_the_sdist_pass_or_say_why_not(sdist):
    outside = os.environ | {"PYTHONPATH": str(sdist), "GIT_CEILING_DIRECTORIES": str(sdist.parent)}
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "-rs", "-p", "no:cacheprovider", "-m", "not slow"]
    said = called(*command, *OF_THE_CLONE, cwd=sdist, env=outside)
    skipped = [line for line in said.splitlines() if line.startswith("SKIPPED")]
    assert all(re.search(r"\]? \S+:\d+: \S+", line) for line in skipped)


@pytest.mark.slow
def test_containers_are_built_from_what_a_wheel_needs(built, sdist, tmp_path):
    """No container runtime is asked for: a wheel of the files that a recipe copies has the bytes of ours.

    They come from the source distribution, so that this has what a wheel needs too.
    """
    docker = re.findall(r"^COPY (\S+) (\S+)$", (ROOT / "containers/Dockerfile").read_text(), re.M)
    listed = re.search(r"%files\n(.*?)\n\n", (ROOT / "containers/gcexp.def").read_text(), re.S)[1]
    apptainer = [line.split() for line in listed.splitlines()]
    for name, files in (("docker", docker), ("apptainer", apptainer)):
        image = tmp_path / name
        for source, target in files:
            place = image / target.removeprefix("/srv/gcexp/")
            place.parent.mkdir(parents=True, exist_ok=True)
            if (sdist / source).is_dir():
                shutil.copytree(sdist / source, place, copy_function=os.link)
            else:
                os.link(sdist / source, place)
        (wheel,) = WheelBuilder(str(image)).build(directory=str(tmp_path / f"{name}-wheel"))
        assert digest(wheel) == digest(built[".whl"]), name


@pytest.mark.parametrize("file", sorted((ROOT / "workflow/envs").glob("*.yaml")), ids=lambda file: file.stem)
def test_environments_have_the_versions_of_the_lock(file):
    python, _, packages = yaml.safe_load(file.read_text())["dependencies"]
    ours, *others = map(Requirement, packages["pip"])
    assert python.startswith("python=3.") and ours.name == "gcexp"
    assert str(ours.specifier) == f"=={PROJECT['version']}"
    for requirement in others:
        assert str(requirement.specifier) == f"=={PINS[requirement.name]}", requirement
    asked = PROJECT["dependencies"] + [
        text for extra in ours.extras for text in PROJECT["optional-dependencies"][extra]
    ]
    assert {Requirement(text).name for text in asked} <= {requirement.name for requirement in others}


def test_the_conda_environment_installs_what_the_lock_pins():
    """A conda that solves it is asked by continuous integration; here its parts are held against the project."""
    python, pip, packages = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    name, _, version = python.partition("=")
    assert name == "python" and version in SpecifierSet(PROJECT["requires-python"]) and pip == "pip"
    assert packages["pip"] == ["-r requirements.lock", "-e ."]
    asked = [*PROJECT["dependencies"]]
    for extra in ("learn", "tables", "workflow", "test"):
        asked += PROJECT["optional-dependencies"][extra]
    for requirement in map(Requirement, asked):
        assert PINS[canonicalize_name(requirement.name)] in requirement.specifier, requirement


# --- What the Snakemake workflow catalog asks of a repository before it lists it


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


@pytest.mark.slow
@pytest.mark.workflow
def test_its_test_folder_is_a_small_project(tmp_path):
    """Continuous integration of a workflow types `snakemake --directory .test`: a project with one figure."""
    made = [line.strip("/") for line in (ROOT / ".test/.gitignore").read_text().split()]
    folder = shutil.copytree(ROOT / ".test", tmp_path / "test", ignore=shutil.ignore_patterns(*made))
    known = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    assert set(yaml.safe_load((folder / "config/config.yaml").read_text())) <= set(known)
    command = [sys.executable, "-m", "snakemake", "-n", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    jobs = re.findall(r"^ (data|train|train exact|table|draw|page) +1 *$", done.stderr, re.M)
    assert done.returncode == 0 and len(jobs) == 6, done.stderr
