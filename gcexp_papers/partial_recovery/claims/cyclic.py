"""Sections V and VI with appendices C to F: cyclic schemes, and what one message and a low load cannot do."""

from __future__ import annotations

from itertools import combinations, product

import networkx
import numpy as np

from gcexp.analysis.claims import all_instances, claim, less, number
from gcexp.codes.base import Decoding
from gcexp.codes.partial_recovery import CyclicPartialRecovery, CyclicTwoMessage
from gcexp.codes.uncoded import Uncoded
from gcexp.decoding_error.straggler_sets import all_sets

from .. import impossibility, theory
from ..instances import cyclic_cases, pairs, triples
from ..numerics import recovered_partitions


def _sums(n: int, length: int) -> np.ndarray:
    """Row w sums the partitions w, ..., w + length - 1 (mod n)."""
    return ((np.arange(n) - np.arange(n)[:, None]) % n < length).astype(float)


# --- Theorems 5 to 7 ----------------------------------------------------------------------------------------


@claim("contribution_table1", "discussion_tradeoff_k_n", figure="table1", assumed=True)
def two_messages_compute_less_than_one(table):
    """In Table 1 at n = 12, s = 5, beta = 10 the row of Theorem 7 has a lower load than that of Theorem 6."""
    one, two = (number(table, "load_partitions", {"theorem": f"Theorem {t}"}) for t in (6, 7))
    return less(two, one)


@claim("theorem5_disjoint_workers", "theorem8_even_cyclic", "appendix_c_disjoint_choice", assumed=True)
def disjoint_workers_are_found_for_every_set():
    """For all n <= 9, s, beta of Theorem 5 both decoders find beta/p survivors whose partitions are disjoint."""
    for n, s, beta, p in cyclic_cases(9, 1):
        code = CyclicPartialRecovery(n, s, beta, "exact")
        responses = np.concatenate([*all_sets(n, s)])
        found = code.decode(responses)
        used = np.asarray(found.weights).reshape(len(responses), -1)
        plain = np.isin(used, (0, 1)).all() and (used.sum(1) == beta // p).all()
        right = plain and _disjoint(found, beta)
        longer = CyclicPartialRecovery(n, s, beta, "appendix").decode(responses)
        yield "theorem5_disjoint_workers", right
        yield "appendix_c_disjoint_choice", _disjoint(longer, beta)
        if beta == n - s + 1 and beta % 2 == 0:
            yield "theorem8_even_cyclic", right and code.load.max() == 2 and code.messages.max() == 1


def _disjoint(found: Decoding, beta: int) -> bool:
    """Whether every set of survivors gives beta partitions, each of them once."""
    return bool((found.coefficients.sum(1) == beta).all() and (found.coefficients <= 1).all())


@claim("appendix_d_recovery", "section6_tradeoff", "tradeoff_unlike_full_recovery", assumed=True)
def full_sums_and_a_short_one_are_found_for_every_set():
    """For all n <= 9, s, beta of Theorem 7 the decoder finds floor(beta/p) full sums and a short one, all disjoint."""
    for n, s, beta, p in cyclic_cases(9, 2):
        code = CyclicTwoMessage(n, s, beta)
        responses = np.concatenate([*all_sets(n, s)])
        found = code.decode(2 * responses)
        used = np.asarray(found.weights).reshape(len(responses), n, 2).sum(1)
        right = (used == [beta // p, 1]).all() and _disjoint(found, beta)
        yield "appendix_d_recovery", right
        if beta == n - s + 1:
            yield "section6_tradeoff", right and code.load.max() == code.messages.max() == 2
        if beta < n:
            yield "tradeoff_unlike_full_recovery", right and impossibility.cyclic_impossible(n, s, beta)


@claim("theorem6_smaller_load", "theorem6_equal_coefficients", assumed=True)
def a_shorter_arc_shows_too_little_and_coefficients_are_forced():
    """Workers in a row with p - 1 partitions see too few; where p does not divide beta, coefficients must be equal."""
    for n, s, beta in triples(9):
        p = theory.cyclic_load(n, s, beta)
        if p > 1:
            yield "theorem6_smaller_load", _sums(n, p - 1)[: n - s].any(0).sum() < beta
        if beta % p and beta < n:
            forced = impossibility.forced_equal(_sums(n, p), s, beta, worker=0)
            yield "theorem6_equal_coefficients", forced == [set(range(p))]


@claim("theorem7_scheme", "cyclic_at_most_two_messages", assumed=True)
def messages_of_the_cyclic_codes_are_plain_sums():
    """Workers of the codes with n <= 10 send one sum of p partitions, or also that of the first beta mod p of them."""
    for n, s, beta, p in cyclic_cases(10, 1):
        one = CyclicPartialRecovery(n, s, beta).encoding.toarray()
        yield "cyclic_at_most_two_messages", np.array_equal(one, _sums(n, p))
    for n, s, beta, p in cyclic_cases(10, 2):
        code = CyclicTwoMessage(n, s, beta)
        sums = np.stack([_sums(n, p), _sums(n, beta % p)], axis=1).reshape(2 * n, n)
        right = np.array_equal(code.encoding.toarray(), sums)
        yield "theorem7_scheme", right and np.array_equal(code.owner, np.arange(2 * n) // 2)
        yield "cyclic_at_most_two_messages", (np.bincount(code.owner, minlength=n) == 2).all()


@claim("example5", "example6", assumed=True)
def algorithm_1_goes_through_the_examples_as_printed():
    """At n = 18, s = 7, beta = 15 the decoder makes the printed choices, whatever the lost stragglers are.

    It recovers 15 gradients. Example 5, stragglers 15, 13, 12: worker 14 is used beside members of the group of 12.
    Example 6, stragglers 14, 13, 8 (the printed 9 is read as 4): three workers are used.
    """
    code = CyclicPartialRecovery(n=18, s=7, beta=15, decoder="appendix")

    def used(*stragglers: int) -> list[int]:
        found = code.decode(~np.isin(np.arange(1, 19), stragglers)[None], partial=True)
        workers = np.flatnonzero(np.asarray(found.weights).reshape(-1)) + 1
        return workers.tolist() if found.coefficients.sum() == 15 else []

    for others in product((5, 10), (3, 8), (1, 6, 11), (4, 9)):
        mine = used(15, 13, 12, *others)
        yield "example5", 14 in mine and all((w - 12) % 5 == 0 for w in mine if w != 14)
    for others in product((1, 6), (2, 7)):
        yield "example6", len(used(14, 13, 8, 4, 5, *others)) == 3


# --- Section VI: one message, k = n -------------------------------------------------------------------------


@claim("lemma2_scheme")
def one_partition_each_recovers_all_but_s():
    """For s < n <= 5 the uncoded scheme recovers n - s partitions from every set, with one message and load 1/n."""
    for n, s in pairs(5):
        code = Uncoded(n)
        full = (recovered_partitions(code, s) == n - s).all()
        yield full and code.messages.max() == code.load.max() == 1


@claim("theorem8_odd", assumed=True)
def load_two_is_excluded_for_six_workers():
    """Each of the 230230 assignments with n = 6 and s = 4 is excluded."""
    return all_instances(~impossibility.not_contradicted(impossibility.multigraphs(6)))


@claim("theorem8_odd", assumed=True)
def no_coefficients_of_a_grid_recover_three_partitions():
    """No multigraph works with ratios of coefficients of a grid for n = 4, but for n = 3, s = 1 one does."""
    for n in (3, 4):
        messages = list(np.eye(n))
        for (u, v), ratio in product(combinations(range(n), 2), (-2, -1, -0.5, 0.5, 1, 2)):
            messages.append(np.eye(n)[u] + ratio * np.eye(n)[v])
        good = networkx.Graph()
        for one, other in combinations(range(len(messages)), 2):
            if impossibility.most_recovered([messages[one], messages[other]]) >= 3:
                good.add_edge(one, other)
        largest = max(len(workers) for workers in networkx.find_cliques(good))
        yield (largest >= n) == (n == 3)


@claim("claim2", assumed=True)
def coefficients_of_a_union_of_cycles_are_equal():
    """Both coefficients of a worker are equal in every union of cycles on n <= 8 workers, s >= 2, beta = n - s + 1."""
    for n in range(3, 9):
        for held, s, worker in product(impossibility.cycle_unions(n), range(2, n), range(n)):
            forced = impossibility.forced_equal(held, s, n - s + 1, worker)
            yield forced == [set(np.flatnonzero(held[worker]))]


@claim("claim2", figure="fig5", assumed=True)
def both_ends_of_e_are_seen_by_e_alone(table):
    """In both halves of Fig. 5 four workers straggle and seven partitions are seen, those at e by no other worker."""
    for _, panel in table.groupby("panel"):
        edges = panel[panel["what"] == "edge"]
        left = edges[~edges["struck"].astype(bool)]
        e = left[left["label"] == "e"]
        ends = {
            (x, y) for x, y in [*zip(e["x"], e["y"], strict=True), *zip(e["to_x"], e["to_y"], strict=True)]
        }
        others = left[left["label"] != "e"]
        other_ends = {
            *zip(others["x"], others["y"], strict=True),
            *zip(others["to_x"], others["to_y"], strict=True),
        }
        nodes = panel[panel["what"] == "node"]
        yield len(edges) == len(nodes) == 10 and len(left) == 6
        yield len(ends) == 2 and len(ends | other_ends) == 7 == nodes["seen"].astype(bool).sum()
        yield not ends & other_ends


@claim("appendix_e_paths", figure=("fig6", "fig7"), assumed=True)
def paths_of_three_and_of_two_workers(fig6, fig7):
    """Of the path of three workers all four partitions are recovered, of that of two workers two of three."""
    for table, recovered in ((fig6, 4), (fig7, 2)):
        edges = int((table["what"] == "edge").sum())
        sums = np.eye(edges, edges + 1) + np.eye(edges, edges + 1, 1)
        yield impossibility.most_recovered(sums) == recovered


@claim("appendix_e_paths")
def plain_sums_along_a_path():
    """Sums along paths of 1 to 10 edges recover all nodes if the number of edges is odd, one less if it is even."""
    for edges in range(1, 11):
        sums = np.eye(edges, edges + 1) + np.eye(edges, edges + 1, 1)
        yield impossibility.most_recovered(sums) == edges + edges % 2


@claim("appendix_e_removal_order", figure="fig8", assumed=True)
def at_most_one_node_more_than_edges_is_seen(table):
    """In Fig. 8 at most n - k + 1 nodes are seen after k removals, and three are left with the triangle."""
    counts = table[table["what"] == "count"].sort_values("number")["nodes_seen"].tolist()
    n = int((table["what"] == "node").sum())
    yield counts[0] == n == 17 and counts[-1] == 3
    for k, seen in enumerate(counts):
        yield seen <= n - k + 1


@claim("appendix_e_removal_order", assumed=True)
def edges_are_removed_until_a_cycle_is_left():
    """Leaves of every connected graph with n = 3, 4, 5 nodes and n edges come off until all degrees are 2."""
    for n in (3, 4, 5):
        for edges in combinations(list(combinations(range(n), 2)), n):
            graph = networkx.Graph(edges)
            if len(graph) == n and networkx.is_connected(graph):
                while leaves := [node for node, degree in graph.degree if degree == 1]:
                    graph.remove_node(leaves[0])
                yield graph and all(degree == 2 for _, degree in graph.degree)
