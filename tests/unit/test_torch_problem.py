"""Tasks from torch modules: partitions normalised by themselves, batches and augmentation keyed, resumed bit by bit."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from gcexp.data import Dataset
from gcexp.errors import ParameterError
from gcexp.seeding import rng
from gcexp.tasks.cifar import PARAMETERS, BasicBlock, CifarResNet18, ResNet18, cropped
from gcexp.tasks.devices import device_of
from gcexp.tasks.mlp import MultilayerPerceptron
from gcexp.tasks.together import TogetherPerceptron
from gcexp.tasks.torch_problem import TorchProblem

K, BATCH = 5, 22  # partitions of 5, 5, 4, 4, 4 samples


def images() -> Dataset:
    draw = np.random.default_rng(0)
    x = draw.integers(0, 256, (130, 3, 8, 8)).astype(np.uint8)
    y = draw.integers(0, 10, 130)
    return Dataset("noise", x[:100], y[:100], x[100:], y[100:], "")


def network() -> nn.Module:
    return nn.Sequential(BasicBlock(3, 8, 2), nn.Flatten(), nn.Linear(128, 10))


def as_floats(x):
    return torch.from_numpy(x).float() / 255


@dataclass(frozen=True)
class Task:
    passes: int = 2
    batch: int = BATCH
    dataset: str = "noise"
    partitions: int = K
    evaluate_every: int = 3
    verify_every: int = 2

    def problem(self, data, seed):
        loss = partial(cross_entropy, reduction="none")
        return TorchProblem(
            network, loss, data, seed, K, self.batch, as_floats, cropped, self.passes, device="cpu"
        )


@pytest.mark.parametrize("iteration", [0, 4, 7])
@pytest.mark.parametrize("passes", [1, 2, 5])
def test_one_weighted_pass_is_the_sum_of_partitions_computed_one_by_one(passes, iteration):
    problem = Task(passes).problem(images(), 3)
    w, c = problem.initial(), np.array([1.0, -2, 0, 0.5, 3])
    gradients = problem.partition_gradients(w, K, iteration)
    np.testing.assert_allclose(problem.gradient(w.astype(float), c, iteration), c @ gradients, atol=1e-12)
    np.testing.assert_allclose(problem.gradient(w, c, iteration), c @ gradients, atol=1e-4)


GPUS = [
    pytest.param(name, marks=pytest.mark.skipif(not there(), reason=f"this machine has no {name} device"))
    for name, there in (("cuda", torch.cuda.is_available), ("mps", torch.backends.mps.is_available))
]


@pytest.mark.parametrize("device", GPUS)
def test_replays_hold_on_a_gpu(device):
    """A convolution and a perceptron: the weighted pass in float32 is the sum of partitions in float64."""
    data, c = images(), np.array([1.0, -2, 0, 0.5, 3])
    loss = partial(cross_entropy, reduction="none")
    x, x_test = (part.reshape(len(part), -1) / np.float32(255) for part in (data.x_train, data.x_test))
    flat = replace(data, name="flat", x_train=x, x_test=x_test)
    for problem in (
        TorchProblem(network, loss, data, 3, K, BATCH, as_floats, cropped, 2, device=device),
        MultilayerPerceptron("flat", device=device).problem(flat, 3),
    ):
        w = problem.initial()
        exact, found = c @ problem.partition_gradients(w, K, 4), problem.gradient(w, c, 4)
        assert np.linalg.norm(found - exact) < 2e-5 * np.linalg.norm(exact)
        assert np.isfinite(problem.score(w)["test_loss"]) and problem.rounding(w, c, 4).noise > 0


def test_a_gpu_multiplies_without_rounding_its_factors(monkeypatch):
    """TF32 is the default of convolutions, and misses replays by parts in a hundred."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    assert device_of("auto") == device_of("cuda") == "cuda"
    assert not torch.backends.cudnn.allow_tf32 and not torch.backends.cuda.matmul.allow_tf32
    assert torch.backends.cudnn.deterministic


@pytest.mark.parametrize("task", [MultilayerPerceptron, TogetherPerceptron, CifarResNet18])
def test_devices_that_are_not_there(task, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of("auto") == "cpu"
    with pytest.raises(ParameterError, match="task.device=cuda"):
        device_of("cuda")
    with pytest.raises(ParameterError, match="'gpu'"):
        task("noise", device="gpu")


def test_each_partition_is_normalised_as_plain_torch_would_it_alone():
    problem, data, seed, iteration = Task().problem(images(), 3), images(), 3, 4
    torch.manual_seed(int(rng(seed, "initial_weights").integers(2**63)))
    plain = network().double().train()
    rows, edges = problem.rows(iteration), np.array([0, 5, 10, 14, 18, 22])
    found = problem.partition_gradients(problem.initial(), K, iteration)
    for i in range(K):
        chosen = rows[edges[i] : edges[i + 1]]
        x = np.stack([cropped(data.x_train[j], rng(seed, "augmentation", iteration, j)) for j in chosen])
        loss = cross_entropy(
            plain(as_floats(x).double()), torch.from_numpy(data.y_train[chosen]), reduction="sum"
        )
        alone = torch.autograd.grad(loss, list(plain.parameters()))
        np.testing.assert_allclose(found[i], torch.cat([g.reshape(-1) for g in alone]).numpy(), atol=1e-13)


def test_running_statistics_move_towards_the_average_over_partitions():
    problem, data = Task().problem(images(), 3), images()
    w, statistics = problem.initial(), problem.statistics()
    problem.gradient(w, np.ones(K), 0, statistics)
    torch.manual_seed(int(rng(3, "initial_weights").integers(2**63)))
    convolution = network()[0].conv1
    edges, chosen = [0, 5, 10, 14, 18, 22], problem.rows(0)
    means, variances = [], []
    for i in range(K):
        rows = chosen[edges[i] : edges[i + 1]]
        x = np.stack([cropped(data.x_train[j], rng(3, "augmentation", 0, j)) for j in rows])
        y = convolution(as_floats(x)).detach()
        means.append(y.mean((0, 2, 3)))
        variances.append(y.transpose(0, 1).reshape(8, -1).var(1))
    np.testing.assert_allclose(statistics[:8], 0.1 * torch.stack(means).mean(0), rtol=1e-5)
    np.testing.assert_allclose(statistics[8:16], 0.9 + 0.1 * torch.stack(variances).mean(0), rtol=1e-5)


def test_batches_drop_no_sample_and_cross_epochs():
    problem = Task().problem(images(), 1)
    seen = np.concatenate([problem.rows(t) for t in range(10)])  # 220 samples: two epochs and 20 of the third
    for epoch in range(2):
        assert sorted(seen[100 * epoch : 100 * (epoch + 1)]) == list(range(100))
    assert len(set(seen[200:])) == 20
    np.testing.assert_array_equal(
        problem.rows(4), Task().problem(images(), 1).rows(4)
    )  # straddles two epochs
    assert (Task().problem(images(), 2).rows(0) != problem.rows(0)).any()


def test_crops_shift_by_up_to_four_pixels_and_mirror():
    image = np.arange(1, 65, dtype=np.uint8).reshape(1, 8, 8)
    seen = {cropped(image, np.random.default_rng(s)).tobytes() for s in range(3000)}
    shifted = np.pad(image, ((0, 0), (4, 4), (4, 4)))
    every = {
        np.ascontiguousarray(shifted[:, a : a + 8, b : b + 8][..., ::step]).tobytes()
        for a in range(9)
        for b in range(9)
        for step in (1, -1)
    }
    assert seen <= every and len(seen) == len(every) == 162


def test_scores_use_the_running_statistics():
    problem = Task().problem(images(), 0)
    w, moved = problem.initial(), problem.statistics()
    before = problem.score(w, moved)
    for t in range(5):
        problem.gradient(w, np.ones(K), t, moved)
    assert problem.score(w, moved) != before


def test_the_network_has_the_papers_number_of_parameters():
    assert sum(p.numel() for p in ResNet18().parameters()) == PARAMETERS == 11_173_962


def test_another_number_of_classes_or_of_partitions_is_refused():
    draw = np.random.default_rng(0)
    x, y = draw.integers(0, 256, (40, 3, 32, 32)).astype(np.uint8), draw.integers(0, 9, 40)
    nine = Dataset("nine", x, y, x, y, "")
    with pytest.raises(ParameterError, match="has 11173962 parameters"):
        CifarResNet18("nine", device="cpu").problem(nine, 0)
    with pytest.raises(ParameterError, match="5 partitions.* 4"):
        Task().problem(images(), 0).gradient(np.zeros(1, np.float32), np.ones(4), 0)
    with pytest.raises(ParameterError, match="needs the number of partitions"):
        TorchProblem(network, cross_entropy, images(), 0)
    with pytest.raises(ParameterError, match="task.device"):
        CifarResNet18("cifar10", device="gpu")
