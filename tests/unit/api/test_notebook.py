"""The notebook of the docs goes from a trace to a figure, in at most twenty cells, with what it shows kept small."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


@pytest.mark.filterwarnings("default::DeprecationWarning", "default::ResourceWarning")
def test_notebook_is_short_and_runs_completely(tmp_path, monkeypatch):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert len(notebook.cells) <= 20
    assert NOTEBOOK.stat().st_size < 60_000
    kept = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("image/png" in output.get("data", {}) for output in kept) == 1
    assert str(ROOT) not in NOTEBOOK.read_text()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("TMPDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    place = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place)
    client.km = client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    (made,) = {path.parent for path in tmp_path.rglob("waits.pdf")}
    assert (made / "waits.pdf").read_bytes().startswith(b"%PDF")
    assert "<svg" in (made / "waits.svg").read_text()
    assert (made / "easy.html").exists()
    shown = notebook.cells[-1].outputs[0]["data"]["text/plain"]
    assert shown == "(['easy.html', 'waits.pdf', 'waits.svg'], 512)"
