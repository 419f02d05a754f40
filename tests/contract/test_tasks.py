"""What every task keeps: each option of the group `task`, on data that are here."""

import numpy as np
import pytest

from gcexp.data import Dataset, load, prepare
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.run.declarations import scores_of_task
from gcexp.run.options import option_names
from gcexp.tasks import linear_regression, mlp
from gcexp.tasks.torch_task import TorchTask
from gcexp.testing import checks

#: Where a task's own data must be fetched: the same class on data that are here.
HERE = {
    "mnist_mlp": ["task.dataset=digits"],
    "mnist_sharded": ["task.dataset=digits"],
    "mnist_together": ["task.dataset=digits"],
    "amazon_logistic": ["task.dataset=access_rows", "task.train_rows=2400", "task.pad_to=null"],
    "cifar_resnet18": ["task.batch=20", "task.device=cpu"],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory, linear_mixture):
    folder = tmp_path_factory.mktemp("prepared")

    def of(name):
        if name == "cifar10":
            x = np.zeros((20, 3, 32, 32), dtype=np.uint8)
            return Dataset(name, x, np.arange(20) % 10, x[:4], np.arange(4), "")
        if name == "linear_mixture":
            return load(linear_mixture)
        if not (place := folder / f"{name}.npz").is_file():
            prepare(name, place)
        return load(place)

    return of


REAL = """task.dataset=linear_mixture task.module.in_features=1000 task.module.out_features=1
task.loss._target_=torch.nn.MSELoss"""


def task_of(option, *more):
    config = compose(["scheme=uncoded", f"task={option}", *HERE.get(option, []), *more])
    return build(config, "task"), scores_of_task(config["task"])


@pytest.mark.parametrize(
    "option", sorted({*option_names("task")} - {"cifar_resnet18"})
)  # its gradients take long
def test_contract(option, data, hold):
    task, _ = task_of(option)
    found = checks(tasks=[(task, data(task.dataset), 7)])  # 7 divides no number of samples
    # Copies of a torch loss are not equal to it, and so those of a task that holds one are not either.
    hold(check for check in found if not (isinstance(task, TorchTask) and "is_a_value" in str(check)))


@pytest.mark.parametrize("option", ["digits_mlp", "linear_regression"])
def test_contract_where_lost_samples_are_not_visited(option, data, hold, monkeypatch):
    """Small networks on few samples visit them all with weight zero, since that is faster."""
    for module in (mlp, linear_regression):
        monkeypatch.setattr(module, "SLICE_COST", 1)
    task, _ = task_of(option)
    hold(checks(tasks=[(task, data(task.dataset), 7)]))


@pytest.mark.parametrize(
    ("option", "more"), [*((option, "") for option in option_names("task")), ("torch", REAL)]
)
def test_scores_are_those_declared(option, more, data):
    """Real targets have no accuracy."""
    task, declared = task_of(option, *more.split())
    problem = task.problem(data(task.dataset), 0)
    statistics = [problem.statistics()] if hasattr(problem, "statistics") else []
    assert list(problem.score(problem.initial(), *statistics)) == declared
    assert not more or declared == ["test_loss"]
