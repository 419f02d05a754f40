"""Placement rules: which worker takes place j of the code in each iteration. They permute the draws, not the code."""

from gcexp.schemes.placement.clusters import cluster_matrix, home, membership, seats, stored
from gcexp.schemes.placement.dynamic import Best, Greedy
from gcexp.schemes.placement.even import best_clusters
from gcexp.schemes.placement.fixed import Given, Home, Pairs, Zipper
from gcexp.schemes.placement.greedy import greedy_clusters
from gcexp.schemes.placement.hindsight import Hindsight
from gcexp.schemes.placement.protocol import Placement, PlacementExtras

__all__ = [
    "Best",
    "Given",
    "Greedy",
    "Hindsight",
    "Home",
    "Pairs",
    "Placement",
    "PlacementExtras",
    "Zipper",
    "best_clusters",
    "cluster_matrix",
    "greedy_clusters",
    "home",
    "membership",
    "seats",
    "stored",
]
