"""Gradient codes: what each worker stores and sends, and how the master decodes the messages."""

from gcexp.codes.adaptive import Adaptive, GroupedAdaptive, GroupedCGC
from gcexp.codes.base import Code, Decoding, arcs
from gcexp.codes.bernoulli import BernoulliCode, RegularizedBernoulliCode
from gcexp.codes.best import BestCode
from gcexp.codes.block_design import BlockDesign
from gcexp.codes.by_message import ByMessage
from gcexp.codes.circulant import CirculantMultiMessage
from gcexp.codes.clustered import Clustered
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.codes.composite import DirectSum, Kronecker
from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.cyclic_mds import CyclicMDS
from gcexp.codes.expander import ExpanderCode, RandomRegularCode
from gcexp.codes.general_v import GeneralCommunicationEfficient
from gcexp.codes.graph_code import GraphCode
from gcexp.codes.iterative import iterate
from gcexp.codes.naive_partial import NaivePartial
from gcexp.codes.oagc import OAGC
from gcexp.codes.partial_recovery import CyclicPartialRecovery, CyclicTwoMessage
from gcexp.codes.partial_work import PartialWork
from gcexp.codes.quorums import Quorum, Quorums
from gcexp.codes.raptor import BatchRaptor
from gcexp.codes.reed_solomon import ReedSolomon
from gcexp.codes.regular_bipartite import RegularBipartiteCode
from gcexp.codes.repetition import EpsilonFractionalRepetition, FractionalRepetition
from gcexp.codes.soft_bibd import SoftBIBD
from gcexp.codes.spare import SPARe
from gcexp.codes.stochastic import StochasticGradientCode
from gcexp.codes.subset_designs import BlockAssignment, Combinatorial, CoPrime, Intermediate, TDesign
from gcexp.codes.uncoded import Uncoded, UnevenShards

__all__ = [
    "Adaptive",
    "BatchRaptor",
    "BernoulliCode",
    "BestCode",
    "BlockAssignment",
    "BlockDesign",
    "ByMessage",
    "CirculantMultiMessage",
    "Clustered",
    "CoPrime",
    "Code",
    "Combinatorial",
    "CommunicationEfficient",
    "CyclicMDS",
    "CyclicPartialRecovery",
    "CyclicRepetition",
    "CyclicTwoMessage",
    "Decoding",
    "DirectSum",
    "EpsilonFractionalRepetition",
    "ExpanderCode",
    "FractionalRepetition",
    "GeneralCommunicationEfficient",
    "GraphCode",
    "GroupedAdaptive",
    "GroupedCGC",
    "Intermediate",
    "Kronecker",
    "NaivePartial",
    "OAGC",
    "PartialWork",
    "Quorum",
    "Quorums",
    "RandomRegularCode",
    "ReedSolomon",
    "RegularBipartiteCode",
    "RegularizedBernoulliCode",
    "SPARe",
    "SoftBIBD",
    "StochasticGradientCode",
    "TDesign",
    "Uncoded",
    "UnevenShards",
    "arcs",
    "iterate",
]
