"""What a wheel holds beside the modules: in a clone it lies beside the package, in a wheel inside of it."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("conf", "config", "workflow", "profiles", "data/traces/licenses", "data/faults/licenses")  # whole
# The published tables are 3.7 of the wheel's 5.3 MB. They stay in it: `gcexp compare` and `gcexp audit` judge by the
# tables of the same version, and a distribution of their own could be of another one.
FILES = (
    "data/traces/*.*",
    "data/faults/*.*",
    "reports/published/data/*",
    "docs/references.bib",
    "docs/figure.schema.json",
)
NOT = (".py", ".pyc")  # a source's own script


class BesideThePackage(BuildHookInterface):
    """Not for an editable install (``make setup``), which finds all of it in the clone."""

    def initialize(self, version, build_data):
        if version != "standard":
            return
        root = Path(self.root)
        places = [root / name for name in FOLDERS]
        places += [path for pattern in FILES for path in sorted(root.glob(pattern)) if path.suffix not in NOT]
        for path in places:
            build_data["force_include"][str(path)] = f"gcexp/{path.relative_to(root).as_posix()}"
