"""One stream of random numbers per purpose."""

from gcexp.seeding import STREAMS, rng


def test_every_purpose_has_a_number_of_its_own():
    """Generated rows were drawn from the stream of traces."""
    assert len(set(STREAMS.values())) == len(STREAMS)
    assert len({rng(0, purpose).random() for purpose in STREAMS}) == len(STREAMS)
    published = {"assignment": 0, "delays": 1, "data_order": 2, "initial_weights": 3, "monte_carlo": 4}
    assert published.items() <= STREAMS.items()  # a number that moves moves every result
