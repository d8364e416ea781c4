import pytest

from dardis.config.settings import known_settings, plain_settings, with_settings
from dardis.model.errors import InputError
from dardis.task_manager.setups import SETUPS, SetUp

THROUGHPUT, PROFILE = SETUPS["dardis-throughput"], SETUPS["dardis-profile"]


def test_every_setting_that_is_told_can_be_set_again():
    for setup in SETUPS.values():
        settings = plain_settings(setup)
        assert set(settings) == set(known_settings(SetUp))
        written = [f"{key}={value}" for key, value in settings.items()]
        assert plain_settings(with_settings(THROUGHPUT, written)) == settings


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("selection", "no KEY=VALUE"),
        ("selection=best", r"min-start\|max-probability\|random"),
        ("start_grain_s=0", "from 1 on"),
        ("start_grain_s=²", "out of range"),
        ("deadlines=none", "unknown setting"),
    ],
)
def test_mistakes_list_what_is_known(setting, told):
    with pytest.raises(InputError, match=told):
        with_settings(THROUGHPUT, [setting])
