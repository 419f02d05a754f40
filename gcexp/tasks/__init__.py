"""Learning tasks: how does the model learn from the decoded gradient? They know no workers and no delays."""

# Modules with a model in them (mlp) are not imported here: a job that does not train never loads torch.
from gcexp.tasks.base import Optimizer, Problem, Task, partition_edges
from gcexp.tasks.optimizers import GradientDescent

__all__ = ["GradientDescent", "Optimizer", "Problem", "Task", "partition_edges"]
