"""One rule of numbers in all files and options: what is none is told in one line with its place."""

import pytest
from kit.error_lines import line_of

from dardis.cli.main import run
from dardis.config.comparison_spec import load_comparison
from dardis.config.cooling_table import load_pue_table
from dardis.config.platform_file import load_platform
from dardis.config.prices import read_carbon, read_prices
from dardis.config.target_file import read_profile
from dardis.config.weather import read_weather
from dardis.metrics.jobs_csv import read_jobs
from dardis.metrics.system import read_downtime
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform
from dardis.model.target import Split
from dardis.workload.deadlines import with_deadlines
from dardis.workload.trace_jobs import to_jobs
from dardis.workload.trace_reader import read_trace

ODD = ["9" * 5000, "1_800", "٣", "0x10", "--5", "5\x00"]
IDS = ["5,000 digits", "underscore", "Arabic digits", "hexadecimal", "two signs", "zero byte"]
PLATFORM = Platform("p", (NodeGroup("n", 4, {"cores": 16, "memory": 16384}),))


def swf(number=1, submit=0, walltime=200, end=30):
    return f"{number} {submit} 5 100 4 99.5 -1 4 {walltime} -1 1 7 2 -1 3 1 -1 {end}"


EURORA = (
    "job_id,queue,submit,start,end,req_nodes,req_walltime_s,predicted_power_w,alloc(node:cores:gpus:mics:mem_kb)\n"
    "1,q,2014-03-31 08:51:10,2014-03-31 08:52:00,2014-03-31 09:52:00,1,3600,90.5,3:4:0:0:1024\n"
    "{},q,{}-03-31 08:51:10,2014-03-31 08:52:00,2014-03-31 09:52:00,{},{},{},3:{}:0:0:1024\n"
)
TABLE = (
    "job_id,submit_s,runtime_s,walltime_s,units,req_cores,req_memory,lst_s\n"
    "1,0,5,5,1,1,4GiB,\n"
    "{},{},{},{},{},{},{},{}\n"
)
GOOD = {"eurora": ["2", "2014", "1", "3600", "90.5", "4"], "table": ["2", "0", "5", "5", "1", "1", "4GiB", "9"]}


def filled(form, good, place, odd):
    cells = [*good[:place], odd, *good[place + 1 :]]
    return form.format(*cells)


TRACES = {
    **{f"swf field {place}": lambda odd, place=place: "\n".join(
        (swf(), " ".join([*swf(number=2).split()[:place], odd, *swf(number=2).split()[place + 1 :]]))
    ) for place in range(18)},
    **{f"table {place}": lambda odd, place=place: filled(TABLE, GOOD["table"], place, odd) for place in range(8)},
    **{f"eurora {place}": lambda odd, place=place: filled(EURORA, GOOD["eurora"], place, odd) for place in range(6)},
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=IDS)
@pytest.mark.parametrize("form", TRACES.values(), ids=TRACES)
def test_invalid_number_in_a_trace_makes_a_malformed_line(tmp_path, form, odd):
    path = tmp_path / "t"
    path.write_text(form(odd))
    trace = read_trace(path)
    assert trace.number.tolist() == [1]
    ((line, reason, malformed),) = trace.skipped
    assert malformed
    assert line == len(form(odd).splitlines())
    assert len(reason) < 320
    assert reason.isprintable()
    with pytest.raises(InputError, match=rf"t:{line}: "):
        read_trace(path, strict=True)


def profile(path):
    return read_profile(path, PLATFORM, Split.PROPORTIONAL)


def deadlines(path):
    trace_file = path.with_name("of.swf")
    trace_file.write_text(swf())
    trace = read_trace(trace_file)
    return with_deadlines(to_jobs(trace, PLATFORM).jobs, trace, str(path))


JOBS = (
    "job_id,submission_time,requested_time,starting_time,finish_time,units,units_by_node,req_cores,status\n"
    "{0},0,5,0,5,1,0:1,1,completed\n"
)
YEAR = "".join(f"2001,{m:02}-{d:02},{{0}},1\n" for m, d in ((1, 1), (1, 2)))
FILES = {
    "profile time": (profile, "time_s,node,kind,value\n{0},*,cores,3"),
    "profile node": (profile, "time_s,node,kind,value\n0,{0},cores,3"),
    "profile value": (profile, "time_s,node,kind,value\n0,*,cores,{0}"),
    "deadline": (deadlines, "job_id,lst_s\n1,{0}"),
    "downtime": (read_downtime, "node,down_s,up_s\n0,{0},5"),
    "jobs.csv": (read_jobs, JOBS),
    "prices": (read_prices, "start_utc,price_eur_per_kwh\n2023-05-01T00:00Z,{0}"),
    "time": (read_carbon, "start_utc,gco2_per_kwh\n{0},3"),
    "weather": (read_weather, "start_utc,temp_c\n2023-05-01T00:00Z,{0}"),
    "Open-Meteo": (read_weather, "latitude,utc_offset_seconds\n1.0,{0}\ntime,temperature_2m (°C)\n2023-05-01T00:00,3"),
    "EPW": (read_weather, "LOCATION,a,b,c,d,e,1,1,{0},1\n"),
    "typical year": (read_weather, "source_year,month-day,hour_1_24,dry_bulb_c\n" + YEAR),
    "PUE": (load_pue_table, "temp_c,500\n10,{0}"),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=IDS)
@pytest.mark.parametrize(("load", "text"), FILES.values(), ids=FILES)
def test_invalid_number_in_a_table_is_reported_with_its_position(tmp_path, load, text, odd):
    path = tmp_path / "f.csv"
    path.write_text(text.format(odd))
    said = line_of(load, path).removeprefix(str(path))
    assert said.startswith((":", " line"))
    assert said.isprintable()
    assert len(said) < 900


GRID = 'name = "g"\n[[nodes]]\nprefix = "n"\ncount = 4\nresources = {{ cores = {0} }}\n'
SPEC = '[[traces]]\ntrace = "t"\nplatform = "p"\njobs = {0}\n[[dispatchers]]\nname = "easy"\n'


@pytest.mark.parametrize(
    ("odd", "line", "found"),
    [
        ("9" * 5000, True, "a whole number of thousands of digits; expected at most 64 bits"),
        ("9" * 30, False, "a whole number of 100 bits; expected at most 64 bits"),
        ("0x" + "f" * 5000, False, "a whole number of 20000 bits; expected at most 64 bits"),
        ("[" * 5000, None, "nested too deeply"),
        ("[" * 60 + "]" * 60, None, "nested too deeply"),
        ("{ a" + ".a" * 300 + " = 1 }", None, "nested too deeply"),
    ],
    ids=["5,000 digits", "30 digits", "hexadecimal", "lists without an end", "lists", "keys"],
)
@pytest.mark.parametrize(
    ("load", "text", "key", "where"), [(load_platform, GRID, "nodes[0].resources.cores", 5),
                                       (load_comparison, SPEC, "traces[0].jobs", 4)],
)  # fmt: skip
def test_invalid_number_in_toml_is_reported_with_line_or_key(tmp_path, load, text, key, where, odd, line, found):
    path = tmp_path / "f.toml"
    path.write_text(text.format(odd))
    said = line_of(load, path).removeprefix(str(path))
    assert said.startswith({True: f":{where}: ", False: f": {key}: ", None: ": is not TOML"}[line])
    assert found in said
    assert len(said) < 200


@pytest.mark.parametrize("odd", ODD, ids=IDS)
@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "t", "--platform", "p", "--dispatcher", "easy", "--out", "o", "--trim", "{},5"],
        ["simulate", "t", "--platform", "p", "--dispatcher", "easy", "--out", "o", "--arity", "{}"],
        ["simulate", "t", "--platform", "p", "--dispatcher", "easy", "--out", "o", "--sample", "{}"],
        ["compare", "t", "--platform", "p", "--dispatchers", "easy", "--out", "o", "--seeds", "1,{}"],
        ["scale", "--nodes", "{}", "--jobs", "3", "--out", "o"],
        ["hybrid", "t", "--platform", "p", "--out", "o", "--days", "0-{}"],
        ["hybrid", "t", "--platform", "p", "--out", "o", "--days", "{}"],
    ],
    ids=lambda arguments: f"{arguments[0]} {arguments[-2]}",
)
def test_invalid_number_in_an_option_is_reported_with_its_name(tmp_path, monkeypatch, capsys, arguments, odd):
    monkeypatch.chdir(tmp_path)
    assert run([argument.format(odd) for argument in arguments]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--" in said
    assert len(said) < 600
