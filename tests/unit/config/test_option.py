"""A field of a model is declared once, and everything that shows it is derived."""

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer.main
from kit.arguments import arguments_of
from pydantic import Field
from typer.testing import CliRunner

from dardis.api import keyword_options as python
from dardis.cli import derived_options as command_line
from dardis.config.comparison_spec import CompareSpec, ComparisonFile
from dardis.config.json_records import RunRecord
from dardis.config.option import Option, option_fields, read_options
from dardis.config.platform_file import PlatformFile
from dardis.config.run_spec import JobsSpec, RunSpec
from dardis.config.settings import meanings, plain_settings, setting, with_settings
from dardis.config.toml_file import read_toml
from dardis.model.errors import InputError
from dardis.registry import BUILT_IN_DISPATCHERS
from dardis.task_manager.setups import LateSetUp
from offline.day.plan_spec import PlanSpec
from offline.loop.hybrid_spec import HybridSpec
from scripts.docs_site.tables import PAGES, table_of, with_tables


class MoreRun(RunSpec):
    """A copy of the model with one more field."""

    grace_s: Annotated[int, Field(ge=0, le=600), Option("Time to end in.", "S")] = 5


class MoreFile(ComparisonFile):
    """A comparison's file with the field."""

    grace_s: Annotated[int, Field(ge=0, le=600), Option("Time to end in.", "S")] = 5


@dataclass(frozen=True, slots=True)
class MoreSettings(LateSetUp):
    """A copy of a set-up with one more setting."""

    grace_s: int = setting(5, about="Time to end in.")


class MorePlatform(PlatformFile):
    """A platform file with one more key."""

    grace_s: int = Field(5, ge=0, description="Time to end in.")


def test_a_new_field_is_an_option(monkeypatch):
    monkeypatch.setattr("dardis.config.run_spec.RunSpec", MoreRun)
    made = []

    @command_line.options_of("dardis.config.run_spec:RunSpec")
    def command(options):
        """A command."""
        made.append(MoreRun.model_construct(**options))

    app = typer.Typer()
    app.command()(command_line.derive_command(command))
    words = ["t.swf", "--platform=p.toml", "--dispatcher=easy", "--out=o"]
    assert "Time to end in." in CliRunner().invoke(app, ["--help"]).output
    assert CliRunner().invoke(app, [*words, "--grace-s=7"]).exit_code == 0
    assert CliRunner().invoke(app, words).exit_code == 0
    assert [one.grace_s for one in made] == [7, 5]
    mistake = CliRunner().invoke(app, [*words, "--grace-s=601"]).exception
    assert str(mistake) == "--grace-s: '601'; expected a whole number from 0 to 600"
    assert "--grace-s=7" in arguments_of(made[0])
    assert not [word for word in arguments_of(made[1]) if "grace" in word]


def test_a_new_field_is_a_key_of_a_file(tmp_path):
    path = tmp_path / "spec.toml"
    text = "[[traces]]\ntrace = 't.swf'\nplatform = 'p.toml'\n[[dispatchers]]\nname = 'easy'\n"
    path.write_text(f"grace_s = 9\n{text}")
    assert read_toml(path, MoreFile).grace_s == 9
    path.write_text(f"grace_s = 900\n{text}")
    with pytest.raises(InputError, match=r"spec.toml: grace_s: 900; expected less than or equal to 600"):
        read_toml(path, MoreFile)


def test_a_new_field_is_a_keyword():
    @python.with_keywords_of(MoreRun)
    def function(trace, **more):
        """A function."""

    assert inspect.signature(function).parameters["grace_s"].default == 5
    assert "grace_s          Time to end in." in function.__doc__
    assert read_options(MoreRun, {"grace_s": 7}) == {"grace_s": 7}


def test_a_new_field_is_in_the_record_and_the_docs():
    spec = MoreRun(trace=Path("t"), platform=Path("p"), dispatcher="easy", out=Path("o"))
    assert spec.model_dump(mode="json", by_alias=True)["grace_s"] == 5
    assert "| `grace_s` | `--grace-s S` | `5` | Time to end in. |\n" in table_of(MoreRun)


def test_a_new_setting_is_a_key_of_set_of_the_record_and_of_the_docs():
    assert plain_settings(with_settings(MoreSettings(), ["grace_s=7"]))["grace_s"] == 7
    assert table_of(MoreSettings).endswith("| --- |\n| `grace_s` | from 1 | `5` | Time to end in. |\n")
    assert all(about for one in BUILT_IN_DISPATCHERS.values() for about in meanings(type(one.setup)).values())


def test_a_new_key_of_a_platform_file_is_read_and_in_the_docs(tmp_path):
    nodes = "[[nodes]]\ncount = 1\nprefix = 'n'\nresources = { cores = 1 }\n"
    (tmp_path / "p.toml").write_text(f"name = 'one'\ngrace_s = 7\n{nodes}")
    assert read_toml(tmp_path / "p.toml", MorePlatform).grace_s == 7
    assert "| `grace_s` | `5` | Time to end in. |\n" in table_of(MorePlatform)


def test_every_field_is_an_option_and_the_record_repeats_how_jobs_are_made():
    assert JobsSpec.model_fields.keys() <= RunRecord.model_fields.keys()
    for model in (RunSpec, CompareSpec, PlanSpec, HybridSpec):
        assert {one.name for one in option_fields(model)} == set(model.model_fields)


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.md")))
def test_tables_of_the_docs_are_those_of_the_models(page):
    text = (PAGES / page).read_text(encoding="utf-8")
    assert with_tables(text) == text, "python -m scripts.docs_site.tables writes them"
