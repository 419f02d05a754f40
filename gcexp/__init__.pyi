"""What editors and type checkers see: `gcexp.__init__` loads it when it is used."""

from gcexp.advice.advise import advise as advise
from gcexp.advice.fit import fit as fit
from gcexp.benchmarking.table import benchmark as benchmark
from gcexp.experiments import compare as compare
from gcexp.experiments import error as error
from gcexp.experiments import plot as plot
from gcexp.experiments import show as show
from gcexp.experiments import simulate as simulate
from gcexp.experiments import sweep as sweep
from gcexp.experiments import train as train

__version__: str
__all__: list[str]
