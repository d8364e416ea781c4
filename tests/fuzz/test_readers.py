"""Whatever becomes of a small valid file, its reader gives a result or one InputError that fits on a line."""

import ast
import sys
from pathlib import Path

import pytest
from fuzz.reader_list import readers, readers_of
from fuzz.replay import check

ROOT = Path(__file__).resolve().parents[2]
IN_CI, IN_THE_LONG_PART = 4_300, 200_000
READERS = readers()
SHARE = 1 / sum(reader.weight for reader in READERS)
NO_READERS_OF_FILES = {
    ("dardis/kernels/jit.py", "_version"): "our own sources",
    ("dardis/comparison/comparison_folder.py", "_draw_trace"): "bytes are compared, whatever they say",
    ("dardis/report/paper_folder.py", "_store"): "bytes are compared, whatever they say",
    ("dardis/report/paper_folder.py", "_code_digest"): "our own sources",
    ("dardis/scale/tally.py", "resident_bytes"): "what the system says of the process",
    ("dardis/scale/scale_run.py", "process_age_s"): "what the system says of the process",
    ("dardis/model/files.py", "sha256_of"): "bytes of which nothing is understood",
    ("dardis/runs/progress_file.py", "read_progress"): "what another process of ours is writing",
    ("dardis/comparison/workers.py", "_do_tasks"): "the system's file in which nothing is",
    ("dardis/comparison/workers.py", "_failure_reason"): "what a process of ours has said",
    ("dardis/comparison/comparison_folder.py", "__init__"): "tests/unit/comparison/test_compare_runs.py",
    ("offline/apply/redfish_client.py", "_object"): "tests/unit/offline/apply/test_applier.py",
    ("dardis/cli/shadow_command.py", "_watch"): "a history that recorded_jobs reads",
    ("dardis/cli/submit_command.py", "_items"): "tests/unit/live/test_job_items.py",
    ("dardis/live/worker.py", "main"): "what an executor of ours says",
    ("dardis/live/slurm_programs/srun_mpi.py", "mpi_library"): "a user's program, of which only its library is sought",
    ("dardis/live/slurm_programs/srun_mpi.py", "_is_python_of_mpi"): "a user's program, in which a name is sought",
    ("dardis/live/agent.py", "on_message"): "what a service of ours says, whose key is known",
    ("dardis/live/connections.py", "read_body"): "requests (tests/unit/live/test_job_request.py, test_connections.py)",
    ("dardis/live/client.py", "_value"): "what a service of ours answers (tests/unit/live/test_client.py)",
    ("dardis/live/client.py", "lines"): "what a service of ours answers (tests/unit/live/test_client.py)",
    ("dardis/live/live_decisions.py", "from_text"): "a row of the journal, which SQLite reads",
    ("dardis/live/etcd.py", "_object"): "what etcd answers (tests/unit/live/test_etcd_journal.py)",
    ("dardis/live/etcd.py", "_tls"): "certificates, which the system's library reads",
    ("dardis/live/etcd_journal.py", "_parse_record"): "tests/unit/live/test_etcd_journal.py",
    ("dardis/live/remote_keeper.py", "_on_message"): "what an agent of ours says, whose key is known",
    ("dardis/live/power_cap.py", "from_text"): "a row of the journal, which SQLite reads",
    ("dardis/live/orphaned_runs.py", "__init__"): "a row of the journal, which SQLite reads",
    ("dardis/live/service.py", "_restored_rules"): "a row of the journal, which SQLite reads",
    ("dardis/live/power_readings.py", "read_counters"): "what the system says of its power",
    ("dardis/live/live_jobs.py", "end_from_text"): "a row of the journal, which SQLite reads",
    ("dardis/live/live_jobs.py", "from_row"): "a row of the journal, which SQLite reads",
    ("dardis/live/live_jobs.py", "restore"): "a row of the journal, which SQLite reads",
    ("dardis/live/journal.py", "network_file_system"): "what the system says of its mounts",
    ("dardis/live/keeper/__main__.py", "_in_background"): "what the keeper's own fork says",
    ("dardis/live/keeper/__main__.py", "_supervise"): "what the system says of itself",
    ("dardis/live/keeper/log_records.py", "parse_start_record"): "tests/unit/live/keeper/test_keeper_decisions.py",
    ("dardis/live/keeper/process_tree.py", "_run_of"): "what the system says of a process",
    ("dardis/live/keeper/process_tree.py", "children"): "what the system says of a process",
    ("dardis/live/keeper/cgroups.py", "_own_cgroup"): "what the system says of the process",
    ("dardis/live/keeper/keeper_log.py", "__init__"): "tests/unit/live/keeper/test_keeper_log.py",
    ("dardis/live/keeper/keeper_log.py", "read_without_atime"): "tests/unit/live/keeper/test_keeper_decisions.py",
    ("dardis/live/keeper/log_records.py", "_entries_of"): "tests/unit/live/keeper/test_log_records.py",
    ("dardis/live/keeper/server.py", "_parse_request"): "requests of a service (tests/unit/live/keeper/test_keeper.py)",
    ("dardis/live/keeper_client.py", "_listen"): "what a keeper of ours answers",
    ("dardis/live/keeper_client.py", "_last_output_line"): "what a keeper has complained of, handed on as it is",
    ("dardis/live/ranks.py", "serve_ranks"): "what the system says of itself",
    ("dardis/live/output.py", "read_output"): "bytes of which nothing is understood",
    ("dardis/live/output.py", "_new_lines"): "bytes of which nothing is understood",
    ("dardis/live/page_server.py", "_read"): "our own file (tests/unit/live/test_page.py)",
    ("dardis/live/page_server.py", "_static"): "our own files",
    ("dardis/live/use_history.py", "__init__"): "our own file (tests/unit/live/test_use_history.py)",
    ("dardis/batsim/batsim_messages.py", "read_answer"): "no file (tests/unit/batsim/test_batsim_turns.py)",
}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_mutated_file_is_read_or_refused(reader, tmp_path):
    count = int(IN_CI * SHARE * reader.weight) + 1
    read = check(reader, range(count), tmp_path)
    assert count / 50 < read < count, "most mutations should matter, and some files should still be read"


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_many_mutated_files_are_read_or_refused(reader, tmp_path):
    check(reader, range(int(IN_THE_LONG_PART * SHARE * reader.weight) + 1), tmp_path)


@pytest.mark.slow
def test_mutated_real_files_are_read_or_refused(shared, tmp_path):
    for place, reader in enumerate(readers_of(shared)):
        folder = tmp_path / str(place)
        folder.mkdir()
        check(reader, range(int(3_000 * reader.weight)), folder)


def test_every_reader_is_covered_and_reads_its_valid_file(tmp_path):
    called = set()

    def note(frame, event, _):
        if event == "call":
            called.add((frame.f_code.co_filename, frame.f_code.co_name))

    sys.setprofile(note)
    try:
        for place, reader in enumerate(READERS):
            folder = tmp_path / str(place)
            folder.mkdir()
            reader.prepare(folder)
            for text in reader.texts:
                (folder / reader.file).write_text(text)
                reader.read(folder / reader.file)
    finally:
        sys.setprofile(None)
    opening = {(str(path.relative_to(ROOT)), name) for path, name in _functions_that_read()}
    covered = {(str(Path(file).relative_to(ROOT)), name) for file, name in called if file.startswith(str(ROOT))}
    assert opening - covered == set(NO_READERS_OF_FILES)


def _functions_that_read():
    """(file, function) of every function that opens a file to read, or makes sense of a file's text."""
    for path in sorted((*(ROOT / "dardis").rglob("*.py"), *(ROOT / "offline").rglob("*.py"))):
        pending = [("<module>", ast.parse(path.read_text()))]
        while pending:
            name, node = pending.pop()
            for inner in ast.iter_child_nodes(node):
                is_function = isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
                pending.append((inner.name if is_function else name, inner))
            if isinstance(node, ast.Call) and _reads(node):
                yield path, name


def _reads(call):
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "open":
        return any(isinstance(part, ast.Constant) and "r" in str(part.value) for part in call.args)
    parsers = {"json.loads", "json.load", "tomllib.loads", "tomllib.load", "csv.reader", "csv.DictReader"}
    readers = {"read_text", "read_bytes", "loadtxt", "genfromtxt", "model_validate_json"}
    return ast.unparse(call.func) in parsers or name in readers
