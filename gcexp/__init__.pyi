"""What editors and type checkers see: `gcexp.__init__` loads it when it is used."""

from gcexp.experiments.building import build as build
from gcexp.experiments.comparing import compare as compare
from gcexp.experiments.error_table import error as error
from gcexp.experiments.plotting import plot as plot
from gcexp.experiments.running import simulate as simulate
from gcexp.experiments.running import sweep as sweep
from gcexp.experiments.running import train as train
from gcexp.experiments.showing import show as show
from gcexp_adviser.benchmark.table import benchmark as benchmark
from gcexp_adviser.diagnosis.fit import fit as fit
from gcexp_adviser.goodput.table import goodput as goodput
from gcexp_adviser.remedies.advise import advise as advise

__version__: str
__all__: list[str]
