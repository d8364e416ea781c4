"""The docs' site: where links of a page lead, diagrams, and that pages need no other host."""

from pathlib import Path

import pytest

from scripts.docs_site.links import BROUGHT_IN, for_the_site, from_other_hosts

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("page", "written", "at_site"),
    [
        ("index.md", "[a](docs/late.md#figures)", "[a](late.md#figures)"),
        ("index.md", "![a](docs/images/demo.png)", "![a](images/demo.png)"),
        ("protocol.md", "[a](../dardis/task_manager/README.md)", "[a](task_managers.md)"),
        ("task_managers.md", "[a](../../docs/protocol.md)", "[a](protocol.md)"),
        ("clusters.md", "[a](../README.md)", "[a](index.md)"),
        ("late.md", "[a](metrics.md) [b](#here)", "[a](metrics.md) [b](#here)"),
        ("late.md", "[the script](../launch/demo)", "the script"),
        ("late.md", "[a](../launch/nothing)", "[a](../launch/nothing)"),
        ("late.md", "[a](https://example.org)", "[a](https://example.org)"),
    ],
)
def test_links_lead_to_pages_of_the_site_or_stay(page, written, at_site):
    assert for_the_site(f"x {written} y", page, ROOT) == f"x {at_site} y"


def test_pages_from_elsewhere_exist_and_stand_for_no_page_of_docs():
    for source, page in BROUGHT_IN.items():
        assert (ROOT / source).is_file()
        assert not (ROOT / "docs" / page).exists()


@pytest.mark.parametrize(
    ("html", "foreign"),
    [
        ('<script src="assets/a.js"></script><a href="https://example.org/x">x</a>', []),
        ('<script async src="https://example.org/a.js"></script>', ["https://example.org/a.js"]),
        ('<link rel="stylesheet" href="//example.org/a.css">', ["//example.org/a.css"]),
        ("<img alt=a src='http://example.org/a.png'>", ["http://example.org/a.png"]),
    ],
)
def test_what_a_page_loads_from_another_host_is_found(html, foreign):
    assert from_other_hosts(html) == foreign


def test_a_diagram_is_a_picture_and_a_mistake_in_it_ends_the_building():
    diagrams = pytest.importorskip("scripts.docs_site.diagrams", exc_type=ImportError)

    figure = diagrams.drawn("flowchart LR\n  a --> b", "mermaid", "diagram", {}, None)
    assert figure.startswith('<figure class="diagram"><svg')
    assert "my-svg" not in figure
    with pytest.raises(diagrams.SuperFencesException, match="can't be drawn"):
        diagrams.drawn("flowchart LR\n  a --> -->", "mermaid", "diagram", {}, None)
