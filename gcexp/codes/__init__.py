"""Gradient codes: what each worker holds and sends, and how the master decodes what arrived."""

from gcexp.codes.base import Code, Decoding, Quorum, arcs
from gcexp.codes.block_design import BlockDesign
from gcexp.codes.comm_efficient import CommunicationEfficient
from gcexp.codes.composite import DirectSum, Kronecker
from gcexp.codes.cyclic import CyclicRepetition
from gcexp.codes.general_v import GeneralCommunicationEfficient
from gcexp.codes.naive_partial import NaivePartial
from gcexp.codes.partial_recovery import CyclicPartialRecovery, CyclicTwoMessage
from gcexp.codes.raptor import BatchRaptor
from gcexp.codes.repetition import EpsilonFractionalRepetition, FractionalRepetition
from gcexp.codes.soft_bibd import SoftBIBD
from gcexp.codes.subset_designs import BlockAssignment, Combinatorial, CoPrime, Intermediate, TDesign
from gcexp.codes.uncoded import Uncoded

__all__ = [
    "BatchRaptor",
    "BlockAssignment",
    "BlockDesign",
    "CoPrime",
    "Code",
    "Combinatorial",
    "CommunicationEfficient",
    "CyclicPartialRecovery",
    "CyclicRepetition",
    "CyclicTwoMessage",
    "Decoding",
    "DirectSum",
    "EpsilonFractionalRepetition",
    "FractionalRepetition",
    "GeneralCommunicationEfficient",
    "Intermediate",
    "Kronecker",
    "NaivePartial",
    "Quorum",
    "SoftBIBD",
    "TDesign",
    "Uncoded",
    "arcs",
]
