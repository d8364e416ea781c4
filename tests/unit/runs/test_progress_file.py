"""What a run tells the process that started it of how far it is."""

from dardis.runs import progress_file


def test_what_a_run_writes_of_its_progress_is_what_is_read(tmp_path):
    path = tmp_path / "p"
    assert progress_file.read(path) is None
    tell = progress_file.teller(path)
    tell(1, 8)
    tell(2, 8)  # too soon
    assert progress_file.read(path) == (1, 8)
    path.write_text("5")
    assert progress_file.read(path) is None
