"""One stream of random numbers per purpose."""

import pytest

from gcexp.errors import ParameterError
from gcexp.seeding import STREAMS, rng, rngs


def test_every_purpose_has_a_number_of_its_own():
    """Generated rows were drawn from the stream of traces."""
    assert len(set(STREAMS.values())) == len(STREAMS)
    assert len({rng(0, purpose).random() for purpose in STREAMS}) == len(STREAMS)
    published = {"assignment": 0, "delays": 1, "data_order": 2, "initial_weights": 3, "monte_carlo": 4}
    assert published.items() <= STREAMS.items()  # a number that moves moves every result


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, 2**64 - 1, 2**64, 2**70])
@pytest.mark.parametrize("purpose", ["delays", "lab.own"])
def test_streams_made_together_are_those_made_one_by_one(seed, purpose):
    """In their whole state: so are all numbers that they will ever draw."""
    units = [0, 1, 9999, 2**31, 2**32 - 1]
    together, alone = rngs(seed, purpose, units), [rng(seed, purpose, unit) for unit in units]
    assert [one.bit_generator.state for one in together] == [one.bit_generator.state for one in alone]
    assert rngs(seed, purpose, []) == []


def test_a_negative_seed_is_refused_by_all():
    for draw in (rng, lambda *given: rngs(*given, range(2))):
        with pytest.raises(ParameterError, match="seed.*got -1"):
            draw(-1, "delays")
