"""What Slurm's sacct writes: columns, times and states, and what is wrong with them."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from kit.error_lines import line_of
from kit.sacct_text import JOB, NEXT, UNBEGUN, sacct

from dardis.model.errors import InputError
from dardis.workload.trace import Trace
from dardis.workload.trace_summary import not_ended, summarise

Read = Callable[..., Trace]


def refused(read: Read, *jobs: str | dict[str, str]) -> str:
    return line_of(read, *jobs).partition("jobs.txt")[2]


@pytest.mark.parametrize(("text", "told"), [
    (sacct(JOB, without=("JobIDRaw",)), ":1: no column JobIDRaw or JobID; expected SLURM_TIME_FORMAT=%s sacct --p"),
    (sacct(JOB, without=("Submit", "State")), ":1: no column Submit, State; expected SLURM"),
    (sacct(JOB, without=("End", "ElapsedRaw")), ":1: no column End or ElapsedRaw or Elapsed; expected SLURM"),
    (sacct(JOB, without=("NCPUS", "ReqTRES", "AllocTRES")), ":1: no column NCPUS or AllocCPUS or ReqCPUS or Alloc"),
    ("JobID       State\n------------ -----\n7 COMPLETED\n", ":1: sacct's columns without |"),
    ("JobIDRaw,State\n7,COMPLETED\n", ":1: sacct's columns without | between them; expected --parsable2: "),
    ("\n7|1000|COMPLETED\n", ":2: sacct's jobs without a header; expected a header (no --noheader): SLURM"),
    ("7_[3-4]|1000|PENDING\n", ":1: sacct's jobs without a header"),
    ("name|time\na|5\n", ": no valid job"),
    (sacct(JOB).splitlines()[0], ": no valid job; expected"),
])  # fmt: skip
def test_unsupported_sacct_formats_are_detected(read: Read, text: str, told: str) -> None:
    assert refused(read, text).startswith(told)


@pytest.mark.parametrize(
    "text",
    [
        sacct(JOB, end="\r\n"),
        "\ufeff" + sacct(JOB),
        "\n\n" + sacct(JOB).replace("\n", "\n\n \n"),
        sacct(JOB).replace("\n", "|\n"),
        sacct(JOB | {"Empty": ""}).replace("\n", "|\n"),
        "; exported in May\n" + sacct(JOB),
    ],
    ids=["CRLF", "BOM", "blank lines", "--parsable", "--parsable, last empty", "comment"],
)
def test_common_sacct_line_variants_are_read(read: Read, text: str) -> None:
    trace = read(text, strict=True)
    assert (trace.number.tolist(), trace.queue.tolist(), trace.request["gpu"].tolist()) == ([7], ["normal"], [2])


@pytest.mark.parametrize(("change", "reason"), [
    ({"JobIDRaw": "x"}, "JobIDRaw: 'x' is not a job"),
    ({"JobIDRaw": "9" * 17}, "number out of range"),
    ({"State": "COMPLETE"}, "State: 'COMPLETE' is not a state of a job"),
    ({"Submit": "Unknown"}, "Submit: 'Unknown' is not a time"),
    ({"Submit": "soon"}, "Submit: 'soon' is not a whole number"),
    ({"Start": "-5"}, "Start: '-5' is out of range"),
    ({"State": "RUNNING", "Start": "None"}, "Start: 'None' is not a time, but the job is RUNNING"),
    ({"ElapsedRaw": "", "End": "Unknown"}, "End: not stated, but the job is COMPLETED"),
    ({"ElapsedRaw": "", "End": "1009"}, "End: before Start"),
    ({"TimelimitRaw": "00:05"}, "TimelimitRaw: '00:05' is not a whole number"),
    ({"AllocTRES": "cpu"}, "AllocTRES: 'cpu' is not a resource"),
    ({"AllocTRES": "cpu=4,cpu=5"}, "AllocTRES: 'cpu' occurs twice"),
    ({"AllocTRES": "cpu=4,mem=4Q,node=1"}, "AllocTRES: '4Q' is not an amount"),
    ({"AllocTRES": "", "ReqTRES": "", "NCPUS": "many"}, "NCPUS: 'many' is not an amount"),
    ({"QOS": "a|b"}, "24 fields instead of 23"),
])  # fmt: skip
def test_line_without_a_job_is_malformed(read: Read, change: dict[str, str], reason: str) -> None:
    trace = read(JOB, NEXT | change)
    assert [tuple(skip) for skip in trace.skipped] == [(3, reason, True)]
    with pytest.raises(InputError, match=r"jobs\.txt:3: "):
        read(JOB, NEXT | change, strict=True)


class TestTimes:
    ISO = JOB | {name: f"2023-07-03T10:{m}:00" for name, m in (("Submit", "00"), ("Start", "05"), ("End", "09"))}
    AT = int(datetime(2023, 7, 3, 10, tzinfo=UTC).timestamp())

    def test_times_without_zone_are_utc_with_a_note(self, read: Read) -> None:
        trace = read(self.ISO | {"Eligible": "Unknown", "ElapsedRaw": ""})
        assert (trace.submit.tolist(), trace.wait.tolist(), trace.runtime.tolist()) == ([self.AT], [300], [240])
        assert trace.notes == ("times have no zone and count as UTC (SLURM_TIME_FORMAT=%s avoids this)",)
        assert ("note", trace.notes[0]) in summarise(trace, None)

    @pytest.mark.parametrize(("zone", "ahead"), [("Z", 0), ("+0200", 7200), ("-05:30", -19800)])
    def test_utc_offset_is_applied(self, read: Read, zone: str, ahead: int) -> None:
        times = {name: self.ISO[name] + zone for name in ("Submit", "Start", "End")}
        trace = read(self.ISO | times | {"Eligible": ""})
        assert (trace.submit.tolist(), trace.notes) == ([self.AT - ahead], ())

    def test_offsets_may_change_with_summer_time(self, read: Read) -> None:
        times = {"Submit": "2025-10-26T02:30:00+0200", "Start": "2025-10-26T02:30:00+0200"}
        trace = read(self.ISO | times | {"End": "2025-10-26T02:30:00+0100", "Eligible": "", "ElapsedRaw": "3600"})
        assert (trace.wait.tolist(), trace.runtime.tolist(), trace.notes) == ([0], [3600], ())

    @pytest.mark.parametrize(
        ("first", "other"), [("1000", ""), ("", "1000"), ("", "Z")], ids=["without a zone", "Unix seconds", "UTC"]
    )
    def test_two_clocks_in_one_file_are_an_error(self, read: Read, first: str, other: str) -> None:
        first, other = (text if text == "1000" else f"2023-07-03T10:00:00{text}" for text in (first, other))
        times = {"Submit": first, "Eligible": first, "Start": first, "End": first}
        found = refused(read, JOB | times, NEXT | times | {"Start": other})
        assert found.startswith(f":3: two clocks in one file: '{other}' is ")
        assert found.endswith("; expected one clock in one file (SLURM_TIME_FORMAT=%s)")

    @pytest.mark.parametrize(
        "stamp", ["2023-02-29T10:00:00", "2023-07-03", "2023-07-03T10:00", "2023-07-03T10:00:00+9"]
    )
    def test_missing_time_is_malformed(self, read: Read, stamp: str) -> None:
        times = {"Eligible": "Unknown"}
        trace = read(self.ISO | times, self.ISO | times | {"JobIDRaw": "8", "Submit": stamp})
        assert [(skip.line, skip.malformed) for skip in trace.skipped] == [(3, True)]

    @pytest.mark.parametrize(
        ("text", "seconds"),
        [("1-02:03:04", 93784), ("02:03:04", 7384), ("05:00", 300), ("UNLIMITED", -1), ("Partition_Limit", -1)],
    )
    def test_limits_and_spans_in_words(self, read: Read, text: str, seconds: int) -> None:
        elapsed = text if seconds > 0 else "100"
        job = JOB | {"Timelimit": text, "Elapsed": elapsed, "End": "1010"}
        trace = read(sacct(job, without=("TimelimitRaw", "ElapsedRaw") if seconds > 0 else ("TimelimitRaw", "Elapsed")))
        assert trace.stated_walltime.tolist() == [seconds]
        assert trace.runtime.tolist() == [max(seconds, 100)]

    def test_spans_in_columns(self, read: Read) -> None:
        assert read(JOB | {"ElapsedRaw": "60"}).runtime.tolist() == [60]
        assert read(JOB | {"ElapsedRaw": ""}).runtime.tolist() == [100]
        assert read(JOB | {"Start": "990"}).wait.tolist() == [0]
        for text in ("UNLIMITED", "Partition_Limit", "", "0", "Unknown"):
            assert read(JOB | {"TimelimitRaw": text}).stated_walltime.tolist() == [-1]
        job = JOB | {"Timelimit": "05:00"}
        for text in ("5", "1-2", "1:2:3:4", "05:0", "x"):
            trace = read(sacct(job, job | {"JobIDRaw": "8", "Timelimit": text}, without=("TimelimitRaw",)))
            assert trace.skipped[0].reason == f"Timelimit: {text!r} is not a time span such as 1-02:03:04"

    @pytest.mark.parametrize(("eligible", "est"), [("1007", 1007), ("900", 1000), ("Unknown", 1000), ("", 1000)])
    def test_est_is_when_a_job_was_eligible(self, read: Read, eligible: str, est: int) -> None:
        assert read(JOB | {"Eligible": eligible}).est.tolist() == [est]


class TestStates:
    @pytest.mark.parametrize(
        "state",
        ["COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "CANCELLED by 1"],
    )  # fmt: skip
    def test_ended_jobs_are_read(self, read: Read, state: str) -> None:
        assert read(JOB | {"State": state}).runtime.tolist() == [100]

    @pytest.mark.parametrize("state", ["RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STAGE_OUT", "RESIZING"])
    def test_running_jobs_are_read(self, read: Read, state: str) -> None:
        trace = read(JOB, NEXT | {"State": state, "End": "Unknown"}, not_ended=True)
        assert (trace.runtime.tolist(), trace.wait.tolist()) == ([100, -1], [10, 10])
        assert not_ended(trace) == "1 run and 0 wait"
        assert read(JOB, NEXT | {"State": state, "End": "Unknown"}).number.tolist() == [7]

    @pytest.mark.parametrize("state", ["PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "REQUEUE_FED"])
    @pytest.mark.parametrize("start", ["Unknown", "", "None", "1500"])
    def test_waiting_jobs_are_read(self, read: Read, state: str, start: str) -> None:
        trace = read(JOB, NEXT | UNBEGUN | {"State": state, "Start": start}, not_ended=True)
        assert (trace.runtime.tolist(), trace.wait.tolist()) == ([100, -1], [10, -1])
        assert trace.request["memory"].tolist() == [65536, 51200], "who waits has what it asks for"

    def test_ineligible_jobs_are_reported(self, read: Read) -> None:
        waits = UNBEGUN | {"State": "PENDING", "JobID": "8_[1-3]", "Eligible": "Unknown"}
        trace = read({"JobID": "7"} | JOB, NEXT | waits, not_ended=True)
        assert trace.est.tolist() == [1000] * 4
        assert trace.notes[0].startswith("3 waiting jobs are held or wait for other jobs")
        assert not read(JOB, NEXT | UNBEGUN | {"State": "PENDING"}).notes

    @pytest.mark.parametrize(("change", "reason"), [
        (UNBEGUN | {"State": "CANCELLED by 0"}, "CANCELLED before it ran"),
        (UNBEGUN | {"State": "CANCELLED", "Start": "", "End": "1050", "ElapsedRaw": ""}, "CANCELLED before it ran"),
        ({"ElapsedRaw": "0"}, "no runtime"),
        ({"AllocTRES": "cpu=4", "ReqTRES": "", "NNodes": "0"}, "no units"),
    ])  # fmt: skip
    def test_jobs_that_never_ran_are_skipped_with_reason(self, read: Read, change: dict[str, str], reason: str) -> None:
        trace = read(JOB, NEXT | change, strict=True, not_ended=True)
        assert [tuple(skip) for skip in trace.skipped] == [(3, reason, False)]

    @pytest.mark.parametrize(("state", "stays"), [("RUNNING", False), ("SUSPENDED", True), ("STOPPED", True)])
    def test_running_job_far_beyond_its_walltime_is_skipped(self, read: Read, state: str, stays: bool) -> None:
        late = str(1010 + 300 + 86_400 + 1)
        jobs = (JOB | {"State": state}, NEXT | {"Submit": late, "Start": late, "ElapsedRaw": "0"})
        last = NEXT | {"JobIDRaw": "9", "Submit": late, "Start": late}
        assert (7 in read(*jobs, last, not_ended=True).number.tolist()) is stays
