"""How rounding may change a gradient: samples close to a kink, and the rounding of every sum.

A rectified linear unit has two slopes. Where its input is within rounding of zero, two correct programs may see it on
different sides, and the gradient of that one sample jumps. So the difference of a pass in float32 and one in float64 is
not small in every case; but it lies along a few directions, which are known.

All else that rounding does is measured: where an operation sums terms, each of them is moved at random by as much as
so many roundings may. So the bound follows from the sizes of what is summed, how many they are and the precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

#: Relative rounding error of float32.
UNIT = 2.0**-24
#: Uncertainty of a unit's input, in roundings of the sample's largest input in the same layer.
ROUNDINGS = 32
#: If more units than this are close to their kink, they are bounded together instead of one by one.
MOST_JUMPS = 64
#: Passes with moved terms, the largest change counts: rounding is alike in all samples (saturated units) or at random.
PASSES = 4


@dataclass(frozen=True, eq=False)
class Rounding:
    """What float32 may do to one weighted gradient (l,).

    Attributes
    ----------
    noise : float
        Largest norm of the change where every term of every sum and product of the pass, forward and backward, is
        moved: all of them alike by `UNIT`, or at random by sqrt(K) / 4 `UNIT` in a sum of K terms.
    jumps : ndarray (q, l)
        The change where one unit is seen on the other side of its kink, for each unit near it.
    more : float
        Norm of the change where all of them are, if they are too many to be told apart; else 0.
    """

    noise: float
    jumps: np.ndarray
    more: float


def rounding(
    forward: Callable[[torch.Tensor], torch.Tensor],
    losses: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    targets: torch.Tensor,
    weights: torch.Tensor,
    leaves: list[torch.Tensor],
    separable: bool = True,
) -> Rounding:
    """Follow one weighted pass in float64, find its kinks, and see what rounding its terms does.

    The pass must be deterministic, and of torch's operations only.

    Parameters
    ----------
    forward : callable
        Outputs of samples x (N, ...), a function of `leaves`.
    losses : callable
        Loss of each sample (N,), from outputs and targets.
    weights : tensor (N,)
        Coefficient of each sample.
    leaves : list of tensor
        Parameters in float64 that require grad.
    separable : bool
        Whether a sample's outputs depend on that sample alone (not so with batch normalisation).
    """
    watch, sides = _Kinks(), _Sides()

    def whole() -> torch.Tensor:
        return _flat(torch.autograd.grad(weights @ losses(forward(x), targets), leaves))

    with watch, sides:
        plain = whole()
    moved = []
    for seed in range(PASSES):
        with _Moved(seed, sides.found, seed % 2 == 0):
            moved.append(float((whole() - plain).norm()))
    noise = max(moved)
    jumps, more = [], 0.0

    def gradient(rows: slice, found: list[tuple], side: float) -> torch.Tensor:
        with _Kinks({(layer, (row - rows.start, *rest)) for layer, (row, *rest) in found}, side):
            total = weights[rows] @ losses(forward(x[rows]), targets[rows])
        return _flat(torch.autograd.grad(total, leaves))

    if separable and len(watch.found) <= MOST_JUMPS:
        for one in watch.found:
            rows = slice(one[1][0], one[1][0] + 1)
            jumps.append((gradient(rows, [one], 1.0) - gradient(rows, [one], -1.0)).cpu().numpy())
    elif watch.found:
        everything = slice(0, len(x))
        difference = gradient(everything, watch.found, 1.0) - gradient(everything, watch.found, -1.0)
        more = float(difference.norm())
    l = sum(leaf.numel() for leaf in leaves)
    return Rounding(noise, np.array(jumps).reshape(-1, l), more)


#: Operations that sum products, with the number of terms of an entry of their result.
_CONTRACTED: dict[str, Callable[..., int]] = {
    "mm": lambda a, b, *rest: a.shape[1],
    "bmm": lambda a, b, *rest: a.shape[2],
    "mv": lambda a, b, *rest: a.shape[1],
    "dot": lambda a, b, *rest: a.shape[0],
    "addmm": lambda c, a, b, *rest: a.shape[1],
    "addmv": lambda c, a, b, *rest: a.shape[1],
    "baddbmm": lambda c, a, b, *rest: a.shape[2],
    "convolution": lambda x, weight, *rest: weight[0].numel(),
    "convolution_backward": lambda grad, x, weight, *rest: max(
        grad.numel() // grad.shape[1], weight[:, 0].numel()
    ),
}
_ABOVE = 1e-300  # an input of a unit that is kept on the upper side of its kink
#: Operations that only select entries of their input.
_PICKS = ("index", "index_select", "gather", "embedding", "slice_backward", "select_backward", "clone")


class _Sides(TorchDispatchMode):
    """Remembers on which side of its kink every unit is, and which entry of each pool is the largest."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[torch.Tensor] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch would import its compiler, which takes seconds

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name in ("relu", "relu_"):
            self.found.append(args[0] > 0)
        found = func(*args, **(kwargs or {}))
        if name == "max_pool2d_with_indices":
            self.found.append(found[1])
        return found


class _Moved(_Sides):
    """Moves what goes into every operation: all entries alike by a rounding, or at random by what sums add up.

    The partial sums of K terms are rounded K times, which comes to 0.3 sqrt(K) roundings of the terms where these have
    random signs. Units stay on their sides: what they jump by is bounded apart.
    """

    def __init__(self, seed: int, sides: list[torch.Tensor], together: bool):
        super().__init__()
        self._draw, self._sides, self._together = torch.Generator().manual_seed(seed), iter(sides), together

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, func.overloadpacket.__name__
        if name in ("relu", "relu_"):
            kept = torch.where(next(self._sides), args[0].clamp_min(_ABOVE), 0.0)
            return args[0].copy_(kept) if name == "relu_" else kept
        if name == "max_pool2d_with_indices":
            at = next(self._sides)
            return args[0].flatten(2).gather(2, at.flatten(2)).reshape(at.shape), at
        if name in _PICKS or any(result.alias_info for result in func._schema.returns):  # a view, or in place
            return func(*args, **kwargs)
        if name in _CONTRACTED:
            return func(*self._moved(args, _CONTRACTED[name](*args)), **kwargs)
        found = func(*self._moved(args, 1), **kwargs)
        first = found[0] if isinstance(found, tuple) else found
        largest = max((each.numel() for each in args if _real(each)), default=0)
        if _real(first) and largest > first.numel() > 0:  # a sum over some axes
            found = func(*self._moved(args, largest // first.numel()), **kwargs)
        return found

    def _moved(self, args, terms: int) -> list:
        amount = max(1.0, terms**0.5 / 4) * UNIT
        return [self._one(each, amount) if _real(each) else each for each in args]

    def _one(self, x: torch.Tensor, amount: float) -> torch.Tensor:
        """Each entry moved by +- amount; a sign is one of the first axis times one of the others, cheap for large x."""
        if self._together:
            return x * (1 + UNIT * (2 * int(torch.randint(0, 2, (), generator=self._draw)) - 1))
        first, later = (
            (torch.randint(0, 2, shape, generator=self._draw) * 2.0 - 1).to(x)
            for shape in (x.shape[:1], x.shape[1:])
        )
        moved = x * later * amount
        return moved.mul_(first.reshape(-1, *[1] * (x.ndim - 1)) if x.ndim else first).add_(x)


def _real(x: object) -> bool:
    return isinstance(x, torch.Tensor) and x.is_floating_point()


class _Kinks(TorchFunctionMode):
    """Watches every rectified linear unit and pooled maximum of a pass, or pushes some of them to one side.

    Parameters
    ----------
    pushed : set of (layer, index), optional
        Units to be pushed; left out, units near their kink are listed in `found` in the same form.
    side : float
        1: above zero, the largest entry stays so; -1: below, the second largest takes its place.
    """

    def __init__(self, pushed: set[tuple] | None = None, side: float = 1.0):
        super().__init__()
        self.found: list[tuple] = []
        self._pushed, self._side, self._layer = pushed, side, 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in ("relu", "relu_") or (name == "max_pool2d" and _tiles(*args[1:], **kwargs)):
            self._layer += 1
            x = args[0] if args else kwargs["input"]
            distance = x if name != "max_pool2d" else _lead(x, *args[1:2], **kwargs)
            if self._pushed is None:
                self._watch(x.detach(), distance.detach(), pooled=name == "max_pool2d")
            else:
                x = self._push(x, distance.detach(), pooled=name == "max_pool2d")
            return func(x, *args[1:], **kwargs) if args else func(**(kwargs | {"input": x}))
        return func(*args, **kwargs)

    def _watch(self, x: torch.Tensor, distance: torch.Tensor, pooled: bool) -> None:
        largest = x.abs().flatten(1).amax(1).clamp_min(1e-300)
        near = distance.abs() <= ROUNDINGS * UNIT * largest.reshape(-1, *[1] * (distance.ndim - 1))
        if pooled:
            near &= distance != 0  # entries that are equal, as zeros of a layer before, move together
        self.found += [(self._layer, tuple(index)) for index in near.nonzero().tolist()]

    def _push(self, x: torch.Tensor, distance: torch.Tensor, pooled: bool) -> torch.Tensor:
        here = [index for layer, index in self._pushed if layer == self._layer]  # type: ignore[union-attr]
        if not here:
            return x
        shift = torch.zeros_like(x)
        where = tuple(torch.tensor(axis) for axis in zip(*here, strict=True))
        step = ROUNDINGS * UNIT * float(x.detach().abs().max())
        if not pooled:
            shift[where] = self._side * step - distance[where]  # just above or just below zero
        elif self._side < 0:
            k = x.shape[-1] // distance.shape[-1]
            for index in here:
                n, c, i, j = index
                window = x.detach()[n, c, k * i : k * (i + 1), k * j : k * (j + 1)]
                a, b = divmod(int(window.argmax()), k)
                shift[n, c, k * i + a, k * j + b] = -float(distance[index]) - step
        return x + shift


def _tiles(kernel_size=None, stride=None, padding=0, dilation=1, *rest, **kwargs) -> bool:
    """Whether windows of a pooling do not overlap: others are not watched."""
    k = kwargs.get("kernel_size", kernel_size)
    stride, padding, dilation = (
        kwargs.get(name, value)
        for name, value in (("stride", stride), ("padding", padding), ("dilation", dilation))
    )
    return isinstance(k, int) and stride in (None, k) and padding == 0 and dilation == 1


def _lead(x: torch.Tensor, kernel_size=None, **kwargs) -> torch.Tensor:
    """How far the largest entry of each window is above the second largest."""
    k = kwargs.get("kernel_size", kernel_size)
    h, w = (k * (size // k) for size in x.shape[-2:])
    windows = x[..., :h, :w].unfold(-2, k, k).unfold(-2, k, k).flatten(-2)
    top = windows.topk(2).values
    return top[..., 0] - top[..., 1]


def _flat(gradients: tuple[torch.Tensor, ...]) -> torch.Tensor:
    return torch.cat([g.reshape(-1) for g in gradients])
