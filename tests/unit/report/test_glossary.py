"""Every word of the glossary is defined where it says."""

import re
from pathlib import Path

from dardis.report.glossary import GLOSSARY

METRICS = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_what_a_word_means_is_told_under_a_heading_that_there_is():
    headings = re.findall(r"^#+ (.*)$", METRICS.read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
    assert {one.section for one in GLOSSARY.values()} <= anchors


def test_texts_are_one_short_line_and_no_sentences():
    for word, meaning in GLOSSARY.items():
        assert word == word.lower()
        assert 0 < len(meaning.text) < 110
        assert not meaning.text.endswith(".")


def test_longer_words_come_before_those_that_they_hold():
    words = [*GLOSSARY]
    assert not [(a, b) for place, a in enumerate(words) for b in words[place + 1 :] if a in b and a != b]
