"""The folder of public data: a test that needs a file that is not there is skipped."""

import pytest
from kit.shared_folder import SharedFolder


def test_a_missing_file_or_folder_skips_the_test(tmp_path):
    shared = SharedFolder(tmp_path / "shared")
    (tmp_path / "shared" / "traces").mkdir(parents=True)
    (tmp_path / "shared" / "traces" / "there.csv").write_text("job\n")
    assert (shared / "traces" / "there.csv").read_text() == (shared / "traces/there.csv").read_text() == "job\n"
    for missing in (lambda: shared / "prices", lambda: shared / "traces" / "other", lambda: shared / "traces/other"):
        with pytest.raises(pytest.skip.Exception, match=r"needs .*shared"):
            missing()
