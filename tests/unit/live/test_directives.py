"""Lines of a script: ours, Slurm's of the same meaning, who beats whom, and what is left out is told."""

from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.error_lines import line_of

from dardis.live.directives import FLAGS, VALUES, read_directives, read_script
from dardis.live.job_option_texts import UNLIMITED_S, Array, Dependency, LimitSignal
from dardis.live.job_request import JobRequest
from dardis.live.slurm_translation import YES, OptionText
from dardis.live.submit_request import submit_request

PATH = Path("s.sh")
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
NOW_MS = 1_796_126_400_000
HERE = {"A": "1", "B": "2", "DARDIS_JOB_ID": "7", "LANG": "C", "HOME": "/h", "SLURM_JOB_ID": "9"}


def option_texts(text, **given):
    """Text of each option that a script's lines say, under what was given."""
    found = read_directives(text, PATH).merge_options(
        {name: OptionText(value, f"--{name}") for name, value in given.items()}
    )
    return {name: one.text for name, one in found.items()}


@given(
    st.dictionaries(st.sampled_from(VALUES), st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]))),
    st.sets(st.sampled_from(FLAGS)),
    st.booleans(),
)
def test_directives_round_trip(values, flags, apart):
    separator = " " if apart else "="
    quoted = {name: "".join(f"\\{one}" for one in text) or "''" for name, text in values.items()}
    lines = [f"#DARDIS --{name}{separator}{text}" for name, text in quoted.items()]
    lines += [f"#DARDIS --{flag}" for flag in flags]
    found = read_directives("#!/bin/sh\n" + "\n".join(lines) + "\n", PATH).dardis
    assert {name: one.text for name, one in found.items()} == {**values, **dict.fromkeys(flags, YES)}


def test_options_override_dardis_directives_and_those_override_sbatch():
    text = "#!/bin/sh\n#SBATCH -t 1 -J slurm --mem=1G\n#DARDIS --time=2 --name=ours\n#SBATCH --job-name=later\n"
    assert option_texts(text, time="3") == {"time": "3", "name": "ours", "mem": "1G"}


SCRIPTS = [
    # Lines of a script, and the fields of the request that Slurm's manual gives them.
    ("#SBATCH -t 10", {"walltime_s": 600}), ("#SBATCH --time=1-00", {"walltime_s": 86400}),
    ("#SBATCH --time 2:30", {"walltime_s": 150}), ("#SBATCH -t1:0:0", {"walltime_s": 3600}),
    ("#SBATCH --time=UNLIMITED", {"walltime_s": UNLIMITED_S}), ("#SBATCH -t 0", {"walltime_s": UNLIMITED_S}),
    ("#SBATCH -n 6", {"tasks": 6, "most_nodes": 6}), ("#SBATCH -n6 -c2", {"tasks": 6, "cpus": 2, "most_nodes": 6}),
    ("#SBATCH -N 2 -n 5 -c 2", {"nodes": 2, "tasks": 5, "cpus": 6}),
    ("#SBATCH --nodes=1-2", {"nodes": 1, "most_nodes": 2}), ("#SBATCH -N 1k", {"nodes": 1024}),
    ("#SBATCH --ntasks-per-node=3 -c 2 -n 99", {"nodes": 33, "cpus": 6, "tasks": 99}),
    ("#SBATCH --tasks-per-node 3 -N2", {"nodes": 2, "cpus": 3, "tasks_per_node": 3}),
    ("#SBATCH -c 4 --mem-per-cpu=500M", {"cpus": 4, "memory_mib": 2000, "memory_per_cpu_mib": 500}),
    ("#SBATCH --mem=0 --exclusive", {"memory_mib": 0, "exclusive": True}), ("#SBATCH --mem 4G", {"memory_mib": 4096}),
    ("#SBATCH --mem-per-cpu=1G\n#SBATCH --mem=2G", {"memory_mib": 2048, "memory_per_cpu_mib": None}),
    ("#SBATCH --gpus=3 -N 2", {"nodes": 2, "gpus": 2}), ("#SBATCH -G 3", {"gpus": 3}),
    ("#SBATCH --gres=gpu:2", {"gpus": 2}), ("#SBATCH --gres=gpu", {"gpus": 1}),
    ("#SBATCH --gpus-per-task=2 -n 2 -N 1", {"gpus": 4}), ("#SBATCH --gpus-per-node=1 --cpus-per-gpu=8", {"cpus": 8}),
    ("#SBATCH --gpus-per-node=2 --mem-per-gpu=8G", {"gpus": 2, "memory_mib": 16384}),
    ("#SBATCH --array=0-9%2 -o o%A_%a", {"array": Array((range(10),), 2), "output": "o%A_%a"}),
    ("#SBATCH -a 1,5", {"array": Array((range(1, 2), range(5, 6)))}),
    ("#SBATCH -d afterok:1:2,afterany:3", {"after": tuple(map(Dependency, ("ok", "ok", "any"), (1, 2, 3)))}),
    ("#SBATCH -d afternotok:7?after:8", {"after": (Dependency("fail", 7), Dependency("start", 8)), "after_any": True}),
    ("#SBATCH --dependency=singleton", {"singleton": True}),
    ("#SBATCH --dependency=aftercorr:4", {"after": (Dependency("each", 4),)}),
    ("#SBATCH --begin=now+2hours", {"begin_ms": NOW_MS + 7_200_000}),
    ("#SBATCH --deadline=2026-12-02T13:00", {"deadline_ms": NOW_MS + 86_400_000 + 3_600_000}),
    ("#SBATCH --signal=B:USR1@300", {"signal": LimitSignal(10, 300, batch=True)}),
    ("#SBATCH --signal=SIGTERM", {"signal": LimitSignal(15, 60, batch=False)}),
    ("#SBATCH --open-mode=append", {"append": True}), ("#SBATCH --open-mode=truncate", {}),
    ("#SBATCH --job-name='a b' --comment \"x # y\"", {"name": "a b", "comment": "x # y"}),
    ("#SBATCH -J a#1 # text", {"name": "a"}), ("#SBATCH -J 'a#1'", {"name": "a#1"}),
    ("#SBATCH --job-name=a\\ b", {"name": "a b"}),
    ("#SBATCH\t-J\ttabs\t--hold", {"name": "tabs", "hold": True}), ("#SBATCH--job-name=glued", {"name": "glued"}),
    ("# text\n\n   # indented\n#SBATCH -J late", {"name": "late"}), ("##SBATCH -J no", {}), (" #SBATCH -J no", {}),
    ("echo\n#SBATCH -J no", {}), ("#SBATCH -HJ flags", {"hold": True, "name": "flags"}),
    ("#SBATCH --requeue", {"requeue": True}), ("#SBATCH --requeue\n#SBATCH --no-requeue", {}),
    ("#SBATCH -J one\n#SBATCH -J two", {"name": "two"}), ("#SBATCH --job-n=prefix", {"name": "prefix"}),
    ("#SBATCH --tasks=2 -N1 -o none", {"nodes": 1, "tasks": 2, "cpus": 2, "output": "/dev/null"}),
    ("#SBATCH -p long,short -e e%N", {"partition": "long,short", "error": "e%N"}),
    ("#SBATCH --export=ALL,A=1", {"export": "all"}), ("#SBATCH --export=NIL", {"export": "none"}),
    ("#SBATCH --export=HOME,LANG", {"export": ("HOME", "LANG")}), ("#SBATCH --mincpus=3 -n 1", {"cpus": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "fields"), SCRIPTS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_sbatch_scripts_ask_for_what_slurm_documents(tmp_path, monkeypatch, lines, fields, ending):
    monkeypatch.chdir(tmp_path)
    PATH.write_bytes(f"#!/bin/bash\n{lines}\necho\n".replace("\n", ending).encode())
    text, notes = read_script(PATH)
    assert "\r" not in text
    assert len(notes) == (ending != "\n")
    found = read_directives(text, PATH)
    asked = submit_request(found.merge_options({}), (), "s.sh", HERE, NOW).job
    plain = {"argv": (), "name": "s.sh", "chdir": str(tmp_path)}
    stated = {name: value for name, value in asked.as_dict().items() if name not in {"cpus_per_task", *fields}}
    assert {name: getattr(asked, name) for name in fields} == fields
    usual = JobRequest(**plain, **{name: fields[name] for name in ("array", "output") if name in fields}).as_dict()
    derived = {
        "nodes", "cpus", "memory_mib", "gpus", "tasks", "tasks_per_node", "gpus_in_total", "gpus_per_task",
        "most_nodes", "error",
    }  # fmt: skip
    assert {name for name, value in stated.items() if usual[name] != value} <= derived
    assert found.warnings == []


def test_ignored_sbatch_options_are_reported_with_their_line():
    text = "#!/bin/sh\n#SBATCH -A me --mail-type=END,FAIL -s\n#SBATCH --qos high -t 5\n#SBATCH --gres=gpu:a100:2\n"
    found = read_directives(text, PATH)
    assert found.warnings == [
        "s.sh:2: -A me is ignored", "s.sh:2: --mail-type END,FAIL is ignored", "s.sh:2: -s is ignored",
        "s.sh:3: --qos high is ignored", "s.sh:4: --gres gpu:a100:2: a100 is ignored, the job may get any GPU",
    ]  # fmt: skip
    assert {name: one.text for name, one in found.merge_options({}).items()} == {"time": "5", "gpus": "2"}


@pytest.mark.parametrize(("given", "script", "fields"), [
    ({"cpus": "3"}, "#SBATCH -n 4 -c 2", {"cpus": 3, "tasks": None}),
    ({"ntasks": "8", "nodes": "1"}, "#DARDIS --cpus 2", {"cpus": 8}),
    ({"ntasks": "2", "nodes": "1"}, "#SBATCH -n 4 -c 3", {"cpus": 6}),
    ({"mem-per-cpu": "1G"}, "#SBATCH --mem=9G -c 2", {"memory_mib": 2048}),
    ({"gpus-in-total": "4"}, "#SBATCH --gres=gpu:1 -N 2", {"gpus": 2}),
])  # fmt: skip
def test_more_precedent_option_replaces_other_ways_to_state_the_amount(given, script, fields):
    stated = {name: OptionText(value, f"--{name}") for name, value in given.items()}
    said = read_directives(f"#!/bin/sh\n{script}\n", PATH).merge_options(stated)
    asked = submit_request(said, (), "s.sh", {}, NOW).job
    assert {name: getattr(asked, name) for name in fields} == fields


@pytest.mark.parametrize(("line", "line_says"), [
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
    ("#SBATCH -N 2-1", "s.sh:2: -N: '2-1'; expected a whole number"),
    ("#SBATCH -n x", "s.sh:2: -n: 'x'"),
    ("#SBATCH --mem=-1", "s.sh:2: --mem: '-1'"),
    ("#SBATCH -d expand:1", "s.sh:2: -d: 'expand:1'; expected after, afterok"),
    ("#SBATCH --gpus=a100:x", "s.sh:2: --gpus: 'a100:x'"),
    ("#SBATCH --gres=lustre:1", "s.sh:2: --gres: 'lustre:1'; expected gpu"),
    ("#SBATCH --colour red", "s.sh:2: unknown option --colour; expected an option of sbatch"),
    ("#SBATCH --mem-p=1", "s.sh:2: unknown option --mem-p; expected one of --mem-per-cpu, --mem-per-gpu"),
    ("#SBATCH -y", "s.sh:2: unknown option -y"),
    ("#SBATCH --hold=1", "s.sh:2: '--hold=1'; expected --hold without"),
    ("#SBATCH -J", "s.sh:2: -J without a value"),
    ("#SBATCH -C haswell", "s.sh:2: -C: 'haswell' is not supported (nodes have no features here)"),
    ("#SBATCH --nodelist=n1", "s.sh:2: --nodelist: 'n1' is not supported (nodes cannot be chosen by name)"),
    ("#SBATCH --exclusive=user", "s.sh:2: --exclusive: 'user'; expected --exclusive without"),
    ("#SBATCH --signal=R:USR1", "s.sh:2: --signal: 'R:USR1'"),
    ("#SBATCH --signal=40@1", "s.sh:2: --signal: '40@1'"),
    ("#SBATCH -d afterok:1_2", "s.sh:2: -d: 'afterok:1_2'; expected numbers of whole jobs"),
    ("#SBATCH --begin=now+999999999weeks", "s.sh:2: --begin: 'now+999999999weeks'"),
    ("#SBATCH --signal=USR9@1", "s.sh:2: --signal: 'USR9@1'"),
    ("#SBATCH --begin=soon", "s.sh:2: --begin: 'soon'; expected now+1hour"),
    ("#SBATCH --open-mode=w", "s.sh:2: --open-mode: 'w'; expected append or truncate"),
    ("#SBATCH -J 'a", "s.sh:2: "),
])  # fmt: skip
def test_directive_errors_are_reported_with_their_line(line, line_says):
    def submitted():
        return submit_request(read_directives(f"#!/bin/sh\n{line}\n", PATH).merge_options({}), (), "s.sh", {}, NOW)

    assert line_of(submitted).startswith(line_says)


@pytest.mark.parametrize(("data", "line"), [
    (None, "cannot be read (No such file or directory)"), (b"", "does not begin with #!"), (b"\x7fELF", "does not"),
    (b"#!/bin/sh\n\xff\n", "is no UTF-8 text"),
    (b"#!/bin/sh\n\0\n", "has zero bytes"), (b"#!/bin/sh\n" + b"#" * (4 << 20), "more than 4194304 bytes"),
])  # fmt: skip
def test_invalid_script_is_refused(tmp_path, data, line):
    if data is not None:
        (tmp_path / "s.sh").write_bytes(data)
    assert line in line_of(read_script, tmp_path / "s.sh")


@pytest.mark.parametrize(("export", "environment"), [
    (None, {"A": "1", "B": "2", "LANG": "C", "HOME": "/h"}), ("none", {}), ("A,LANG", {"A": "1", "LANG": "C"}),
    ("A=x,B", {"A": "x", "B": "2"}), ("all,C=3,A=4", {"A": "4", "B": "2", "C": "3", "LANG": "C", "HOME": "/h"}),
    ("DARDIS_JOB_ID", {"DARDIS_JOB_ID": "7"}),
])  # fmt: skip
def test_exported_environment_is_submitted(export, environment):
    asked = submit_request({} if export is None else {"export": OptionText(export, "--export")}, ("x",), "x", HERE, NOW)
    assert asked.environment == {**environment, "SLURM_SUBMIT_HOST": gethostname()}
    assert asked.warnings == []


def test_environment_of_the_own_job_is_not_exported_but_its_path_is():
    here = {"DARDIS_RUN": "7.1@x", "DARDIS_FOLDER": "/s", "PATH": "/s/bin:/usr/bin", "H": "/s/a", "SLURM_X": ""}
    asked = submit_request({}, ("x",), "x", here, NOW)
    assert asked.environment.keys() == {"DARDIS_FOLDER", "PATH", "SLURM_SUBMIT_HOST"}
    assert asked.environment["PATH"] == "/usr/bin"


@pytest.mark.parametrize(("lines", "given", "login"), [
    ("--export=A", {}, True), ("--export=NONE", {}, True), ("--export=ALL,A=1", {}, False),
    ("--export=NIL", {}, False),
    ("--export=NONE", {"export": "all"}, False), ("--export=\"A='x,y'\"", {}, True),
])  # fmt: skip
def test_login_environment_is_read_as_by_sbatch(monkeypatch, lines, given, login):
    monkeypatch.setattr("dardis.live.submit_request.login_environment", lambda: {"HOME": "/login", "A": "0"})
    stated = {name: OptionText(value, f"--{name}") for name, value in given.items()}
    said = read_directives(f"#!/bin/sh\n#SBATCH {lines}\n", PATH).merge_options(stated)
    found = submit_request(said, (), "s.sh", HERE, NOW).environment
    assert (found.get("HOME") == "/login") == login
    assert found.get("A") == {"--export=A": "1", "--export=ALL,A=1": "1", "--export=\"A='x,y'\"": "x,y"}.get(
        lines, {True: "0", False: "1" if given else None}[login]
    )


def test_unexportable_variables_are_reported():
    asked = submit_request({"export": OptionText("A,NOPE,C=3", "--export")}, ("x",), "x", {"A": "\udcff"}, NOW)
    assert asked.environment.keys() == {"C", "SLURM_SUBMIT_HOST"}
    assert [line.split()[1] for line in asked.warnings] == ["'A'", "NOPE"]
