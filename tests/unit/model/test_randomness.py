from dardis.model.randomness import stream


def test_streams_are_told_apart_by_seed_and_names_and_repeat():
    def draws(*key):
        return stream(*key).integers(2**60, size=4).tolist()

    assert draws(1, "a", 2) == draws(1, "a", 2)
    keys = [(1, "a", 2), (2, "a", 2), (1, "b", 2), (1, "a", 3), (1, "a")]
    assert len({tuple(draws(*key)) for key in keys}) == len(keys)
