"""The helpers of the tests: all are on their page, services that never started end, missing public data skips."""

import re
from pathlib import Path

import pytest
from kit.live import Live
from kit.live_ranks import Ranks
from kit.shared_folder import SharedFolder

KIT = Path(__file__).resolve().parents[1] / "kit"


def test_the_page_names_every_module_once_and_no_other():
    named = re.findall(r"^\* `(\w+)`: ", (KIT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(path.stem for path in KIT.glob("*.py"))


@pytest.mark.parametrize("kind", [Live, Ranks])
def test_a_service_that_was_never_started_can_be_ended(tmp_path, kind):
    kind(tmp_path).end()


def test_a_missing_file_or_folder_skips_the_test(tmp_path):
    shared = SharedFolder(tmp_path / "shared")
    (tmp_path / "shared" / "traces").mkdir(parents=True)
    (tmp_path / "shared" / "traces" / "there.csv").write_text("job\n")
    assert (shared / "traces" / "there.csv").read_text() == (shared / "traces/there.csv").read_text() == "job\n"
    for missing in (lambda: shared / "prices", lambda: shared / "traces" / "other", lambda: shared / "traces/other"):
        with pytest.raises(pytest.skip.Exception, match=r"needs .*shared"):
            missing()
