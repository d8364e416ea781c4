"""Lines of a script: ours, Slurm's of the same meaning, who beats whom, and what is left out is told."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.error_lines import line_of

from dardis.live.directives import FLAGS, VALUES, YES, OptionText, read_directives, read_script, submit_request

PATH = Path("s.sh")


def option_texts(text, **given):
    """Text of each option that a script's lines say, under what was given."""
    found = read_directives(text, PATH).merge_options(
        {name: OptionText(value, f"--{name}") for name, value in given.items()}
    )
    return {name: one.text for name, one in found.items()}


def warnings(text):
    return read_directives(text, PATH).warnings


@given(
    st.dictionaries(st.sampled_from(VALUES), st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]))),
    st.sets(st.sampled_from(FLAGS)),
    st.booleans(),
)
def test_directives_round_trip(values, flags, apart):
    separator = " " if apart else "="
    lines = [f"#DARDIS --{name}{separator}{shlex.quote(text)}" for name, text in values.items()]
    lines += [f"#DARDIS --{flag}" for flag in flags]
    found = read_directives("#!/bin/sh\n" + "\n".join(lines) + "\n", PATH).dardis
    assert {name: one.text for name, one in found.items()} == {**values, **dict.fromkeys(flags, YES)}


def test_options_override_dardis_directives_and_those_override_sbatch():
    text = "#!/bin/sh\n#SBATCH -t 1 -J slurm --mem=1G\n#DARDIS --time=2 --name=ours\n#SBATCH --job-name=later\n"
    assert option_texts(text, time="3") == {"time": "3", "name": "ours", "mem": "1G"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-t 10 -N2 -J a -o o%A_%a -e e -a 0-9%2 -D /w", {
            "time": "10", "nodes": "2", "name": "a", "output": "o%A_%a", "error": "e", "array": "0-9%2", "chdir": "/w",
        }),
        ("--time=1-00 --nodes 2 --job-name='a b' --output=o --error=e --array=1-3 --chdir=/w --mem 4G", {
            "time": "1-00", "nodes": "2", "name": "a b", "output": "o", "error": "e", "array": "1-3", "chdir": "/w",
            "mem": "4G",
        }),
        ("--dependency=afterok:1:2,afterany:3", {"after": "ok:1:2,any:3"}),
        ("-d afternotok:7", {"after": "fail:7"}),
        ("--export=ALL,A=1", {"export": "ALL,A=1"}), ("--export=NIL", {"export": "none"}),
        ("--requeue -H -W", {"requeue": YES, "hold": YES, "wait": YES}), ("--no-requeue", {"requeue": "no"}),
        ("-c 4", {"cpus": "4"}), ("-n 6", {"cpus": "6"}), ("-n 6 -c 2", {"cpus": "12"}),
        ("-N 2 -n 5 -c 2", {"nodes": "2", "cpus": "6"}), ("--ntasks-per-node=3 -c 2 -n 99", {"cpus": "6"}),
        ("-c 4 --mem-per-cpu=500M", {"cpus": "4", "mem": "2000"}), ("--mem-per-cpu=2G", {"mem": "2048"}),
        ("-c 4 --mem-per-cpu=500M --mem=1G", {"cpus": "4", "mem": "1G"}),
        ("--gpus=3", {"gpus": "3"}), ("-G 3 -N 2", {"gpus": "2", "nodes": "2"}),
        ("--gpus-per-node=2 -N 2", {"gpus": "2", "nodes": "2"}),
        ("--gres=gpu:2", {"gpus": "2"}), ("--gres=gpu", {"gpus": "1"}),
    ],
)  # fmt: skip
def test_equivalent_sbatch_lines_are_read(line, expected):
    text = f"#!/bin/sh\n#SBATCH {line}\n"
    assert option_texts(text) == expected
    assert warnings(text) == []


def test_unsupported_sbatch_option_is_reported_once_with_its_line():
    text = "#!/bin/sh\n#SBATCH -p long --mail-type=END,FAIL --exclusive\n#SBATCH --qos high -t 5\n"
    assert warnings(text) == [
        "s.sh:2: -p long is ignored", "s.sh:2: --mail-type END,FAIL is ignored", "s.sh:2: --exclusive is ignored",
        "s.sh:3: --qos high is ignored",
    ]  # fmt: skip
    assert option_texts(text) == {"time": "5"}


def test_gpu_types_and_other_resources_are_ignored_with_a_warning():
    text = "#!/bin/sh\n#SBATCH --gres=gpu:a100:2,lustre:1\n"
    assert option_texts(text) == {"gpus": "2"}
    assert [line.partition(": ")[0] for line in warnings(text)] == ["s.sh:2", "s.sh:2"]
    assert "a100 is ignored" in warnings(text)[0]
    assert "lustre:1 is ignored" in warnings(text)[1]
    assert option_texts("#!/bin/sh\n#SBATCH --gpus=a100\n") == {"gpus": "1"}


@pytest.mark.parametrize(
    ("line", "line_says"),
    [
        ("#DARDIS --colour red", "s.sh:2: unknown option --colour; expected --array, --time"),
        ("#DARDIS -t 5", "s.sh:2: '-t'; expected options such as --time=10"),
        ("#DARDIS now", "s.sh:2: 'now'; expected options"),
        ("#DARDIS --time", "s.sh:2: --time without a value"),
        ("#DARDIS --hold=yes", "s.sh:2: '--hold=yes'; expected --hold without a value"),
        ("#DARDIS --name 'a", "s.sh:2: "),
        ("#DARDIS --time soon", "s.sh:2: --time: 'soon'; expected a time"),
        ("#DARDIS --cpus 0", "s.sh:2: --cpus: '0'; expected a whole number from 1"),
        ("#DARDIS --output %q", "s.sh:2: --output: '%q'; expected a path with"),
        ("#DARDIS --chdir /no/such", "s.sh:2: --chdir: '/no/such' is no folder"),
        ("#SBATCH -t forever", "s.sh:2: -t: 'forever'"),
        ("#SBATCH -N 1-2", "s.sh:2: -N: '1-2'; expected a whole number"),
        ("#SBATCH -n x", "s.sh:2: -n: 'x'"),
        ("#SBATCH --mem=0", "s.sh:2: --mem: '0'"),
        ("#SBATCH -d singleton", "s.sh:2: -d: 'singleton'; expected afterok, afterany or afternotok"),
        ("#SBATCH --gpus=a100:x", "s.sh:2: --gpus: 'x'"),
    ],
)
def test_directive_errors_are_reported_with_their_line(line, line_says):
    assert line_of(
        lambda: submit_request(read_directives(f"#!/bin/sh\n{line}\n", PATH).merge_options({}), (), "s.sh", {})
    ).startswith(line_says)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (None, "cannot be read (No such file or directory)"), (b"", "does not begin with #!"), (b"\x7fELF", "does not"),
        (b"#!/bin/sh\r\necho\r\n", "s.sh:1: has a DOS line ending"), (b"#!/bin/sh\n\xff\n", "is no UTF-8 text"),
        (b"#!/bin/sh\n\0\n", "has zero bytes"), (b"#!/bin/sh\n" + b"#" * (4 << 20), "more than 4194304 bytes"),
    ],
)  # fmt: skip
def test_invalid_script_is_refused(tmp_path, data, line):
    if data is not None:
        (tmp_path / "s.sh").write_bytes(data)
    assert line in line_of(read_script, tmp_path / "s.sh")


HERE = {"A": "1", "B": "2", "DARDIS_JOB_ID": "7", "LANG": "C"}


@pytest.mark.parametrize(
    ("export", "environment"),
    [
        (None, {"A": "1", "B": "2", "LANG": "C"}), ("none", {}), ("A,LANG", {"A": "1", "LANG": "C"}),
        ("A=x,B", {"A": "x", "B": "2"}), ("all,C=3,A=4", {"A": "4", "B": "2", "C": "3", "LANG": "C"}),
        ("DARDIS_JOB_ID", {"DARDIS_JOB_ID": "7"}),
    ],
)  # fmt: skip
def test_exported_environment_is_submitted(export, environment):
    asked = submit_request({} if export is None else {"export": OptionText(export, "--export")}, ("x",), "x", HERE)
    assert asked.environment == environment
    assert asked.warnings == []


def test_unexportable_variables_are_reported():
    asked = submit_request({"export": OptionText("A,NOPE,C=3", "--export")}, ("x",), "x", {"A": "\udcff"})
    assert asked.environment == {"C": "3"}
    assert [line.split()[1] for line in asked.warnings] == ["'A'", "NOPE"]
