"""Whatever becomes of a small valid file, its reader gives a result or one InputError that fits on a line."""

import ast
import sys
from pathlib import Path

import pytest
from fuzz.reader_list import readers, readers_of
from fuzz.replay import check

ROOT = Path(__file__).resolve().parents[2]
IN_CI, IN_THE_LONG_PART = 5_000, 200_000
READERS = readers()
SHARE = 1 / sum(reader.weight for reader in READERS)
NO_READERS_OF_FILES = {
    ("dardis/kernels/jit.py", "_version"): "our own sources",
    ("dardis/comparison/draws.py", "_drawn"): "bytes are compared, whatever they say",
    ("dardis/api/planning.py", "target"): "what the command has just written",
    ("dardis/api/planning.py", "summary"): "what the command has just written",
    ("dardis/scale/memory.py", "resident_bytes"): "what the system says of the process",
    ("dardis/scale/command.py", "process_age_s"): "what the system says of the process",
    ("dardis/model/files.py", "sha256_of"): "bytes of which nothing is understood",
    ("dardis/runs/progress_file.py", "read"): "what another process of ours is writing",
    ("dardis/cli/worker.py", "main"): "what the command that has started it says",
    ("dardis/cli/worker.py", "_do_commands"): "the system's file in which nothing is",
    ("dardis/comparison/nursery.py", "_ask"): "what a process of ours answers",
    ("dardis/comparison/state.py", "__init__"): "tests/unit/comparison/test_compare_runs.py",
    ("offline/apply/redfish.py", "_object"): "tests/unit/offline/apply/test_answers.py",
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


def test_all_files_are_read_as_they_are_and_no_reader_is_left_out(tmp_path):
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
    # What the live service reads it, or its own system, has written; torn and damaged files are tests/unit/live's.
    assert {one for one in opening - covered if not one[0].startswith("dardis/live/")} == set(NO_READERS_OF_FILES)


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
    parses = ast.unparse(call.func) in {
        "json.loads",
        "json.load",
        "tomllib.loads",
        "tomllib.load",
        "csv.reader",
        "csv.DictReader",
    }
    return parses or name in {"read_text", "read_bytes", "loadtxt", "genfromtxt", "model_validate_json"}
