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
from torch.utils._python_dispatch import TorchDispatchMode

from gcexp.tasks.devices import flat_of

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

    `noise` is the largest norm of the change where every term of every sum and product of the pass, forward and
    backward, is moved: all of them alike by `UNIT`, or at random by sqrt(K) / 4 `UNIT` in a sum of K terms. `jumps`
    (q, l) are the changes where one unit is seen on the other side of its kink, for each unit near it, and `more` is
    the norm of the change where all of them are, if they are too many to be told apart; else 0.
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

    The pass must be deterministic, and of torch's operations only: `forward` gives outputs of samples x (N, ...) as a
    function of the float64 parameters `leaves`, `losses` the loss of each sample. `separable`: a sample's outputs
    depend on that sample alone (not so with batch normalisation).
    """

    def gradient(rows: slice = slice(None)) -> torch.Tensor:
        total = weights[rows] @ losses(forward(x[rows]), targets[rows])
        return flat_of(torch.autograd.grad(total, leaves))

    with _Watched() as watched:
        plain = gradient()
    moved = []
    for seed in range(PASSES):
        with _Moved(watched.sides, seed, seed % 2 == 0):
            moved.append(float((gradient() - plain).norm()))

    def jump(rows: slice, near: list[tuple]) -> torch.Tensor:
        """Difference of the gradients of some samples with these units above and below their kinks."""
        found = []
        for which in (0, 1):
            sides = [side[rows].clone() for side in watched.sides]
            for layer, index, *above_below in near:
                sides[layer][index[:, 0] - (rows.start or 0), *index.T[1:]] = above_below[which]
            with _Replayed(sides):
                found.append(gradient(rows))
        return found[0] - found[1]

    jumps, more = [], 0.0
    apart = separable and all(len(side) == len(x) for side in watched.sides)
    if apart and sum(len(index) for _, index, *_ in watched.near) <= MOST_JUMPS:
        for layer, *units in watched.near:
            for index, *above_below in zip(*(part.split(1) for part in units), strict=True):
                row = int(index[0, 0])
                one = jump(slice(row, row + 1), [(layer, index, *above_below)])
                jumps.append(one.cpu().numpy())
    elif watched.near:
        more = float(jump(slice(None), watched.near).norm())
    l = sum(leaf.numel() for leaf in leaves)
    return Rounding(max(moved), np.array(jumps).reshape(-1, l), more)


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


class _Mode(TorchDispatchMode):
    """Sees every operation of a pass, those of the backward pass too."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # torch would import its compiler, which takes seconds


class _Watched(_Mode):
    """Remembers on which side of its kink every unit is, which entry of each pool is the largest, and who is near.

    Units near their kinks are listed in `near`, by layer: their indices (q, axes), and what stands in `sides` where
    they are above the kink and where they are below: True and False, or the places of the largest and of the second
    largest entry of a pool.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sides: list[torch.Tensor] = []
        self.near: list[tuple] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name, x = func.overloadpacket.__name__, args[0]
        if name in ("relu", "relu_"):
            self.sides.append(x > 0)
            self._note(x, x, torch.ones_like(self.sides[-1]), torch.zeros_like(self.sides[-1]))
        found = func(*args, **(kwargs or {}))
        if name == "max_pool2d_with_indices":
            self.sides.append(found[1])
            if _tiles(*args[1:]):
                lead, second = _lead(x, args[1][0])
                lead[lead == 0] = torch.inf  # equal entries, as zeros of a layer before, move together
                h, w = lead.shape[-2:]
                self._note(x, lead, found[1][..., :h, :w], second)
        return found

    def _note(self, x: torch.Tensor, distance: torch.Tensor, above: torch.Tensor, below: torch.Tensor):
        """List the units whose distance from their kink is within rounding of the largest input of their sample."""
        largest = x.abs().flatten(1).amax(1).clamp_min(1e-300)
        near = distance.abs() <= ROUNDINGS * UNIT * largest.reshape(-1, *[1] * (distance.ndim - 1))
        if near.any():
            self.near.append((len(self.sides) - 1, near.nonzero(), above[near], below[near]))


class _Replayed(_Mode):
    """Keeps every unit on the given side of its kink, and every pool at the given entry."""

    def __init__(self, sides: list[torch.Tensor]):
        super().__init__()
        self._sides = iter(sides)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name in ("relu", "relu_"):
            kept = torch.where(next(self._sides), args[0].clamp_min(_ABOVE), 0.0)
            return args[0].copy_(kept) if name == "relu_" else kept
        if name == "max_pool2d_with_indices":
            at = next(self._sides)
            return args[0].flatten(2).gather(2, at.flatten(2)).reshape(at.shape), at
        return self._computed(func, name, args, kwargs or {})

    def _computed(self, func, name: str, args, kwargs):
        return func(*args, **kwargs)


class _Moved(_Replayed):
    """Moves what goes into every operation: all entries alike by a rounding, or at random by what sums add up.

    The partial sums of K terms are rounded K times, which comes to 0.3 sqrt(K) roundings of the terms where these have
    random signs. Units stay on their sides: what they jump by is bounded apart.
    """

    def __init__(self, sides: list[torch.Tensor], seed: int, together: bool):
        super().__init__(sides)
        self._draw, self._together = torch.Generator().manual_seed(seed), together

    def _computed(self, func, name, args, kwargs):
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


def _tiles(kernel, stride=(), padding=(0,), dilation=(1,), *rest) -> bool:
    """Whether windows of a pooling are squares that do not overlap: others are not watched."""
    alone = not any(padding) and set(dilation) == {1} and list(stride) in ([], list(kernel))
    return alone and kernel[0] == kernel[1] > 1


def _lead(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """How far the largest entry of each k x k window is above the second largest, and the place of that one in x."""
    h, w = (k * (size // k) for size in x.shape[-2:])
    windows = x[..., :h, :w].unfold(-2, k, k).unfold(-2, k, k).flatten(-2)
    top, which = windows.topk(2)
    down, right = torch.arange(0, h, k)[:, None].to(x.device), torch.arange(0, w, k).to(x.device)
    second = which[..., 1]
    return top[..., 0] - top[..., 1], (down + second // k) * x.shape[-1] + right + second % k
