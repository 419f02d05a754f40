"""Tasks from torch modules: by an option file, partitions normalised by themselves, batches and augmentation keyed."""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector

from gcexp.data import Dataset, load, prepare
from gcexp.errors import ParameterError, UserError
from gcexp.run.build import build
from gcexp.run.compose import compose
from gcexp.seeding import rng
from gcexp.tasks import GradientDescent
from gcexp.tasks.cifar import PARAMETERS, BasicBlock, CifarResNet18, ResNet18, cropped
from gcexp.tasks.devices import device_of
from gcexp.tasks.mlp import MultilayerPerceptron
from gcexp.tasks.networks import SmallCNN
from gcexp.tasks.together import TogetherPerceptron
from gcexp.tasks.torch_problem import TorchProblem
from gcexp.tasks.torch_task import TorchTask
from gcexp.tasks.training import train

# --- by an option file


def noise(targets="labels"):
    draw = np.random.default_rng(0)
    x = draw.standard_normal((60, 6)).astype(np.float32)
    y = draw.integers(0, 3, 60) if targets == "labels" else x @ np.arange(6.0)
    return Dataset("noise", x[:40], y[:40], x[40:], y[40:], "")


CROSS, SQUARES = nn.CrossEntropyLoss(reduction="none"), nn.MSELoss(reduction="none")


def linear(outputs=3, **more):
    loss = CROSS if outputs > 1 else SQUARES
    return TorchTask("noise", partial(nn.Linear, 6, outputs), **{"loss": loss} | more)


@pytest.mark.slow
def test_the_small_network_by_its_option_file(tmp_path):
    prepare("digits", tmp_path / "digits.npz")
    task = build(compose(["task=small_cnn", "scheme=uncoded", "task.evaluate_every=20"]), "task")
    data = load(tmp_path / "digits.npz")
    problem = task.problem(data, 0)
    w = problem.initial()
    assert w.shape == (9930,) and (w != task.problem(data, 1).initial()).any()
    ones = [problem.gradient(w, np.ones(k), 0) for k in (1, 20)]
    np.testing.assert_array_equal(*ones)  # one exact trajectory serves every k
    found = train(task, GradientDescent(0.1), data, [0], [20], progress=False)
    assert found.scores["test_accuracy"][0, -1] > 0.5


def test_real_targets_with_one_output():
    """(N, 1) outputs and (N,) targets are not broadcast to (N, N)."""
    data, task = noise("real"), linear(1)
    problem = task.problem(data, 2)
    w = problem.initial().astype(float)
    order = rng(2, "data_order").permutation(40)
    x, y = data.x_train[order].astype(float), data.y_train[order]
    residual = x @ w[:6] + w[6] - y
    expected = np.r_[2 * x.T @ residual, 2 * residual.sum()]
    np.testing.assert_allclose(problem.gradient(w, np.ones(4), 0), expected, rtol=1e-10)
    assert set(problem.score(problem.initial())) == {"test_loss"}
    found = train(task, GradientDescent(0.1), data, [2], [200], progress=False)
    assert found.scores["test_loss"][0, -1] < 1e-3 * found.scores["test_loss"][0, 0]


@pytest.mark.parametrize(
    ("task", "named"),
    [
        (linear(loss=nn.CrossEntropyLoss()), "reduction='none'"),
        (TorchTask("noise", lambda: nn.Sequential(nn.Linear(6, 3), nn.Dropout(0.1)), None), "dropout"),
        (TorchTask("other", None, None), "'other'"),
        (linear(shape=(2, 4)), "task.shape .*8 .*6"),
        (linear(shape=(2, 3)), r"\(2, 3\)"),
        (linear(2), "targets 0 to 2"),
        # One output against labels: the squares of all pairs were summed.
        (linear(1), r"\(N, 1\)"),
        (TorchTask("noise", partial(nn.Linear, 5, 3), CROSS), r"\(6,\)"),
        (TorchTask("noise", partial(nn.LSTM, 6, 3), SQUARES), "tuple"),
    ],
    ids=["loss", "dropout", "data", "size", "shape", "classes", "spread", "inputs", "tuple"],
)
def test_what_cannot_be_trained_is_refused(task, named):
    with pytest.raises(ParameterError, match=named):
        problem = task.problem(noise(), 0)
        problem.gradient(problem.initial(), np.ones(1), 0)


def test_a_module_is_spelled_in_the_option_file():
    config = compose(["task=torch", "scheme=uncoded"])
    assert isinstance(build(config, "task").module(), nn.Linear)
    for given, named in (("in_feature", "'in_feature'.*'in_features'"), ("in_features", "'out_features'")):
        config["task"]["module"] = {"_target_": "torch.nn.Linear", "_partial_": True, given: 3}
        with pytest.raises(UserError, match=named):
            build(config, "task")


def test_small_network_counts():
    assert sum(p.numel() for p in SmallCNN(3, 32, 10).parameters()) == 448 + 4640 + 32 * 256 * 10 + 10
    assert SmallCNN(3, 6, 4)(torch.zeros(2, 3, 6, 6)).shape == (2, 4)


# --- partitions, batches and devices

K, BATCH = 5, 22  # partitions of 5, 5, 4, 4, 4 samples


draw = np.random.default_rng(0)
x, y = draw.integers(0, 256, (130, 3, 8, 8)).astype(np.uint8), draw.integers(0, 10, 130)
IMAGES = Dataset("noise", x[:100], y[:100], x[100:], y[100:], "")


def network() -> nn.Module:
    return nn.Sequential(BasicBlock(3, 8, 2), nn.Flatten(), nn.Linear(128, 10))


def as_floats(x):
    return torch.from_numpy(x).float() / 255


def plain(seed) -> nn.Module:
    """The network with the initial weights of a seed."""
    torch.manual_seed(int(rng(seed, "initial_weights").integers(2**63)))
    return network()


def batch_of(problem, seed, iteration):
    """Augmented inputs and labels of each partition of a batch."""
    for rows in np.array_split(problem.rows(iteration), K):
        x = [cropped(IMAGES.x_train[j], rng(seed, "augmentation", iteration, j)) for j in rows]
        yield as_floats(np.stack(x)), torch.from_numpy(IMAGES.y_train[rows])


def problem_of(seed, passes=2, device="cpu"):
    return TorchProblem(network, CROSS, IMAGES, seed, K, BATCH, as_floats, cropped, passes, device=device)


@pytest.mark.parametrize("iteration", [0, 4, 7])
@pytest.mark.parametrize("passes", [1, 2, 5])
def test_one_weighted_pass_is_the_sum_of_partitions_computed_one_by_one(passes, iteration):
    problem = problem_of(3, passes)
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
    c = np.array([1.0, -2, 0, 0.5, 3])
    x, x_test = (part.reshape(len(part), -1) / np.float32(255) for part in (IMAGES.x_train, IMAGES.x_test))
    flat = replace(IMAGES, name="flat", x_train=x, x_test=x_test)
    for problem in (
        problem_of(3, device=device),
        MultilayerPerceptron("flat", device=device).problem(flat, 3),
    ):
        w = problem.initial()
        exact, found = c @ problem.partition_gradients(w, K, 4), problem.gradient(w, c, 4)
        assert np.linalg.norm(found - exact) < 2e-5 * np.linalg.norm(exact)
        assert np.isfinite(problem.score(w)["test_loss"])


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
    problem, alone = problem_of(3), plain(3).double().train()
    found = problem.partition_gradients(problem.initial(), K, 4)
    for gradient, (x, y) in zip(found, batch_of(problem, 3, 4), strict=True):
        loss = cross_entropy(alone(x.double()), y, reduction="sum")
        expected = parameters_to_vector(torch.autograd.grad(loss, list(alone.parameters())))
        np.testing.assert_allclose(gradient, expected, atol=1e-13)


def test_running_statistics_move_towards_the_average_over_partitions():
    problem = problem_of(3)
    w, statistics, before = problem.initial(), problem.statistics(), problem.statistics()
    problem.gradient(w, np.ones(K), 0, statistics)
    convolution = plain(3)[0].conv1
    outputs = [convolution(x).detach().transpose(0, 1).reshape(8, -1) for x, _ in batch_of(problem, 3, 0)]
    means, variances = (np.mean([getattr(y, f)(1) for y in outputs], axis=0) for f in ("mean", "var"))
    np.testing.assert_allclose(statistics[:8], 0.1 * means, rtol=1e-5)
    np.testing.assert_allclose(statistics[8:16], 0.9 + 0.1 * variances, rtol=1e-5)
    assert problem.score(w, statistics) != problem.score(w, before)


def test_batches_drop_no_sample_and_cross_epochs():
    problem = problem_of(1)
    seen = np.concatenate([problem.rows(t) for t in range(10)])  # 220 samples: two epochs and 20 of the third
    for epoch in range(2):
        assert sorted(seen[100 * epoch : 100 * (epoch + 1)]) == list(range(100))
    assert len(set(seen[200:])) == 20
    again = problem_of(1)
    np.testing.assert_array_equal(problem.rows(4), again.rows(4))  # straddles two epochs
    assert (problem_of(2).rows(0) != problem.rows(0)).any()


def test_crops_shift_by_up_to_four_pixels_and_mirror():
    image = np.arange(1, 65, dtype=np.uint8).reshape(1, 8, 8)
    seen = {cropped(image, np.random.default_rng(s)).tobytes() for s in range(3000)}
    shifted = np.pad(image, ((0, 0), (4, 4), (4, 4)))
    corners = itertools.product(range(9), range(9), (1, -1))
    every = {shifted[:, a : a + 8, b : b + 8][..., ::step].tobytes() for a, b, step in corners}
    assert seen <= every and len(seen) == len(every) == 162


def test_the_network_has_the_papers_number_of_parameters():
    assert sum(p.numel() for p in ResNet18().parameters()) == PARAMETERS == 11_173_962


def test_another_number_of_classes_or_of_partitions_is_refused():
    draw = np.random.default_rng(0)
    x, y = draw.integers(0, 256, (40, 3, 32, 32)).astype(np.uint8), draw.integers(0, 9, 40)
    nine = Dataset("nine", x, y, x, y, "")
    with pytest.raises(ParameterError, match="has 11173962 parameters"):
        CifarResNet18("nine", device="cpu").problem(nine, 0)
    with pytest.raises(ParameterError, match="5 partitions.* 4"):
        problem_of(0).gradient(np.zeros(1, np.float32), np.ones(4), 0)
    with pytest.raises(ParameterError, match="needs the number of partitions"):
        TorchProblem(network, CROSS, IMAGES, 0)


def test_a_module_without_one_of_its_sizes_names_it():
    with pytest.raises(ParameterError, match="out_features"):
        TorchTask("digits", partial(nn.Linear, in_features=64), nn.CrossEntropyLoss(reduction="none"))
