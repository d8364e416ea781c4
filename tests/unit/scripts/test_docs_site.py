"""The docs' site: where links of a page lead, diagrams, and that pages need no other host."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from dardis.cli.main import app
from scripts.docs_site.commands import page_of_commands
from scripts.docs_site.links import for_the_site, from_other_hosts
from scripts.docs_site.notebook import page_of

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
    todo = [("dardis", typer.main.get_command(app))]
    while todo:
        name, command = todo.pop()
        todo += [(f"{name} {word}", below) for word, below in getattr(command, "commands", {}).items()]
        if not hasattr(command, "commands"):
            help_text = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
            long = {word for one in command.params for word in one.opts if word.startswith("--")}
            assert not {word for word in long if not re.search(rf"{word}\b", help_text)}, name


def test_a_notebook_is_a_page_with_what_it_printed_and_drew(tmp_path):
    def code(source, *outputs):
        return {"cell_type": "code", "source": source, "outputs": list(outputs)}

    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "text"]},
        code(["1 + 1"], {"data": {"text/plain": ["  2"]}}),
        code(["print(3)\n"], {"text": ["3\n"]}),
        code(["draw()"], {"data": {"image/png": "AA\nBB\n", "text/plain": ["<Figure>"]}}),
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}))
    page = page_of(tmp_path / "n.ipynb")
    assert page.startswith("# Title\n\ntext\n\n(This page is [a notebook](n.ipynb)")
    assert "```python\n1 + 1\n```\n\n```text\n  2\n```" in page
    assert "```text\n3\n```" in page
    assert "![](data:image/png;base64,AABB)" in page
    assert "<Figure>" not in page
