"""The commands of each tutorial print the lines that the page shows."""

import pytest

from scripts.docs_site.tutorials import ROOT, missing_lines


@pytest.mark.parametrize("name", ["simulation", "plan", "live"])
def test_tutorial_commands_print_the_shown_lines(name, tmp_path_factory):
    page = (ROOT / "docs" / f"tutorial-{name}.md").read_text(encoding="utf-8")
    assert missing_lines(page, tmp_path_factory.mktemp("t")) == []
