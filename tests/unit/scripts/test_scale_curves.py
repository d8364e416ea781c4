from scripts.scale_curves.__main__ import main

HEAD = "nodes,ranks,arity,cpu_ns_per_node_job,wall_s_per_round\n"


def run_of(folder, factor):
    for name, rows in {
        "nodes": [(n, 1, arity, 80 * factor, 0.01) for n in (1000, 10_000) for arity in ("flat", "8") for _ in (1, 2)],
        "strong": [(6400, r, arity, 1, 0.002 * r * factor) for r in (2, 4) for arity in ("flat", "8")],
    }.items():
        (folder / name).mkdir(parents=True)
        lines = [",".join(map(str, row)) + "\n" for row in rows]
        (folder / name / "scale.csv").write_text(HEAD + "".join(lines))
    return folder


def test_both_runs_are_drawn(tmp_path):
    old, new = run_of(tmp_path / "old", 2), run_of(tmp_path / "new", 1)
    assert main([str(old), str(new), str(tmp_path / "picture")]) == 0
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    said = (tmp_path / "picture.svg").read_text()
    for label in ("flat, before", "arity 8, now", "CPU time a node and job, ns", "clock time a round, ms"):
        assert label in said


def test_a_folder_without_curves_is_told_in_a_line(tmp_path, capsys):
    old = run_of(tmp_path / "old", 2)
    assert main([str(old), str(tmp_path / "none"), str(tmp_path / "picture")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main([]) == 2
