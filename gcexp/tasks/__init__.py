"""Learning tasks: how a model learns from the decoded gradient. They know neither workers nor delays."""

# Modules with a model in them (mlp) are not imported here: a job that does not train never loads torch.
from gcexp.tasks.base import Optimizer, Problem, Task, partition_edges
from gcexp.tasks.optimizers import GradientDescent

__all__ = ["GradientDescent", "Optimizer", "Problem", "Task", "partition_edges"]
