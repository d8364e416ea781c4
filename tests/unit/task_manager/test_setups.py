import pytest

from dardis.config.settings import known_settings, plain_settings, with_settings
from dardis.model.choices import NodeChoice, OnOff
from dardis.model.errors import InputError
from dardis.task_manager.setups import SETUPS, Selection, SetUp

THROUGHPUT, PROFILE = SETUPS["dardis-throughput"], SETUPS["dardis-profile"]


def test_settings_by_name():
    changed = with_settings(THROUGHPUT, ["selection=random", "backfill=off", "start_grain_s=5", "backfill_depth=0"])
    assert changed.selection is Selection.RANDOM
    assert changed.backfill is OnOff.OFF
    assert (changed.start_grain_s, changed.backfill_depth) == (5, 0)
    assert changed.node_choice is NodeChoice.BEST_FIT


def test_every_setting_that_is_told_can_be_set_again():
    for setup in SETUPS.values():
        settings = plain_settings(setup)
        assert set(settings) == set(known_settings(SetUp))
        written = [f"{key}={value}" for key, value in settings.items()]
        assert plain_settings(with_settings(THROUGHPUT, written)) == settings


def test_only_drawn_starts_lie_on_a_grid():
    assert THROUGHPUT.grain == 1
    assert PROFILE.grain == 60
    assert not THROUGHPUT.drawn
    assert PROFILE.drawn
    assert with_settings(THROUGHPUT, ["offers=quota"]).drawn
    assert with_settings(THROUGHPUT, ["offers=quota"]).grain == 1


def test_every_setup_is_described():
    assert all(setup.about for setup in SETUPS.values())


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("selektion=random", "start_grain_s=N"),
        ("selection", "no KEY=VALUE"),
        ("selection=best", r"min-start\|max-probability\|random"),
        ("start_grain_s=0", "from 1 on"),
        ("start_grain_s=-5", "from 1 on"),
        ("start_grain_s=ten", "out of range"),
        ("start_grain_s=2147483648", "out of range"),
        ("start_grain_s=²", "out of range"),
        ("deadlines=none", "unknown setting"),
    ],
)
def test_mistakes_list_what_is_known(setting, told):
    with pytest.raises(InputError, match=told):
        with_settings(THROUGHPUT, [setting])
