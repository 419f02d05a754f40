"""Learning with gradients that a drawn adaptive code decodes, without a clock."""

from __future__ import annotations

from gcexp.analysis.declared import columns


@columns("n", "method", "seed", "last_accuracy", "median_error", "largest_error")
def trainings(d: int, L: int, sizes: list[int], seeds: int, iterations: int, learning_rate: float):
    """Test accuracy after training with the gradients that drawn codes decode in single and in double precision.

    A perceptron learns scikit-learn's digits by gradient descent. In every iteration 0 to d-1 random workers straggle,
    and the update is made with what the plain solves of `numerics.decode_errors` decode. The errors are those of all
    decoded gradients of a training, relative to their sums. ``whole gradient``: nothing is coded. A training that ends
    in numbers that are not finite has the accuracy 0.
    """
    from .coded_training import trained  # torch takes long to import, and a plan needs the columns only

    for n in sizes:
        for seed in range(seeds):
            for method in ("float32", "float64", "whole gradient"):
                yield n, method, seed, *trained(n, d, L, seed, method, iterations, learning_rate)
