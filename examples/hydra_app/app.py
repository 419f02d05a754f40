"""An app of one's own that composes gcexp's options with Hydra, and writes a table for each point of a sweep.

    python app.py gcexp/scheme=cgc gcexp.n=12 gcexp.s=2
    python app.py -m gcexp/scheme=cgc,frc,forget gcexp.s=1,2,3

With several processes side by side, each point in one of them:

    pip install hydra-joblib-launcher 'hydra-core<1.4'   # without the bound pip takes a release candidate of Hydra
    python app.py -m hydra/launcher=joblib gcexp/scheme=cgc,frc,forget gcexp.s=1,2,3

Each run is written to a folder of its own, as Hydra does it: the table, and in `.hydra/` the composed options.
"""

from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

import gcexp
from gcexp.errors import UserError


@hydra.main(version_base="1.3", config_path="conf", config_name="app")
def main(config: DictConfig) -> None:
    """Simulate what was composed."""
    job = HydraConfig.get()
    scheme = job.runtime.choices["gcexp/scheme"] or ""  # null where the options name a code alone
    try:
        run = gcexp.build(config, label=scheme)
        table = gcexp.simulate(run, progress=False)
    except UserError as error:
        raise SystemExit(str(error)) from None
    folder = Path(job.runtime.output_dir)
    table.to_csv(folder / config.table, index=False)
    mean = table["mean_iteration_time_s"].mean()
    print(f"{run.name} s={run.config['s']}: {mean:.5f} s per iteration, {folder / config.table}")


if __name__ == "__main__":
    main()
