"""What compiles the kernels calls them with arrays that hold what they write: seen where Python checks every index."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import dardis
from dardis import kernels
from dardis.cli.main import run
from dardis.kernels.jit import COMPILING


def test_kernels_are_warmed_within_their_arrays():
    done = subprocess.run(
        [sys.executable, "-m", "dardis.kernels.warm"], capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("dardis: `python -m dardis.kernels.warm` is now called `dardis warm`\n")


WARMED = """
import sys
from contextlib import nullcontext
import dardis.runs.kernel_warmup
from dardis.cli.main import run
from dardis.cli.warm_command import ROOTS
from dardis.registry import BUILT_IN_DISPATCHERS

def compiled():
    modules = [module for name, module in [*sys.modules.items()] if name.startswith("dardis.kernels.")]
    kernels = {function for module in modules for function in vars(module).values() if hasattr(function, "overloads")}
    return {(kernel.__module__, kernel.__name__, signature) for kernel in kernels for signature in kernel.overloads}

dardis.runs.kernel_warmup.lock_compilation = lambda what: nullcontext(False)  # as if it were the first time
for warm in ROOTS.values():
    warm()
warmed = compiled()
more = "easy --profile cap.csv", "dardis-throughput --arity 2", "dardis-throughput --sample 2"
more += "dardis-late --task-managers 2", "dardis-balance --profile cap.csv"
for number, words in enumerate([*BUILT_IN_DISPATCHERS, *more]):
    where = ["--platform", sys.argv[1], "--out", str(number), "--no-report", "--deadlines", "factor:2"]
    assert run(["simulate", "t.csv", *where, "--dispatcher", *words.split()]) == 0
print("\\n", len(warmed), *sorted({kernel[:2] for kernel in compiled() - warmed}))
"""


def test_runs_compile_nothing_that_warm_has_not_compiled(tmp_path):
    (tmp_path / "cap.csv").write_text("time_s,node,kind,value\n0,*,cores,300\n20000,*,cores,500\n")
    assert run(["trace", "generate", "eurora", str(tmp_path / "t.csv"), "--jobs", "20", "--days", "1"]) == 0
    words = [
        sys.executable,
        "-c",
        WARMED,
        str(Path(dardis.__file__).parents[1] / "launch" / "platforms" / "eurora.toml"),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    count, *missing = done.stdout.splitlines()[-1].split()
    assert (int(count) > 40, missing) == (True, [])
    by_gpus = [
        *f"simulate {tmp_path}/t.csv --dispatcher easy --set order=most:gpu --no-report --platform".split(),
        words[3],
    ]
    assert run([*by_gpus, "--out", str(tmp_path / "o")]) == 0  # a kind that the machine of the tiny run lacks


def test_cached_kernels_are_used_until_a_source_changes(tmp_path):
    copy = tmp_path / "copy" / "dardis"
    shutil.copytree(Path(dardis.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    source = "from dardis.kernels import chance, jit\nprint(chance.draw_below(7, 1, 100), jit.__file__)"

    def compiles():
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(copy.parent)}
        done = subprocess.run(
            [sys.executable, "-c", source], capture_output=True, text=True, env=environment, check=True, timeout=120,
            cwd=copy.parent,
        )  # fmt: skip
        assert str(copy) in done.stdout
        return COMPILING in done.stderr

    assert compiles()
    for path in (copy / "kernels").glob("*.py"):
        os.utime(path, (0, 0))
    assert not compiles()
    with (copy / "kernels" / "rows.py").open("a") as file:
        file.write("# something else\n")
    assert compiles()


def test_kernels_compile_without_a_writable_cache(tmp_path):
    (tmp_path / "file").write_text("")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", "from dardis.kernels import chance\nprint(chance.draw_below(7, 1, 1))"],
        capture_output=True,
        text=True, env=environment, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


ALONE = """
import os, sys, time
from pathlib import Path
from dardis.kernels.jit import lock_compilation

log = Path(sys.argv[1])
with lock_compilation("something"):
    with log.open("a") as file:
        file.write("begin\\n")
    time.sleep(0.3)
    with log.open("a") as file:
        file.write("end\\n")
"""


def run_concurrently(folder, count):
    """So many processes that would compile the same at once; what they did, in order."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    words = [sys.executable, "-c", ALONE, str(folder / "log")]
    for process in [subprocess.Popen(words, env=environment) for _ in range(count)]:
        assert process.wait(timeout=120) == 0
    return (folder / "log").read_text().split()


def test_one_process_compiles_and_others_wait(tmp_path):
    assert run_concurrently(tmp_path, 2)[:2] == ["begin", "end"]
    assert [path.suffix for path in sorted((tmp_path / "cache").glob("*/*"))] == [".done", ".lock"]


COMPILES = """
from dardis.kernels.chance import draw_below
draw_below(1, 2, 3), draw_below(1, 2, 3.0)  # of two kinds of numbers: compiled twice
"""


def compiling(folder):
    """What a process says that draws a number."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILES], capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
    )  # fmt: skip
    return done.stdout, done.stderr


def test_compilation_is_reported_once_and_cache_hits_are_not(tmp_path):
    assert compiling(tmp_path) == ("", f"{COMPILING}\n")
    assert compiling(tmp_path) == ("", "")


def _has_kernels(module):
    return any(hasattr(one, "targetoptions") and one.__module__ == module.__name__ for one in vars(module).values())


def test_kernel_only_functions_are_called_by_kernels_only():
    folder = Path(kernels.__file__).parent
    modules = [import_module(f"{kernels.__name__}.{path.stem}") for path in sorted(folder.glob("[a-z]*.py"))]
    within = {
        (module.__name__, name)
        for module in modules
        for name, function in vars(module).items()
        if getattr(function, "targetoptions", {}).get("no_cpython_wrapper") and function.__module__ == module.__name__
    }
    assert ("dardis.kernels.rows", "find") in within
    compiled = {module.__name__.rpartition(".")[2] for module in modules if _has_kernels(module)}
    root = Path(__file__).parents[3]
    for path in [path for name in ("dardis", "offline", "scripts", "tests") for path in (root / name).rglob("*.py")]:
        if path.parent == folder and path.stem in compiled:
            continue
        text = path.read_text(encoding="utf-8")
        if kernels.__name__ not in text:
            continue
        tree, named = ast.parse(text), {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(kernels.__name__):
                for alias in node.names:
                    assert (node.module, alias.name) not in within, f"{path}: {alias.name}"
                    named[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in named:
                assert (named[node.value.id], node.attr) not in within, f"{path}:{node.lineno}"
