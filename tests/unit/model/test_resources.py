import pytest

from dardis.model.resources import parse_amount


@pytest.mark.parametrize(
    ("kind", "value", "amount"),
    [
        ("cores", 16, 16),
        ("cores", "16", 16),
        ("cores", " 16 ", 16),
        ("memory", 0, 0),
        ("memory", 512, 512),
        ("memory", "512", 512),
        ("memory", "16GiB", 16 * 1024),
        ("memory", "16 gib", 16 * 1024),
        ("memory", "1.5TiB", 1536 * 1024),
        ("memory", "2048KiB", 2),
        ("memory", "16GB", 15258),  # 16e9 / 2**20 = 15258.8: what does not fill a MiB is not there
        ("memory", "1048576B", 1),
    ],
)
def test_amounts(kind, value, amount):
    assert parse_amount(kind, value) == amount


@pytest.mark.parametrize(
    ("kind", "value", "complaint"),
    [
        ("cores", -1, "negative"),
        ("cores", True, "not a whole number"),
        ("cores", 1.5, "not a whole number"),
        ("cores", "1.5", "not a whole number"),
        ("cores", "4GiB", "not a whole number"),
        ("cores", "4B", "not a whole number"),
        ("cores", "four", "not an amount"),
        ("memory", "-1GiB", "not an amount"),
        ("memory", "1 XB", "not an amount"),
        ("memory", "", "not an amount"),
        ("memory", None, "not a whole number"),
    ],
)
def test_what_is_no_amount_is_refused(kind, value, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_amount(kind, value)
