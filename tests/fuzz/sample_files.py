"""Small valid files of every form that is read, as text."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from kit import plan_folder, public_sources
from kit.fake_slurm import FakeJob
from kit.position_problems import random_problem
from kit.sacct_text import JOB
from kit.scale_folder import ONE, RECORD
from kit.slurm_json import accounting_job, document, node, partition, queue_job, sinfo_line

from dardis.metrics.power import SEGMENTS
from dardis.model.moments import utc_text
from dardis.model.platform import NodeGroup, Platform, platform_to_dict
from dardis.report.run_files import BY_COLUMNS, DEADLINE_COLUMNS, FOOTPRINT_COLUMNS, QUEUE_COLUMNS
from dardis.runs.solved_instances import SOLVED
from dardis.slurm.steering_log import DECISIONS, Entry, Event
from offline.folder.plan_folder import write_plan

MAY = 1_682_899_200
"""2023-05-01T00:00Z."""
PLATFORM = Platform(
    "p",
    (NodeGroup("n", 4, {"cores": 16, "memory": 16384}, plan_folder.POWER), NodeGroup("g", 2, {"cores": 8, "gpu": 2})),
    partitions={"1": (0,), "debug": (0, 1)},
)


def _lines(head: str, form: str, numbers: range) -> str:
    """A head, and a line for each number n; `a` to `c` are small numbers that differ from line to line."""
    rows = (form.format(n=n, t=60 * n, a=n % 2, b=1 + n % 5, c=n - 1 if n % 4 == 0 else "", m=n << 30) for n in numbers)
    return head + "\n".join(rows) + "\n"


SIMGRID = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="AS0" routing="Full">
    <cluster id="c" prefix="host" suffix=".grid" radical="0-3,6" speed="100.0Mf, 88Mf" core="4" bw="125MBps">
      <prop id="watt_off" value="9.75"/>
    </cluster>
    <host id="jupiter" speed="5Gf"/>
    <cluster id="m" prefix="master_host" suffix="" radical="0-0" speed="1Gf"><prop id="role" value="master"/></cluster>
  </zone>
</platform>
"""
"""Six hosts that run jobs, as Batsim reads them."""

TRACES = {
    "SWF": _lines(
        "; Version: 2.2\n; UnixStartTime: 1396255870\n; Queue: 1 debug\n",
        "{n} {t} {n} 10{n} {b} 99.5 -1 {b} 200 {t} 1 {b} 1 -1 {a} 1 -1 30",
        range(1, 13),
    ),
    "MetaCentrum": _lines(
        "", "{n} {t} 0 60 16 1 1024 16 90 {m} 1 5 1 1 -1 1 1 1 {{{n}}} q_1d {n}:ppn=16+1:ppn=2:x", range(1, 7)
    ),
    "job table": _lines(
        "job_id,submit_s,runtime_s,walltime_s,units,req_cores,req_memory,req_gpu,est_s,lst_s,wait_s,queue,user,group,"
        "partition,after,think_s,array\n",
        '{n},{t},5{n},10{n},{b},{n},{n}GiB,{a},{t},99{t},3,debug,"ann, b",g,{a},{c},7,1',
        range(1, 9),
    ),
    "job table of parts": _lines(
        "job_id,part,alternative,submit_s,runtime_s,walltime_s,units,nodes,contiguous,req_cores,req_gpu,partition\n",
        "{n},1,1,{t},5{n},10{n},{b},{b},{a},{n},{a},\n{n},2,1,,,,{b},,,1,,debug\n{n},1,2,,9{n},,2,,1,{n},0,",
        range(1, 6),
    ),
    "sacct": _lines(
        "JobID|JobIDRaw|JobName|User|Account|Partition|QOS|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|"
        "ReqTRES|AllocTRES|State\n",
        "{n}_{a}|{n}|n, {n}|ann|a{b}|gpu{a}|normal|168{n}00|168{n}09|168{n}20|168{n}90|70|1{n}|{b}|{n}0|"
        "cpu={n}0,node={b}|billing=9,cpu={n}0,gres/gpu:a100={b},gres/gpu={b},mem={n}.5G,node={b}|COMPLETED",
        range(10, 18),
    )
    + "19_[1-3,7%2]|19||ann|a|gpu|normal|1682000||None|Unknown||Partition_Limit|1|1|cpu=4,mem=4G,node=1||PENDING\n"
    + "20+1|21||ann|a|gpu|normal|1682000|Unknown|1682050|Unknown|5|UNLIMITED|2|8|cpu=8,node=2|cpu=8,node=2|RUNNING\n"
    + "19.batch|19.batch||||||1682000|Unknown|Unknown|Unknown|0||1|1|||COMPLETED\n"
    + "22|22||ann|a|gpu|normal|1682000|Unknown|None|1682050|0|5|0|0|cpu=8,node=2||CANCELLED by 1000\n",
    "sacct in words": _lines(
        "JobID|Submit|Start|End|Elapsed|Timelimit|ReqCPUS|AllocNodes|State|\n",
        "{n}_{b}|2023-07-03T10:{n}:00|2023-07-03T11:00:00|2023-07-03T12:{n}:00|01:{n}:00|1-02:{n}:00|{n}|1|TIMEOUT|",
        range(10, 18),
    ),
    "sacct's JSON": document("jobs", [accounting_job(JOB | {"JobIDRaw": str(n)}, 43) for n in (1, 2)], 43),
    "squeue's JSON": document(
        "jobs", [queue_job(JOB | {"JobIDRaw": str(n)}, 39, array=(9, n, "")) for n in (1, 2)], 39
    ),
    "Eurora CSV": _lines(
        "job_id,queue,submit,start,end,req_nodes,req_walltime_s,predicted_power_w,alloc(node:cores:gpus:mics:mem_kb)\n",
        "{n},debug,2014-03-31 08:{n}:10,2014-03-31 09:00:00,2014-03-31 09:{n}:00,2,1800,{n}.5,3:4:1:0:1025 4:2:1:0:500",
        range(10, 18),
    ),
    "Batsim's workload": '{"nb_res": 64, "jobs": [\n'
    + ",\n".join(
        f'{{"id": "w0!{n}", "subtime": {60 * n}.5, "walltime": 10{n}, "res": {n}, "profile": "p{n % 3}", '
        f'"queue": "\\udc0{n}"}}'
        for n in range(1, 9)
    )
    + '], "profiles": {\n"p0": {"type": "delay", "delay": 60.5}, "p1": {"type": "DelayProfile", "delay": 1e2},\n'
    + '"p2": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}}}\n',
    "Philly's table": _lines(
        "timestamp,duration,num_gpus,gpu_time,cluster\n", "2017-10-09 07:{n}:55,{n}6.0,{b},66.0,11cb4{b}", range(10, 18)
    ),
    "Alibaba's pods": _lines(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n",
        "p-{n},{n}500,{n}000,{a},{n}00,T{a}|G{b},LS,Running,{t},9{t}.5,1{t}",
        range(1, 9),
    ),
}
MEASURED = (
    _lines("time,node,watts\n", "168289{n}000,n{a},{b}00.5", range(1000, 1012)),
    _lines("Timestamp;Instance;Value;job\n", "2023-05-01T10:{n}:00+02:00;g{a}:9290;{b}3;ipmi", range(10, 20)),
    _lines('"Time","n0","{{instance=""n1:9290""}}",n2\n', "2023-05-01 10:{n},{n}.5 W,0.{n} kW,NaN", range(10, 20)),
    _lines("job,submit_s,avg_power_per_node_w\n", "{n},{t},{b}00.{a}", range(1, 12)),
)
PLACES = _lines(
    "JobIDRaw|Submit|Start|End|State|NNodes|NCPUS|AllocTRES|Partition|NodeList\n",
    "{n}|168{n}00|168{n}20|168{n}90|COMPLETED|2|{b}|cpu={b},gres/gpu={a},node=2|{a}|n[0-1],g{a}",
    range(10, 22),
)
STEERING_NAME = DECISIONS.name
STEERING = DECISIONS.text(
    [
        Entry(100, "", Event.LEASE, start=100, detail="batch"), Entry(101, "5", Event.START, "n[1-2]", before="n2"),
        Entry(102, "5", Event.STARTED, "n[1-2]", 102), Entry(103, "6_1", Event.PASSED, detail="--contiguous"),
        Entry(160, "5", Event.ENDED, "", 102, 159, detail="COMPLETED"), Entry(161, "7", Event.REFUSED, "n3"),
    ]
)  # fmt: skip
STEERED = document(
    "jobs",
    [
        FakeJob(1, 5, 2, 4, 9, more={"features": "a&b", "excluded_nodes": "n[3-4]", "memory_per_cpu": 5}).record(43, 9),
        FakeJob(2, 5, 1, 1, 9, more={"tres_per_node": "gres/gpu:a100:2", "shared": ["none"]}).record(43, 9),
        FakeJob(3, 5, 1, 1, 9, more={"array_max_tasks": 2}, array=(3, None, "1-5,9%2")).record(43, 9),
        FakeJob(
            4, 5, 2, 4, 9, state="RUNNING", start=6, placed=("n1", "n2"), more={
                "gres_detail": ["gpu:1(IDX:0)", "gpu:2(IDX:0,2)"],
                "job_resources": {"nodes": {"allocation": [{"name": "n1", "cpus": {"count": 4}}]}},
            },
        ).record(43, 9),
    ],
    43,
)  # fmt: skip
EXPECTATIONS_DAY, EXPECTATIONS_NAME = 1_689_984_000, "expectations-2023-07-22.csv"
EXPECTATIONS = _lines(
    "job_number,at_s,expected_s,from_s,to_s,slurm_s\n",
    "{n},1690000{a}00,169000{b}000,1690000500,1690009000,",
    range(1, 9),
)
NODE_LIST = _lines("sn,cpu_milli,memory_mib,gpu,model\n", "n-{n},{b}000,{n}024,{a},T{b}", range(1, 9))
_SHOWN = (
    "NodeName={n} Arch=x86_64 CoresPerSocket={c} CPUAlloc=0 CPUTot={t} CPULoad=0.01 AvailableFeatures=ib Gres={g} "
    "NodeAddr={n} OS=Linux 5.10.0 #1 SMP Debian RealMemory={m} AllocMem=0 FreeMem=N/A Sockets=2 Boards=1 State={s} "
    "ThreadsPerCore=2 TmpDisk=0 Weight=10 Owner=N/A MCS_label=N/A Partitions={p} CfgTRES=cpu={t}{r}\n"
)
SLURM_SHOWN = (
    _SHOWN.format(
        n="n0001", c=16, t=64, g="(null)", m=192000, s="IDLE+DRAIN", p="batch,debug",
        r=" Reason=bad disk, Partitions=x [root@2023-07-01T10:00:00]",
    )
    + _SHOWN.format(n="g01", c=32, t=128, g="gpu:a100:4(S:0,1),nvme:1K", m=512000, s="MIXED", p="gpu", r="")
    + _SHOWN.format(n="n0002", c=16, t=64, g="(null)", m=192000, s="DOWN*", p="batch", r=" Comment=(null)")
)  # fmt: skip
SLURM_CONF = """# a site
ClusterName=grid
nodename=DEFAULT Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=192000
NodeName=n[0001-0003,0007] CPUs=64 \\
    Weight=10 State=UNKNOWN   # thin ones
NodeName=g[1-2] CPUs=128 CoresPerSocket=32 REALMEMORY=512000 Gres=gpu:a100:4 Feature="ib,fast" NodeAddr=10.0.0.[1-2]
include /etc/slurm/more.conf
NodeName=login CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1
PartitionName=DEFAULT MaxTime=1-00:00:00
PartitionName=batch Nodes=n[0001-0003],n0007 Default=YES
PartitionName=gpu Nodes=g[1-2] MaxTime=2-0
PartitionName=all Nodes=ALL
Licenses=matlab:4
"""
SLURM_JSON = (
    document("nodes", [node("n0001", ["IDLE", "DRAIN"], 41), node("g01", ["MIXED"], 41, gres="gpu:a100:4(S:0-1)")], 41),
    document("sinfo", [sinfo_line(["n0001", "g01"], ["IDLE", "NOT_RESPONDING"], "batch")], 41, indent=None),
    document("nodes", [node("n0001", ["IDLE", "POWERED_DOWN"], 38)], 38).removesuffix("}")
    + ', "partitions": '
    + json.dumps([partition("batch", 38, minutes=90, nodes=2)])
    + "}",
)
SMALL_SWF = "".join(f"{n} {n - 1} 0 50 1 -1 -1 1 60 -1 1 1 1 -1 -1 1 -1 -1\n" for n in range(1, 9))

PLATFORM_TOML = """name = "grid"
currency = "CHF"
exchange = { EUR = 0.97 }
income_eur_per_core_h = 0.013
cooling = "pue.csv"
cooling_rows = "interpolate"
prices = "prices.csv"
weather = "weather.csv"
carbon = 380.5
calendar_start = 2023-05-01T00:00:00Z
[[nodes]]
count = 120
prefix = "n"
resources = { cores = 16, memory = "16GiB", gpu = 2 }
power = { idle_w = 100, core_w = 6.33, off_w = 10, boot_s = 240, boot_w = 125, shutdown_s = 30, shutdown_w = 100 }
[[nodes]]
count = 2
prefix = "fat"
resources = { cores = 64 }
always_on = true
[partitions]
debug = ["n", "fat"]
4 = ["n"]
[[maintenance]]
nodes = "0-3 7"
start_s = 86400
end_s = 90000
[income_by_queue]
debug = 0.02
[tariff]
demand_eur_per_kw = 5.0
co2_eur_per_t = 80.0
contracted_kw = 120.0
contract_penalty_eur_per_kwh = 2.0
[[tariff.limits]]
start_utc = "2023-05-04T10:00Z"
end_utc = "2023-05-04T12:00Z"
most_kw = 60.0
"""
FOUND_JSON = """{"results": [
{"trace": "t", "label": "easy depth=1", "dispatcher": "easy", "settings": ["backfill_depth=1"], "seed": 1,
"folder": "runs/t/easy depth=1/1-draw-2", "metrics": {"jobs": 7, "mean_wait_s": 1.5, "schedule_digest": "a"},
"draw": 2, "seeded": false, "family": "easy", "grid": [["backfill_depth", "1"]], "arity": 0, "central": true},
{"trace": "t", "label": "b", "dispatcher": "dardis-late", "seed": 1, "folder": "runs/t/b/1", "metrics": null,
"error": "killed", "deadlines": "none", "sample": 4}],
"pair": ["easy depth=1", "b"], "known": [{"trace": "t", "jobs": 7, "bound_s": 1.0, "best_s": null}], "notes": ["a"]}
"""
SPEC_TOML = """seeds = [1, 2, 3]
replicates = 4
resample = "weeks"
recorded = false
[[traces]]
trace = "t.swf"
platform = "p.toml"
name = "curie"
jobs = 100
from_s = 0
to_s = 1_000_000
profile = "w.csv"
deadlines = "factor:2"
trim = [3600, 3600]
task_managers = 2
think_times = true
[[dispatchers]]
name = "easy"
label = "EASY, shortest first"
settings = { order = "sjbf", backfill_depth = 5 }
[[dispatchers]]
name = "dardis-throughput"
grid = { node_choice = ["best-fit", "random"], start_grain_s = [60, 300] }
"""
PUE = "temp_c,500,20000,90000\n-10,1.1,1.12,1.13\n15,1.2,1.22,1.25\n40,1.3,1.31,1.32\n"


def _hours(head: str, form: str, count: int = 60) -> str:
    """A head, and a line for each of consecutive hours."""
    lines = []
    for hour in range(count):
        utc, end = utc_text(MAY + 3600 * hour), utc_text(MAY + 3600 * (hour + 1))
        date, time = utc[:10], utc[11:16]
        numeric = f"{date[8:]}.{date[5:7]}.2023 {time} - {end[8:10]}.{end[5:7]}.2023 {end[11:16]}"
        value = 10 + hour % 7
        lines.append(form.format(utc=utc, end=end, unix=MAY + 3600 * hour, day=date, time=time, v=value, span=numeric))
    return "\n".join([head, *lines, ""])


def _year(form: str) -> str:
    lengths = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    days = [(month, day) for month, length in enumerate(lengths, 1) for day in range(1, length + 1)]
    return "".join(form.format(m=m, d=d, h=h, t=h % 9) for m, d in days for h in range(1, 25))


def _open_meteo(part: str, times: list[object], offset_s: int) -> str:
    return json.dumps({
        "utc_offset_seconds": offset_s, f"{part}_units": {"time": "iso8601", "temperature_2m": "°C"},
        part: {"time": times, "temperature_2m": [10 + place % 7 for place in range(len(times))]},
    })  # fmt: skip


WEATHER = (
    _hours("start_utc,temp_c", "{utc},{v}"),
    _hours("start_utc,end_utc,temp_c", "{unix},{end},{v}"),
    _hours("time_local_utc-05:30,temperature_c,more", "{day}T{time},{v},1"),
    "latitude,utc_offset_seconds\n1.0,7200\n"
    + _hours("time,temperature_2m (°C)", "{day}T{time},{v}")
    + "time,temperature_2m_max\n2023-05-01,9\n",
    _open_meteo("hourly", [f"2023-05-{1 + hour // 24:02}T{hour % 24:02}:00" for hour in range(48)], 0),
    _open_meteo("minutely_15", [MAY + 900 * quarter for quarter in range(200)], 3600),
)
YEARS = (
    "LOCATION,a,b,c,d,e,1,1,1.0,1\n" + "x\n" * 7 + _year("2001,{m},{d},{h},60,?,{t}.5,1\n"),
    "source_year,month-day,hour_1_24,dry_bulb_c\n" + _year("2001,{m:02}-{d:02},{h},{t}.5\n"),
    "date,time,dry_bulb_c\n" + _year("{m:02}/{d:02}/2001,{h:02}:00,{t}\n"),
)
PRICES = (
    _hours("start_utc,price_eur_per_kwh", "{utc},0.1{v}"),
    _hours("start_utc,end_utc,price_chf_per_mwh", "{utc},{end},{v}"),
    _hours("MTU (CET/CEST),Area,Sequence,Day-ahead Price (EUR/MWh)", "{span},A,Sequence 1,{v}"),
    _hours("MTU (UTC);Day-ahead Price [EUR/MWh]", "{span};{v}"),
    _hours("Datetime,Price (EUR/MWh)", "{day} {time}:00,{v}"),
    _hours("datetime_local_cet,price_eur_mwh", "{day} {time},{v}"),
)
CARBON = (
    _hours("start_utc,gco2_per_kwh,kind,source", "{utc},3{v},average,x"),
    _hours("Datetime (UTC),Zone id,Carbon intensity gCO₂eq/kWh (Life cycle)", "{day} {time}:00,DE,3{v}"),
    _hours("datetime,zone_name,carbon_intensity_avg", "{day}T{time}:00Z,DE,3{v}"),
)
_VALUES = [10.0 + hour % 7 for hour in range(60)]
PUBLIC_PRICES = tuple(write(MAY, _VALUES) for _, write in public_sources.PRICES.values())
PUBLIC_WEATHER = tuple(write(MAY, _VALUES) for write in public_sources.WEATHER.values())
PUBLIC_CARBON = tuple(write(MAY, _VALUES) for write in public_sources.CARBON.values())
PROFILE = "time_s,node,kind,value\n28800,*,cores,51\n64800,*,cores,72\n28800,3,memory,8GiB\n0,5,gpu,1\n-5,0,cores,3\n"
CAPS = (
    "time_s,node,kind,value\n2026-12-24T16:00Z,*,power,5100\n2026-12-24T18:00Z,*,power,7200\n",
    "time_s,node,kind,value\n2026-12-24T16:00Z,*,cores,51\n",
    (
        "time_s,time_utc,cores_target,power_cap_w,it_w,cooling_w,pue,price_eur_per_kwh,gco2_per_kwh,temp_c,nodes_on,end_s\n"
        "0,2026-12-24T16:00:00Z,4,500.5,1,1,1,0.1,1,1,4,3600\n3600,2026-12-24T17:00:00Z,4,,1,1,1,0.1,1,1,4,7200\n"
    ),
)
TARGET = json.dumps({
    "format": "dardis-target", "version": 1, "platform": "p", "nodes": 6, "unix_start": MAY,
    "profile": {"kind": "cores", "split": "proportional", "steps": [[0, 60], [36_000, 72]]},
    "switching": {
        "idle_s": 337, "most_cycles_per_day": 24.0,
        "groups": {"n": {"spares": [[0, 3], [72_000, 1]], "floors": [[0, 2]]}},
    },
    "source": {"made_by": ["x", {"y": 1.5}]},
})  # fmt: skip
REQUESTS = json.dumps({
    "format": "dardis-redfish", "version": 1, "platform": "p", "begin_unix_s": 0, "end_unix_s": 7_200,
    "nodes": [{"name": f"n{n}", "idle_w": 100.0, "most_w": 402.5} for n in range(3)],
    "requests": [
        {"time_unix_s": 0, "node": "n1", "method": "POST", "body": {"ResetType": "GracefulShutdown"},
         "path": "/redfish/v1/Systems/n1/Actions/ComputerSystem.Reset"},
        *({"time_unix_s": at, "node": node, "method": "PATCH", "path": f"/redfish/v1/Chassis/{node}/Power",
           "body": {"PowerControl": [{"PowerLimit": {"LimitInWatts": watts, "LimitException": "LogEventOnly"}}]}}
          for at, node, watts in ((0, "n0", 300), (3_600, "n2", 101), (7_200, "n0", None))),
    ],
})  # fmt: skip
CONTROLLERS = """url = "https://{node}-bmc.example.org:8443"
limits = "Power"
[nodes."n[0-1]"]
url = "http://10.0.0.1"
plain_http = true
system = "1"
chassis = "System.{node}"
"""
LOGIN = 'user = "admin"\npassword = "x y"\n[nodes.n2]\npassword = "z"\n'
ITEMS = '{"seed": 7, "file": "a b", "fraction": 0.5}'
VARIABLES = "# of the jobs\nA=1\nexport B='2 3'\n\nC_D=\"x\"\nE=\n"
PROGRAMS = "# a task's rank and program\n0 ./head %t\n4 sh -c 'echo \"%t\"'\n1-3,5 ./work --rank %o\n* echo rest\n"
SCRIPT = """#!/bin/sh
# what it does
#DARDIS --time 1:30:00 --cpus 2 --array 0-9:3%2
#DARDIS --after ok:1,any:2 --mem 4G --output "out/%x-%A_%3a" --export none
#SBATCH -n 4 --mem-per-cpu=500M -J name --gres=gpu:a100:1 --begin 16:00
#SBATCH --dependency=afterok:3 --mail-type ALL --signal=B:USR1@60 -N 1-2
true
"""
FOUND = json.dumps({
    "format": "dardis-apply", "version": 1, "shut_down": ["n1"],
    "found": {
        "n0": {"limit_w": 300.5, "limited": True, "on": True}, "n1": {"limit_w": None, "limited": False, "on": None},
    },
})  # fmt: skip
DEADLINES = _lines("job_id,lst_s\n", "{n},9{t}", range(1, 7))
NODE_STATES = "node,state\n" + "".join(f"{name},{state}\n" for name, state in (
    ("n0001", "off"), ("g01", "busy+closed"), ("n0002", "booting"),
))  # fmt: skip
NAMES = ("node00 node01 node02 node03 node04 node05\n", "a1\nb02\nn10\nn9\nn08\nx\n")
JOBS = """job_id,submission_time,requested_time,starting_time,finish_time,units,units_by_node,req_cores,req_memory,\
status,queue,user,attempts,latest_start
1,0,60,5,65,2,0:1 3:1,8,1024,killed,debug,ann,1,90
2,10,60,,,2,,99,0,rejected,debug,bob,1,
3,20.0,60,30.0,80,3,1:3,4,0,completed,,,2,
"""
JOBS_OF_PARTS = """job_id,submission_time,requested_time,starting_time,finish_time,units,units_by_node,req_cores,\
req_gpu,status,parts,units_by_part,alternative
1,0,60,5,65,3,0:2 3:1,4,0,killed,"2:cores=4 1:cores=1,gpu=2",0:1 3:1;0:1,
2,10,60,,,2,,99,0,rejected,1:cores=3 1:gpu=7,,
3,20,60,30,80,3,1:3,4,0,completed,,,2
"""
SWITCHING = "node,down_s,up_s\n0,0,900\n0,5000,\n3,100,7000\n"
SCALE = _lines(
    ",".join(ONE) + "\n", ",".join("{n}" if name == "ranks" else str(cell) for name, cell in ONE.items()), range(1, 4)
)
PREDICTIONS = """scaling,nodes,ranks,task_managers,arity,window_s,reservations,predicted_s_per_job,network_ranks
strong,1000,10,1,flat,100,4,0.01,4
weak,5000,10,1,8,100,4,0.01,4
"""
FAULTS = """nodes,hosts,task_managers,arity,sample,window_s,reservations,dispatcher,seed,jobs,drop,duplicate,delay_s,\
resend_s,crashes,completed,rejected,lost,run_twice,violations,claims,refused,cut,messages,dropped,resent,agree_s_mean,\
agree_s_most,wait_s_mean,traffic_digest
100,2,1,flat,all,86400,4,d,1,9,0,0,3,7,0,9,0,0,0,0,9,0,0,90,0,5,24.1,98,44.8,e0
100,2,1,8,4,86400,4,d,1,9,0.05,0.1,3,7,2,8,0,1,1,3,9,0,1,90,6,5,,,,e1
"""
SCALE_JSON = json.dumps(RECORD)
INSTANCES = tuple(json.dumps(random_problem(seed).plain(), indent=1) for seed in range(5))
RUN = {
    "run.json": json.dumps({"platform": platform_to_dict(PLATFORM), "unix_start": MAY, "warnings": []}),
    "metrics.json": json.dumps({
        "jobs": 3, "completed": 1, "killed": 1, "rejected": 1, "makespan_s": 80, "mean_wait_s": 1.5,
        "utilisation": None, "schedule_digest": "x",
    }),
    "metrics_by.csv": ",".join(
        ("by", "name", *BY_COLUMNS, *FOOTPRINT_COLUMNS, *DEADLINE_COLUMNS, *QUEUE_COLUMNS)
    ) + "\nqueue,debug,2,1.5,2,2,1.0,0.2,1.5,1.25,1,5,,,1,7,2.5,0.5\n"
    "user,ann,1,0.0,0.0,0,1.0,0.1,1.0,1.0,0,0,0.5,0.0,0,0,,\n",
    "profile.csv": ",".join(("time_s", *(f"{kind}_{what}" for kind in PLATFORM.kinds for what in ("used", "desired"))))
    + "\n" + "".join(f"{time}" + 3 * f",{used},70" + "\n" for time, used in ((0, 0), (5, 16), (80, 0))),
    "decisions.csv": "cpu_s_from,cpu_s_to,decisions\n0,1e-06,3\n1e-06,2e-06,0\n",
    "power.csv": ",".join(SEGMENTS.names) + "\n" + "".join(
        f"{time},{time + 40}" + ",1.5" * (len(SEGMENTS.names) - 2) + "\n" for time in (0, 40)
    ),
    "expectations.csv": "job_id,expected_s,rule\n1,40,user walltime\n2,60,walltime\n3,7,walltime\n",
    "solver.csv": ",".join(SOLVED.names) + "\n"
    "0,3,3,1,optimal,,12,12,0,40,0.1,0.001,0,0.01,0.02,0.1,0,0\n"
    "5,2,2,0,feasible,conflicts,12,9.5,0.26,40,0.1,0.001,0.2,0.01,0.02,0.1,0.3,0\n"
    "7,1,0,1,,,,,,0,0,0,0,0.01,0,0,0,0\n9,120,0,0,,,,,,0,0,0,0,0.01,0,0,0,1\n",
    "jobs.csv": JOBS,
}  # fmt: skip


def plan_files() -> dict[str, str]:
    """The files of a plan's folder by name."""
    with TemporaryDirectory() as name:
        write_plan(Path(name), plan_folder.plan())
        return {path.name: path.read_text() for path in sorted(Path(name).iterdir())}


def write_beside(folder: Path) -> None:
    """The files that `PLATFORM_TOML` names."""
    (folder / "pue.csv").write_text(PUE)
    (folder / "prices.csv").write_text(_hours("start_utc,price_eur_per_mwh", "{utc},{v}"))
    (folder / "weather.csv").write_text(_hours("start_utc,temp_c", "{utc},{v}"))


EVENTS_TOML = """# what happens
[[events]]
at_s = 100
stop_queue = "day"
[[events]]
at_s = 2000
start_queue = "day"
[[events]]
at_s = 150
job = 3
walltime_s = 7200
queue = "night"
[[events]]
at_s = 300
nodes_down = "0-1"
[[events]]
at_s = 900
nodes_up = [1]
[[events]]
at_s = 50
reservation = { name = "c", queue = "course", nodes = "0", start_s = 60, end_s = 99, repeat = "hourly", times = 2 }
"""


_NO_TIME = -(1 << 62)
_STEPS = {"times": [_NO_TIME, 3600], "values": [4, 2]}
_AXIS = {"start": 0, "end": 7200, "unix_start": 1_688_342_400}
_SEGMENTS = ("cores_target", "power_cap_w", "it_w", "cooling_w", "pue", "price_eur_per_kwh", "gco2_per_kwh", "temp_c")
PLAN_PICTURE = json.dumps({
    "title": "Plan", "lead": "4 nodes", "first": ["Do this."], "notes": [], "headlines": [["peak", "1 kW"]],
    "day": {
        "axis": _AXIS, "edges": [0, 3600, 7200],
        "columns": {name: [1.5, 2.5] for name in _SEGMENTS} | {"pue": [1.1, None]},
        "money": {name: [1.0, 2.0] for name in ("income", "energy", "cooling", "co2")}, "used": _STEPS,
        "powered": _STEPS, "nodes_on": _STEPS, "nodes_busy": _STEPS, "capacity": 8, "nodes": 4, "currency": "EUR",
        "expected": [[0.5, 1.0], [2.0, 3.0]],
    },
    "profits": [["ours", 2.5]], "bound": 3.0, "rules": [["Spares", ["always 3"]]], "figures": [["jobs", "3"]],
    "trees": [["Spares", {"said": "hour < 8?", "yes": {"said": "3", "yes": None, "no": None}, "no": None}]],
})  # fmt: skip
LOOP_PICTURE = json.dumps({
    "title": "Days", "lead": "4 nodes", "first": ["So it was."], "notes": ["told"],
    "picture": {
        "axis": _AXIS, "nodes_on": _STEPS, "nodes": 4, "spares": None, "cores": 8, "used": _STEPS, "aimed_at": _STEPS,
        "dates": ["2023-07-03"], "profit": {name: [1.0] for name in ("all nodes on", "switched", "clairvoyant")},
        "delays": [0, 240], "gain": {"price": 0.5}, "currency": "EUR", "edges": [0, 3600, 7200], "temp_c": [20.0, 21.0],
        "price": [0.1, -0.1], "beside": [["reactive:9", 5.0, 3.0], ["spare", 1.0, 2.0], ["clairvoyant", 0.0, 4.0]],
        "promised": [[1.0, 0.8, 0.2, 1.9]],
    },
    "summary": {
        "profit_eur": 1.25, "gain_eur": 1, "share_of_bound": 0.5, "mean_boot_delay_s": None, "delayed_share": 0.5,
        "cycles_per_node_day": 0.0, "days": "1-1",
    },
    "days": [["day"], [{"day": 1}]], "beside": [["switching"], [{"switching": "spare"}]], "rules": [],
})  # fmt: skip
