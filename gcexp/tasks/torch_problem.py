"""A learning task from any torch module: its parameters as one flat vector, its gradients as weighted passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.func import functional_call
from torch.nn.modules.dropout import _DropoutNd

from gcexp.errors import ParameterError, require
from gcexp.seeding import rng
from gcexp.tasks.base import Sliced, partition_edges
from gcexp.tasks.devices import device_of, flat_of, leaves_of
from gcexp.tasks.partition_norm import Blocks, PartitionNorm, by_partition

if TYPE_CHECKING:
    from torch import nn

    from gcexp.data import Dataset

#: Samples of a test pass. A constant, since sums and so the last bits of a score depend on it.
_SCORED = 250
#: What torch raises where shapes or types do not fit.
_DO_NOT_FIT = (RuntimeError, ValueError, TypeError, IndexError, AssertionError)


def _first(error: Exception) -> str:
    """First line of what torch says; others are notes for its developers."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _refuse_dropout(module: nn.Module) -> None:
    """Refuse a module with dropout."""
    dropped = [name for name, m in module.named_modules() if isinstance(m, _DropoutNd) and m.p > 0]
    require(
        not dropped,
        f"dropout ({', '.join(dropped)}) draws new random numbers in every pass, so the workers "
        "that hold a partition would disagree",
    )


class TorchProblem(Sliced):
    """A torch module, a loss and data of one seed; see `gcexp.tasks.Problem`.

    ``make()`` builds the module, with torch's random numbers seeded, so that it starts from the usual initial weights;
    ``loss(outputs, targets)`` is the loss of every sample (N,). `inputs` turns stored samples into the tensor that the
    module takes, and `augment` one stored sample and a random generator into one sample: the generator belongs to the
    sample in that iteration, so whoever holds it makes the same of it.

    With batch normalisation every one of the `partitions` is normalised with its own statistics. Gradients are
    computed with the buffers of the module fixed, but for the running statistics: they are averaged over the partitions
    of an iteration, and renewed once per iteration. A batch is computed in so many `passes`, added in this order; more
    of them need less memory. Batches are cut from one permutation of the samples after the other, and none is dropped:
    one may straddle two permutations.
    """

    def __init__(
        self,
        make: Callable[[], nn.Module],
        loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        data: Dataset,
        seed: int,
        partitions: int | None = None,
        batch: int | None = None,
        inputs: Callable[[np.ndarray], torch.Tensor] = torch.from_numpy,
        augment: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
        passes: int = 1,
        device: str = "auto",
        precision: type = np.float64,
    ):
        self._device = device_of(device)
        self._passes = passes
        self.partitions = partitions
        self.precision = precision
        self._data = data
        self._seed = seed
        self._loss = loss
        self._inputs = inputs
        self._augment = augment
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng(seed, "initial_weights").integers(2**63)))
            module = make()
        _refuse_dropout(module)
        self._classes = data.y_train.dtype.kind in "iu"
        self._blocks = Blocks()
        self._module = by_partition(module, self._blocks).to(self._device)
        self._names, leaves = zip(*self._module.named_parameters(), strict=True)
        self._shapes = [leaf.shape for leaf in leaves]
        self._normalised = [m for m in self._module.modules() if isinstance(m, PartitionNorm)]
        require(
            not self._normalised or partitions is not None,
            "a module with batch normalisation needs the number of partitions, since each partition "
            "is normalised separately",
        )
        self._batch = batch
        self._order = {}
        if batch is None:
            # Full batches are in the seed's order, like those of every other task.
            self.n_samples = len(data.y_train)
            self._order[0] = rng(seed, "data_order").permutation(self.n_samples)
        else:
            require(batch >= 1, f"a batch has 1 or more samples, got {batch}")
            self.n_samples = batch
        self._require_fit()

    @torch.no_grad()
    def _require_fit(self) -> None:
        """Refuse a module or a loss that does not take the data, with all shapes."""
        y = self._data.y_train
        chosen = [int(y.argmin()), int(y.argmax())]
        x = self._tensor(self._data.x_train[chosen])
        targets = torch.from_numpy(y[chosen]).to(self._device)
        self._module.eval()
        try:
            output = self._module(x.to(next(self._module.parameters()).dtype))
        except _DO_NOT_FIT as error:
            told = f"samples of shape {tuple(x.shape[1:])} of {self._data.name!r}"
            raise ParameterError(f"the module does not take {told} ({_first(error)})") from None
        require(
            isinstance(output, torch.Tensor), f"the module returns a {type(output).__name__}, not a tensor"
        )
        try:
            self._losses(output, targets)
        except ParameterError:
            raise
        except _DO_NOT_FIT as error:
            raise ParameterError(
                f"the loss does not take outputs of shape {tuple(output.shape[1:])} per sample for the targets "
                f"{targets[0]:g} to {targets[1]:g} of {self._data.name!r} ({_first(error)})"
            ) from None

    def initial(self) -> np.ndarray:
        with torch.no_grad():
            parts = [leaf.reshape(-1).float().cpu() for leaf in self._module.parameters()]
            return torch.cat(parts).numpy()

    def statistics(self) -> np.ndarray:
        """Running means and variances of batch normalisation before training: 0 and 1."""
        if not self._normalised:
            return np.zeros(0, np.float32)
        parts = []
        for m in self._normalised:
            parts += [m.running_mean.reshape(-1).cpu(), m.running_var.reshape(-1).cpu()]
        return torch.cat(parts).float().numpy().copy()

    def rows(self, iteration: int) -> np.ndarray:
        """Samples of an iteration in order: partition i is the i-th contiguous slice of them."""
        if self._batch is None:
            return self._order[0]
        N = len(self._data.y_train)
        first = iteration * self._batch
        position = np.arange(first, first + self._batch)
        rows = np.empty(self._batch, dtype=np.int64)
        for epoch in np.unique(position // N).tolist():
            if epoch not in self._order:
                self._order = {epoch: rng(self._seed, "batches", epoch).permutation(N)}
            inside = position // N == epoch
            rows[inside] = self._order[epoch][position[inside] % N]
        return rows

    def gradient(
        self,
        parameters: np.ndarray,
        coefficients: np.ndarray,
        iteration: int,
        statistics: np.ndarray | None = None,
    ) -> np.ndarray:
        """sum_i c_i g_i; `statistics` are renewed in place."""
        self._check(len(coefficients))
        used = np.flatnonzero(coefficients)
        weights = np.asarray(coefficients, parameters.dtype)
        total = None
        for part in np.array_split(used, min(self._passes, max(len(used), 1))):
            for gradient in self._passed(parameters, [part], weights, iteration):
                if total is None:
                    total = gradient
                else:
                    total.add_(gradient)
        if statistics is not None:
            self._renew(statistics)
        if total is None:  # nothing was recovered
            return np.zeros_like(parameters)
        return total.cpu().numpy()

    def partition_gradients(self, parameters: np.ndarray, k: int, iteration: int) -> np.ndarray:
        """Each partition by itself, in `precision` throughout."""
        self._check(k)
        gradients = np.empty((k, len(parameters)), self.precision)
        each = [np.array([i]) for i in range(k)]
        with self._in_float64():
            passed = self._passed(parameters.astype(self.precision), each, np.ones(k), iteration)
            for i, gradient in enumerate(passed):
                gradients[i] = gradient.cpu().numpy()
        self._blocks.gathered.clear()
        return gradients

    @torch.no_grad()
    def score(self, parameters: np.ndarray, statistics: np.ndarray | None = None) -> dict[str, float]:
        """Accuracy (of labels) and mean loss on the test samples, normalised with the running statistics."""
        x = self._data.x_test
        y = self._data.y_test
        leaves = dict(zip(self._names, self._leaves(parameters), strict=True))
        if self._normalised:
            if statistics is None:
                statistics = self.statistics()
            leaves |= self._buffers(statistics)
        self._module.eval()
        right, lost = 0, 0.0
        for start in range(0, len(y), _SCORED):
            rows = slice(start, start + _SCORED)
            targets = torch.from_numpy(y[rows]).to(self._device)
            output = functional_call(self._module, leaves, (self._tensor(x[rows]),))
            lost += float(self._losses(output, targets).double().sum())
            if self._classes:
                right += int((output.argmax(1) == targets).sum())
        scores = {}
        if self._classes:
            scores["test_accuracy"] = right / len(y)
        scores["test_loss"] = lost / len(y)
        return scores

    @contextmanager
    def _in_float64(self) -> Iterator[None]:
        """What is computed exactly goes to the processor where the device has no float64."""
        if self._device != "mps":
            yield
            return
        self._move_to("cpu")
        try:
            yield
        finally:
            self._move_to("mps")

    def _move_to(self, device: str) -> None:
        self._device = device
        self._module = self._module.to(device)

    def _passed(
        self, parameters: np.ndarray, parts: list[np.ndarray], weights: np.ndarray, iteration: int
    ) -> Iterator[torch.Tensor]:
        """Weighted gradient (l,) of each group of partitions, one pass each."""
        leaves = self._leaves(parameters)
        named = dict(zip(self._names, leaves, strict=True))
        self._module.train()
        for part in parts:
            if not len(part):
                continue
            x, targets, weight = self._samples(part, weights, iteration)
            output = functional_call(self._module, named, (x.to(leaves[0].dtype),))
            losses = self._losses(output, targets)
            gradients = torch.autograd.grad(weight.to(losses) @ losses, leaves)
            yield flat_of(gradients)

    def _samples(
        self, part: np.ndarray, weights: np.ndarray, iteration: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Inputs, targets and weight of each sample in the partitions `part`, which the module now takes."""
        edges = partition_edges(self.n_samples, len(weights))
        sizes = np.diff(edges)[part]
        rows = self.rows(iteration)
        chosen = np.concatenate([rows[edges[i] : edges[i + 1]] for i in part])
        self._blocks.sizes = sizes.tolist()
        x = self._tensor(self._augmented(chosen, iteration))
        targets = torch.from_numpy(self._data.y_train[chosen]).to(self._device)
        return x, targets, torch.from_numpy(np.repeat(weights[part], sizes))

    def _losses(self, output: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Loss of each sample (N,)."""
        if not self._classes:
            if output.shape[1:] == (
                1,
            ):  # one number per sample: (N, 1) and (N,) would be broadcast to (N, N)
                output = output.squeeze(1)
            targets = targets.to(output.dtype)
        losses = self._loss(output, targets)
        require(
            output.shape != (len(targets), 1) or losses.shape != (len(targets),) * 2 or len(targets) == 1,
            "the module gives one number per sample, (N, 1), and labels are (N,), which this loss spreads to (N, N): "
            "give one output per class, or drop the last axis (torch.nn.Flatten(0))",
        )
        require(
            losses.ndim >= 1 and len(losses) == len(targets),
            "a loss has one number per sample (torch: reduction='none'), got " + str(tuple(losses.shape)),
        )
        if losses.ndim == 1:
            return losses
        return losses.flatten(1).sum(1)

    def _augmented(self, chosen: np.ndarray, iteration: int) -> np.ndarray:
        x = self._data.x_train[chosen]
        if self._augment is None:
            return x
        augmented = []
        for stored, sample in zip(x, chosen.tolist(), strict=True):
            draw = rng(self._seed, "augmentation", iteration, sample)
            augmented.append(self._augment(stored, draw))
        return np.stack(augmented)

    def _tensor(self, x: np.ndarray) -> torch.Tensor:
        return self._inputs(x).to(self._device)

    def _check(self, k: int) -> None:
        require(
            self.partitions is None or k == self.partitions,
            f"this task normalises each of its {self.partitions} partitions separately, but the "
            f"coefficients are for {k} partitions",
        )

    def _leaves(self, parameters: np.ndarray) -> list[torch.Tensor]:
        return leaves_of(parameters, self._shapes, self._device)

    def _buffers(self, statistics: np.ndarray) -> dict[str, torch.Tensor]:
        """Running statistics by the name of their buffer."""
        values = torch.tensor(statistics, device=self._device)
        name_of = {m: name for name, m in self._module.named_modules()}
        found = {}
        end = 0
        for m in self._normalised:
            for kind in ("running_mean", "running_var"):
                name = f"{name_of[m]}.{kind}".removeprefix(".")  # the module itself has no name
                found[name] = values[end : end + m.num_features]
                end += m.num_features
        return found

    def _renew(self, statistics: np.ndarray) -> None:
        """Move running statistics towards the average over the partitions just seen."""
        end = 0
        for m in self._normalised:
            seen = self._blocks.gathered.pop(m, None)
            for j in range(2):
                span = slice(end, end + m.num_features)
                end += m.num_features
                if seen:
                    mean = torch.stack([pair[j] for pair in seen]).mean(0).cpu().numpy()
                    statistics[span] += np.float32(m.momentum) * (mean - statistics[span])
