import pytest

from dardis.cli.main import run

TABLE = "temp_c,1000,2000\n0,1.1,1.2\n10,1.3,1.4\n"


@pytest.fixture
def pue(tmp_path, capsys):
    (tmp_path / "pue.csv").write_text(TABLE)

    def call(cooling, temperature, watts, *more):
        named = str(tmp_path / cooling) if cooling.endswith(".csv") else cooling
        status = run(["pue", "--cooling", named, "--temperature", str(temperature), "--it-w", str(watts), *more])
        told = capsys.readouterr()
        return status, told.out.strip(), told.err.strip()

    return call


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("air", 10, 55_000), 1.124705), (("air", 15, 55_000), 1.415370), (("hybrid", 25, 85_000), 1.1018),
        (("pue.csv", 4, 1000), 1.1), (("pue.csv", 5, 1000), 1.3), (("pue.csv", 5, 2000, "--rows", "interpolate"), 1.3),
        (("air", 10, 5_500, "--design-w", "10700"), 1.124705),
    ],
)  # fmt: skip
def test_one_number_is_printed(pue, arguments, value):
    status, out, _ = pue(*arguments)
    assert status == 0
    assert float(out) == pytest.approx(value, abs=1e-4)


def test_what_the_model_was_not_calibrated_for_is_told(pue):
    status, out, note = pue("air", 55, 200_000)
    assert (status, float(out) > 1.7) == (0, True)
    assert note == (
        "dardis: note: outside of what the plant's model was calibrated for: 55 °C (-10 to 40 °C); "
        "200000 W, 187 % of the 107000 W that it is built for (5 to 100 %)"
    )
    assert "4.67 % of the" in pue("hybrid", 20, 5_000)[2]
    assert not pue("air", 40, 107_000)[2]
    assert not pue("pue.csv", 10, 1000)[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("steam", 10, 1000), "no such plant or file; expected air, hybrid, or the file of a PUE table"),
        (("air", 10, 0), "--it-w: 0; expected more than 0 W"),
        (("air", 300, 1000), "--temperature: 300; expected °C, from -90 to 60"),
        (("air", "nan", 1000), "--temperature: nan; expected °C"),
        (("pue.csv", 16, 1000), "asked for 16 °C and 1000 W of IT power; expected within what it covers, -5 to 15 °C"),
        (("pue.csv", 10, 2001), "expected within what it covers"),
        (("pue.csv", 10, 1000, "--rows", "best"), "--rows: 'best'; expected nearest or interpolate"),
    ],
)
def test_a_mistake_is_one_line(pue, arguments, message):
    status, out, error = pue(*arguments)
    assert status == 2
    assert out == ""
    assert message in error
    assert len(error.splitlines()) == 1
