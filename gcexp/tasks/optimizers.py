"""Update rules of the master for a decoded gradient, in plain numpy on flat vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gcexp.errors import require, unknown

NORMALIZATIONS = ("total", "recovered")
State = dict[str, np.ndarray]


class _Rule:
    """Common base: N counts all samples or the recovered ones, and the step size is positive."""

    learning_rate: float
    normalize: str

    def __post_init__(self):
        require(
            self.learning_rate > 0,
            f"optimizer.learning_rate must be a step size > 0, got {self.learning_rate}",
        )
        require(
            self.normalize in NORMALIZATIONS, unknown("optimizer.normalize", self.normalize, NORMALIZATIONS)
        )

    def check(self, coefficients: np.ndarray) -> None:
        """Refuse to average over recovered samples where a coefficient is neither 0 nor 1."""
        if self.normalize == "recovered":
            other = coefficients[(coefficients != 0) & (coefficients != 1)]
            require(
                not other.size,
                "optimizer.normalize=recovered averages over recovered samples, so coefficients must be 0 or 1, got "
                f"{other[:1].sum():.6g}; use normalize=total",
            )

    def _samples(self, n_samples: int, recovered: int) -> int:
        return n_samples if self.normalize == "total" else recovered


@dataclass(frozen=True)
class GradientDescent(_Rule):
    r"""Gradient descent with a fixed step: w - (learning_rate / N) g.

    Parameters
    ----------
    learning_rate : float
        Step size on the mean loss.
    normalize : {"total", "recovered"}
        N counts all samples, or those that were recovered (an average over them; for 0/1 coefficients only).

    Raises
    ------
    ParameterError
        Unless learning_rate > 0 and normalize is one of the two.

    Examples
    --------
    >>> rule = GradientDescent(learning_rate=0.5)
    >>> w = np.ones(2)
    >>> rule.update(np.array([4.0, 8.0]), rule.init(w), w, n_samples=4, recovered=2)
    (array([0.5, 0. ]), {})
    """

    learning_rate: float = 0.5
    normalize: str = "total"

    def init(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        """No state."""
        return {}

    def update(
        self,
        gradient: np.ndarray,
        state: dict[str, np.ndarray],
        parameters: np.ndarray,
        n_samples: int,
        recovered: int,
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """New parameters (l,) and the same state."""
        return parameters - (self.learning_rate / self._samples(n_samples, recovered)) * gradient, state


@dataclass(frozen=True)
class Momentum(_Rule):
    r"""Stochastic gradient descent with momentum, weight decay and a schedule, as ``torch.optim.SGD`` defines them.

    With h = g / N + weight_decay w: v <- momentum v + h, and w <- w - r v, or with `nesterov`
    w <- w - r (h + momentum v). The rate is r = learning_rate * schedule(u) in update u = 0, 1, ...

    Parameters
    ----------
    learning_rate : float
    momentum : float
        In [0, 1).
    nesterov : bool
    weight_decay : float
        At least 0; it is added to the gradient of the mean loss.
    normalize : {"total", "recovered"}
        See `GradientDescent`.
    schedule : callable or None
        Factor of the rate by update: see `gcexp.tasks.schedules`. None: 1.

    Raises
    ------
    ParameterError
        Where a number is out of its range.

    Examples
    --------
    >>> rule, w = Momentum(learning_rate=1.0, momentum=0.5), np.zeros(1)
    >>> state = rule.init(w)
    >>> for _ in range(3):
    ...     w, state = rule.update(np.array([2.0]), state, w, n_samples=2, recovered=2)
    >>> w
    array([-4.25])
    """

    learning_rate: float = 0.1
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 0.0
    normalize: str = "total"
    schedule: Callable[[int], float] | None = None

    def __post_init__(self):
        super().__post_init__()
        require(0 <= self.momentum < 1, f"optimizer.momentum must be in [0, 1), got {self.momentum}")
        _check_decay(self.weight_decay)

    def init(self, parameters: np.ndarray) -> State:
        return {"velocity": np.zeros_like(parameters), "updates": np.array(0)}

    def update(
        self, gradient: np.ndarray, state: State, parameters: np.ndarray, n_samples: int, recovered: int
    ) -> tuple[np.ndarray, State]:
        u = int(state["updates"])
        h = gradient / self._samples(n_samples, recovered)
        if self.weight_decay:
            h = h + self.weight_decay * parameters
        v = self.momentum * state["velocity"] + h
        step = h + self.momentum * v if self.nesterov else v
        rate = _rate(self.learning_rate, self.schedule, u)
        return parameters - rate * step, {"velocity": v, "updates": np.array(u + 1)}


@dataclass(frozen=True)
class AcceleratedGradient(_Rule):
    r"""Nesterov's accelerated gradient with l2 regularisation, in the three-sequence form used with Amazon's rows.

    From beta = u = 0; update i = 0, 1, ... with t = 2 / (i + 2) and N samples:
    b = (1 - t) beta + t u - (learning_rate / N) (g(beta) + 2 l2 beta), then u = beta + (b - beta) / t and beta = b.

    Parameters
    ----------
    learning_rate : float
        Step size on the mean loss.
    l2 : float
        At least 0. The objective is the mean over N of the loss, plus (l2 / N) ||beta||^2.
    normalize : {"total", "recovered"}
        See `GradientDescent`.

    Raises
    ------
    ParameterError
        Where a number is out of its range.

    References
    ----------
    Ye and Abbe (ICML 2018) name the method; the update is that of the public code rashisht1/gradient_coding.

    Examples
    --------
    >>> rule, w = AcceleratedGradient(learning_rate=1.0, l2=0.0), np.zeros(1)
    >>> state = rule.init(w)
    >>> for _ in range(3):
    ...     w, state = rule.update(np.array([1.0]), state, w, n_samples=1, recovered=1)
    >>> w
    array([-3.25])
    """

    learning_rate: float = 10.0
    l2: float = 1.0
    normalize: str = "total"

    def __post_init__(self):
        super().__post_init__()
        require(self.l2 >= 0, f"optimizer.l2 must be a factor >= 0, got {self.l2}")

    def init(self, parameters: np.ndarray) -> State:
        return {"u": parameters, "updates": np.array(0)}

    def update(
        self, gradient: np.ndarray, state: State, parameters: np.ndarray, n_samples: int, recovered: int
    ) -> tuple[np.ndarray, State]:
        i = int(state["updates"])
        u = state["u"]
        t = 2 / (i + 2)
        slope = gradient + (2 * self.l2) * parameters
        slope *= self.learning_rate / self._samples(n_samples, recovered)
        new = (1 - t) * parameters + t * u - slope
        return new, {"u": parameters + (new - parameters) / t, "updates": np.array(i + 1)}


@dataclass(frozen=True)
class Adam(_Rule):
    r"""Adam as ``torch.optim.Adam`` defines it, on the mean gradient h = g / N, or AdamW with `decoupled` decay.

    m <- beta1 m + (1 - beta1) h, v <- beta2 v + (1 - beta2) h^2, and in update u = 1, 2, ...
    w <- w - r (m / (1 - beta1^u)) / (sqrt(v / (1 - beta2^u)) + epsilon).

    Parameters
    ----------
    learning_rate : float
    beta1, beta2 : float
        In [0, 1).
    epsilon : float
        Above 0.
    weight_decay : float
        At least 0; added to h as weight_decay w, or with `decoupled` taken from the parameters: w <- (1 - r decay) w.
    decoupled : bool
    normalize : {"total", "recovered"}
        See `GradientDescent`.
    schedule : callable or None
        Factor of the rate by update, from 0: see `gcexp.tasks.schedules`. None: 1.

    Raises
    ------
    ParameterError
        Where a number is out of its range.

    References
    ----------
    Kingma and Ba, "Adam", ICLR 2015; Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.

    Examples
    --------
    >>> rule, w = Adam(learning_rate=0.1), np.zeros(2)
    >>> w, state = rule.update(np.array([5.0, -0.1]), rule.init(w), w, n_samples=1, recovered=1)
    >>> w.round(6)
    array([-0.1,  0.1])
    """

    learning_rate: float = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = False
    normalize: str = "total"
    schedule: Callable[[int], float] | None = None

    def __post_init__(self):
        super().__post_init__()
        for name in ("beta1", "beta2"):
            require(
                0 <= getattr(self, name) < 1, f"optimizer.{name} must be in [0, 1), got {getattr(self, name)}"
            )
        require(self.epsilon > 0, f"optimizer.epsilon must be a number > 0, got {self.epsilon}")
        _check_decay(self.weight_decay)

    def init(self, parameters: np.ndarray) -> State:
        return {"m": np.zeros_like(parameters), "v": np.zeros_like(parameters), "updates": np.array(0)}

    def update(
        self, gradient: np.ndarray, state: State, parameters: np.ndarray, n_samples: int, recovered: int
    ) -> tuple[np.ndarray, State]:
        u = int(state["updates"])
        rate = _rate(self.learning_rate, self.schedule, u)
        h = gradient / self._samples(n_samples, recovered)
        if self.weight_decay and self.decoupled:
            parameters = (1 - rate * self.weight_decay) * parameters
        elif self.weight_decay:
            h = h + self.weight_decay * parameters
        m = self.beta1 * state["m"] + (1 - self.beta1) * h
        v = self.beta2 * state["v"] + (1 - self.beta2) * h * h
        # Python's numbers keep float32 parameters float32.
        root = np.sqrt(v) / (1 - self.beta2 ** (u + 1)) ** 0.5 + self.epsilon
        step = rate / (1 - self.beta1 ** (u + 1)) * m / root
        return parameters - step, {"m": m, "v": v, "updates": np.array(u + 1)}


def _rate(learning_rate: float, schedule: Callable[[int], float] | None, update: int) -> float:
    return learning_rate if schedule is None else learning_rate * float(schedule(update))


def _check_decay(weight_decay: float) -> None:
    require(weight_decay >= 0, f"optimizer.weight_decay must be a factor >= 0, got {weight_decay}")
