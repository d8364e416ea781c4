"""The docs' site: where links of a page lead, diagrams, and that pages need no other host."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from dardis.cli.main import app_of
from scripts.docs_site.commands import page_of_commands
from scripts.docs_site.links import external_resources, rewrite_links
from scripts.docs_site.plain_words import DOCS, limit_excesses

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("page", "written", "at_site"),
    [
        ("index.md", "[a](docs/late.md#figures)", "[a](late.md#figures)"),
        ("protocol.md", "[a](../dardis/task_manager/README.md)", "[a](task_managers.md)"),
        ("clusters.md", "[a](../README.md)", "[a](index.md)"),
        ("late.md", "[a](metrics.md) [b](#here)", "[a](metrics.md) [b](#here)"),
        ("late.md", "[the script](../launch/demo)", "the script"),
        ("late.md", "[a](../launch/nothing)", "[a](../launch/nothing)"),
    ],
)
def test_links_lead_to_pages_of_the_site_or_stay(page, written, at_site):
    assert rewrite_links(f"x {written} y", page, ROOT) == f"x {at_site} y"


@pytest.mark.parametrize(
    ("html", "foreign"),
    [
        ('<script src="assets/a.js"></script><a href="https://example.org/x">x</a>', []),
        ('<script async src="https://example.org/a.js"></script>', ["https://example.org/a.js"]),
        ('<link rel="stylesheet" href="//example.org/a.css">', ["//example.org/a.css"]),
        ("<img alt=a src='http://example.org/a.png'>", ["http://example.org/a.png"]),
    ],
)
def test_external_resources_of_a_page_are_detected(html, foreign):
    assert external_resources(html) == foreign


DRAWN = """
import sys
from scripts.docs_site import diagrams
print(diagrams.drawn(sys.argv[1], "mermaid", "diagram", {}, None))
"""


@pytest.mark.parametrize("source", ["flowchart LR\n  a --> b", "flowchart LR\n  a --> -->"], ids=["right", "wrong"])
def test_a_diagram_is_a_picture_and_a_mistake_in_it_ends_the_building(source):
    pytest.importorskip("mkdocs")
    # In a process of its own: what draws is a library that tells, at the end of the tests, what it has not given back.
    told = subprocess.run([sys.executable, "-c", DRAWN, source], cwd=ROOT, check=False, capture_output=True, text=True)
    if "--> b" in source:
        assert told.stdout.startswith('<figure class="diagram"><svg')
        assert "my-svg" not in told.stdout
    else:
        assert "SuperFencesException: a diagram that can't be drawn" in told.stderr


def test_the_page_of_commands_has_every_option(monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    page = page_of_commands()
    todo = [("dardis", typer.main.get_command(app_of()))]
    while todo:
        name, command = todo.pop()
        todo += [(f"{name} {word}", below) for word, below in getattr(command, "commands", {}).items()]
        if not hasattr(command, "commands"):
            help_text = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
            long = {word for one in command.params for word in one.opts if word.startswith("--")}
            assert not {word for word in long if not re.search(rf"{word}\b", help_text)}, name


def test_docs_over_a_word_limit_are_reported():
    assert len([*limit_excesses("docs", "They see those that it was. " * 5_000, DOCS)]) == 2  # words and vague pronouns
