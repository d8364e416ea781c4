import asyncio
import base64
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from itertools import count

import pytest
from kit.etcd import Between, Cluster, end_lease, etcd, free_ports, keys, transact

from dardis.live import etcd as etcds
from dardis.live import etcd_journal as journals
from dardis.live.etcd import Etcd, journal_place, put
from dardis.live.etcd_journal import EtcdJournal, SupersededError, open_journal
from dardis.live.journal import FILE, Batch, Journal, JournalError, SubmissionRow, told_instants
from dardis.model.errors import InputError

NAMES = (f"j{number}" for number in count())


def row(first, count=1, key=None, over=False, asker=7):
    return SubmissionRow(first, count, asker, key, over, f"value {first}")


def everything(journal):
    return [(*found, become) for *found, become in journal.unfinished()], journal.next_job(), journal.drains()


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """An etcd of one member, for all tests here."""
    with etcd(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


@pytest.fixture
def place(one):
    """Of a journal that isn't there yet."""
    return one.place(next(NAMES))


@pytest.fixture
def between(one, monkeypatch):
    """The same, and what goes wrong on the way; nobody asks twice, and what is slow here has not gone wrong."""
    monkeypatch.setattr(etcds, "ANSWER_S", 20.0)
    monkeypatch.setattr(journals, "Etcd", lambda place, patience_s=0.0: Etcd(place, min(patience_s, 0.0)))
    proxy = Between(one.ports[0])
    yield proxy
    proxy.close()


@pytest.fixture
def folder(tmp_path):
    """Makes folders of hosts."""

    def folder(name):
        (tmp_path / name).mkdir(exist_ok=True)
        return tmp_path / name

    return folder


@pytest.fixture
def opened(folder):
    """Opens journals in folders of hosts."""
    made = []

    def opened(name, place):
        made.append(EtcdJournal(folder(name), place))
        return made[-1]

    yield opened
    for journal in made:
        journal.close()


def puts(name, kind):
    """Whether a request writes such a key of a journal."""
    asked = base64.b64encode(f"dardis/{name}/{kind}".encode())[:-4]
    return lambda request: b"request_put" in request and asked in request.partition(b'"failure"')[0]


def test_what_is_written_is_there_again_on_another_disk_and_each_epoch_is_higher(place, opened, folder):
    journal = opened("a", place)
    assert (journal.epoch, journal.next_job()) == (1, 1)
    journal.write(Batch([row(1, 3, "k"), row(4)], [(2, "endet ä\n")], ["a"], {"n0": "why"}))
    journal.write(Batch(instants=["only told"]))
    journal.write(Batch([row(4, over=True)], [(4, "done"), (2, "again")], ["b"], {"n1": "x", "n0": ""}))
    before = everything(journal)
    assert before == ([(row(1, 3, "k"), {2: "again"})], 5, {"n1": "x"})
    journal.close()
    again = opened("a", place)
    assert (again.epoch, everything(again)) == (2, before)
    assert list(told_instants(folder("a"))) == ["a", "only told", "b"]
    again.close()
    elsewhere = opened("b", place)
    assert (elsewhere.epoch, everything(elsewhere)) == (3, before)
    assert elsewhere.find(7, "k") == (1, 3)
    assert elsewhere.holder(4) == (row(4, over=True), "done")
    assert (folder("b") / FILE).stat().st_mode & 0o777 == 0o600
    elsewhere.close()
    first = opened("a", place)  # two epochs behind, and what was written there is there
    assert (first.epoch, everything(first)) == (4, before)
    first.close()


def test_what_can_not_be_is_not_sent(place, opened):
    journal = opened("a", place)
    journal.write(Batch([row(1, key="k")]))
    for wrong in (Batch([row(2, key="k")]), Batch(drains={"n0": "\ud800"})):
        with pytest.raises(JournalError):
            journal.write(wrong)
    assert len(keys(place, "log")) == 1
    journal.write(Batch([row(2, key="k", asker=8)]))
    journal.close()
    assert opened("b", place).next_job() == 3


def test_a_batch_that_no_request_can_hold(place, opened):
    journal = opened("a", place)
    ends = [(number, "ä" * 1500) for number in range(1, 1201)]
    left = f"dardis/{place.name}/part/{1:016d}/{3:016d}".encode()
    transact(place, [put(left, b"of one that never counted")])
    journal.write(Batch([row(1, 1200)], ends))
    journal.write(Batch([row(1201)]))
    before = everything(journal)
    assert len(keys(place, "part")) == 4
    journal.close()
    again = opened("b", place)
    assert everything(again) == before
    assert before[0][0][1] == dict(ends)
    again.close()


def test_who_was_superseded_writes_nothing_any_more(place, opened):
    old = opened("a", place)
    old.write(Batch([row(1)]))
    end_lease(place)
    new = opened("b", place)
    assert (new.epoch, new.next_job()) == (2, 2)
    for batch in (Batch([row(2)]), Batch([row(2, 2000)], [(number, "x" * 1000) for number in range(2, 2002)])):
        with pytest.raises(SupersededError, match=f"{place.name}: another service has taken this journal over"):
            old.write(batch)
        assert everything(old)[1] == 2
    with pytest.raises(SupersededError):
        old._renew()
    assert [len(keys(place, kind)) for kind in ("log", "part")] == [1, 0]
    assert old._cut(5) == (0, 0)
    assert keys(place, "base") == keys(place, "rows") == []
    new.write(Batch([row(2)]))
    new._renew()
    for journal in (old, new):
        journal.close()


def test_a_journal_that_is_served_is_refused_until_the_lease_ends(place, monkeypatch, opened):
    monkeypatch.setattr(journals, "WAIT_S", 0.5)
    monkeypatch.setattr(journals, "LEASE_S", 60)
    alive = opened("a", place)
    with pytest.raises(InputError, match=rf"is served already \(process {os.getpid()} on "):
        opened("b", place)
    alive.write(Batch([row(1)]))  # nothing has come of that
    alive._etcd.ask("lease/revoke", {"ID": str(alive._lease)})
    alive._renew()  # too late, but nobody came
    with pytest.raises(InputError, match="is served already"):
        opened("b", place)
    alive._db.close()
    again = opened("a", place)  # killed: the same folder need not wait
    assert again.epoch == 2
    again.close()
    opened("b", place).close()  # ended: nobody need wait


def test_who_leads_says_so_whatever_his_loop_and_its_pool_wait_for(place, monkeypatch, folder):
    for name, seconds in (("LEASE_S", 2), ("RENEW_S", 0.3), ("WAIT_S", 0.5)):
        monkeypatch.setattr(journals, name, seconds)
    journal, hang = open_journal(folder("a"), place), threading.Event()

    async def work():
        loop = asyncio.get_running_loop()
        waiting = asyncio.create_task(journal.superseded())
        hanging = [loop.run_in_executor(None, hang.wait, 30) for _ in range(100)]
        time.sleep(5)  # noqa: ASYNC251 (so it stands still)
        assert time.monotonic() - journal.certain_s() < 2
        with pytest.raises(InputError, match="is served already"):
            EtcdJournal(folder("b"), place)
        hang.set()
        await asyncio.gather(*hanging)
        assert not waiting.done()
        waiting.cancel()

    async def lose():
        end_lease(place)
        EtcdJournal(folder("b"), place).close()
        async with asyncio.timeout(20):
            with pytest.raises(SupersededError, match="another service has taken this journal over"):
                await journal.superseded()

    asyncio.run(work())
    asyncio.run(lose())
    certain_s = journal.certain_s()
    journal.close()
    time.sleep(0.5)
    assert journal.certain_s() == certain_s
    assert "leader" not in [thread.name for thread in threading.enumerate()]


def test_who_has_ended_says_nothing_any_more(place, monkeypatch, folder):
    monkeypatch.setattr(journals, "RENEW_S", 0.05)
    for name in "abab":
        journal = open_journal(folder(name), place)
        time.sleep(0.3)
        journal.close()
        assert keys(place, "leader") == []


def test_one_that_could_not_be_had_leaves_the_folder_as_it_was(monkeypatch, folder, one):
    monkeypatch.setattr(journals, "Etcd", lambda place, _=0.0: Etcd(place, 0.0))
    nobody = journal_place(f"etcd://127.0.0.1:{free_ports(1)[0]}", None, None, None)()
    with pytest.raises(JournalError, match="no answer"):
        open_journal(folder("a"), nobody)
    Journal(folder("a")).close()
    name = next(NAMES)
    open_journal(folder("a"), one.place(name)).close()  # nothing was written meanwhile
    with pytest.raises(InputError, match="is a copy of a journal in etcd"):
        Journal(folder("a"))


@pytest.mark.parametrize("lost", ["answer", "request", "late"])
@pytest.mark.parametrize("big", [False, True])
def test_a_write_whose_outcome_is_not_known_is_found_out(one, between, lost, big, opened):
    name = next(NAMES)
    journal = opened("a", one.place(name, [between.port]))
    journal.write(Batch([row(1)]))
    is_log, fates = puts(name, "log/"), [lost, *["request"] * 3]

    def loses(request):
        return fates.pop(0) if fates and (len(fates) < 4 or is_log(request)) else ""

    between.loses = loses
    batch = Batch([row(2, 1500)], [(number, "x" * 1000) for number in range(2, 1502)]) if big else Batch([row(2)])
    with pytest.raises(JournalError, match="no answer"):
        journal.write(batch)
    assert journal.next_job() == 2
    while fates:  # nor does who asks for the outcome get an answer
        with pytest.raises(JournalError, match="no answer"):
            journal.write(Batch([row(3000)]))
    if lost == "answer":
        with pytest.raises(JournalError, match="has taken what it gave no answer to"):
            journal.write(Batch([row(3000)]))
        assert journal.next_job() == (1502 if big else 3)
    journal.write(Batch([row(4000)]))
    between.arrive()
    journal.write(Batch([row(4001)]))
    before = everything(journal)
    firsts = [1, 2, 4000, 4001] if lost == "answer" else [1, 4000, 4001]
    assert [found[0].first for found in before[0]] == firsts
    journal.close()
    again = opened("b", one.place(name))
    assert everything(again) == before
    again.close()


def test_pieces_that_never_counted_are_in_nobodys_way(one, between, opened):
    name = next(NAMES)
    journal = opened("a", one.place(name, [between.port]))
    is_piece, gone = puts(name, "part/"), []
    between.loses = lambda request: "late" if is_piece(request) and (gone.append(1) or len(gone) == 3) else ""
    with pytest.raises(JournalError, match="no answer"):
        journal.write(Batch([row(1, 5000)], [(number, "x" * 1000) for number in range(1, 5001)]))
    between.loses = lambda _request: ""
    journal.write(Batch([row(1, 4000)], [(number, "y" * 1000) for number in range(1, 4001)]))
    between.arrive()
    before = everything(journal)
    journal.close()
    again = opened("b", one.place(name))
    assert everything(again) == before
    again.close()


def test_whoever_takes_over_is_told_what_it_has_taken(one, between, opened):
    name = next(NAMES)
    is_epoch, gone = puts(name, "epoch"), []
    ports = [between.port, one.ports[0]]
    between.loses = lambda request: "answer" if is_epoch(request) and not gone and gone.append(1) is None else ""
    journal = opened("a", one.place(name, ports))
    assert gone
    assert journal.epoch == 1
    journal.write(Batch([row(1)]))
    journal.close()


def test_a_long_log_gives_way_to_rows(place, monkeypatch, opened):
    monkeypatch.setattr(journals, "MOST_LOG", 60_000)
    monkeypatch.setattr(journals, "PIECE", 3000)
    monkeypatch.setattr(journals, "KEPT", 20)
    journal = opened("a", place)
    journal.write(Batch([row(1, 50)], [(3, "early")], drains={"n": "why"}))
    cuts = []
    for first in range(51, 351):
        journal.write(Batch([row(first, key=f"k{first}")], [(first, "begun")]))
        journal.write(Batch([row(first, over=first % 10 != 0)], [(first, "é" * 50)]))
        cuts += keys(place, "base") if first % 100 == 0 else []
    assert cuts
    journal._cutter.shutdown()
    log, rows = keys(place, "log"), keys(place, "rows")
    assert len(log) < 300
    assert 1 < len(rows) < 40
    with pytest.raises(JournalError, match="compacted"):
        journal._etcd.ask("kv/range", {"key": "YQ==", "revision": "1"})
    before = everything(journal)
    journal.close()
    again = opened("b", place)
    assert everything(again) == before
    assert again.find(7, "k349") == (349, 1)
    assert again.find(7, "k51") is None  # over for long
    assert again.holder(350)[1] == "é" * 50
    again.write(Batch([row(400)]))
    again.close()
    first = opened("a", place)  # it needs the log alone
    assert first.find(7, "k51") == (51, 1)
    assert first.next_job() == 401
    first.close()


def test_rows_that_count_late_do_not_take_the_place_of_newer_ones(one, between, opened):
    name = next(NAMES)
    journal = opened("a", one.place(name, [between.port]))
    journal.write(Batch([row(1)]))
    is_base = puts(name, "base")
    between.loses = lambda request: "late" if is_base(request) else ""
    assert journal._cut(1) == (0, 0)
    between.loses = lambda _request: ""
    assert journal._cut(1) == (0, 0)  # what is late may be other pieces of this very record
    journal.write(Batch([row(2)]))
    size, rows = journal._cut(5)
    assert size == 5
    assert rows > 100
    between.arrive()
    journal.write(Batch([row(3)]))
    before = everything(journal)
    journal.close()
    assert everything(opened("b", one.place(name))) == before
    assert keys(one.place(name), "rows") == [f"rows/{2:016d}/{0:016d}"]


def test_a_copy_that_is_older_than_the_log_is_made_anew(place, monkeypatch, opened):
    old = opened("old", place)
    old.write(Batch([row(1, key="old"), row(2)], instants=["long ago"]))
    old.close()
    monkeypatch.setattr(journals, "MOST_LOG", 5000)
    journal = opened("a", place)
    for first in range(3, 30):
        journal.write(Batch([row(first - 1, over=True), row(first)]))
    before = everything(journal)
    journal.close()
    assert keys(place, "base")
    old = opened("old", place)
    assert everything(old) == before
    old.close()


def test_a_copy_that_is_lost_damaged_or_of_another_journal_is_made_anew(one, opened, folder):
    place, other = one.place(next(NAMES)), one.place(next(NAMES))
    journal = opened("a", place)
    journal.write(Batch([row(1, 3)], [(1, "x")]))
    before = everything(journal)
    journal.close()
    stranger = opened("b", other)
    stranger.write(Batch([row(first) for first in range(1, 9)]))
    stranger.close()
    journal = opened("b", place)
    assert everything(journal) == before
    journal.close()
    (folder("b") / FILE).write_bytes(b"no database" * 1000)
    journal = opened("b", place)
    assert everything(journal) == before
    journal.close()
    assert (folder("b") / f"{FILE}.damaged").read_bytes() == b"no database" * 1000
    (folder("b") / FILE).unlink()
    journal = opened("b", place)
    assert everything(journal) == before
    journal.close()


def test_a_full_disk_takes_nothing_in_and_goes_on_when_there_is_room(place, opened):
    journal = opened("a", place)
    journal.write(Batch([row(1)]))
    pages = journal._db.execute("PRAGMA page_count").fetchone()[0]
    journal._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(JournalError, match="full"):
        journal.write(Batch([row(2)], [(2, "x" * 50_000)]))
    assert journal.next_job() == 2
    journal._db.execute("PRAGMA max_page_count = 100000")
    journal.write(Batch([row(3)]))
    journal.close()


def test_what_etcd_has_and_the_disk_could_not_take_holds(place, opened):
    journal = opened("a", place)
    real = journal._db

    class Full:
        """A disk that is full at the very end."""

        def __getattr__(self, name):
            return getattr(real, name)

        def execute(self, what, *more):
            if what == "COMMIT":
                raise sqlite3.OperationalError("database or disk is full")
            return real.execute(what, *more)

    journal._db = Full()
    with pytest.raises(JournalError, match="full"):
        journal.write(Batch([row(1)]))
    with pytest.raises(JournalError, match="full"):
        journal.write(Batch([row(2)]))
    journal._db = real
    with pytest.raises(JournalError, match="that holds now"):
        journal.write(Batch([row(2)]))
    assert journal.next_job() == 2
    journal.write(Batch([row(2)]))
    assert len(keys(place, "log")) == 2
    journal.close()


def test_a_plain_journal_and_a_copy_are_not_taken_for_each_other(place, opened, folder):
    plain = Journal(folder("a"))
    plain.write(Batch([row(1)]))
    plain.close()
    with pytest.raises(InputError, match="has jobs that are not in etcd"):
        opened("a", place)
    for _ in range(3):
        Journal(folder("b")).close()
    journal = opened("b", place)  # nothing is in it
    assert journal.epoch == 4  # the keeper there has heard of three
    journal.close()
    with pytest.raises(InputError, match="is a copy of a journal in etcd"):
        Journal(folder("b"))


def test_an_etcd_that_lost_what_it_took_is_refused(place, opened):
    journal = opened("a", place)
    journal.write(Batch([row(1)]))
    journal.close()
    key = f"dardis/{place.name}/log/{1:016d}".encode()
    transact(place, [etcds.delete(key, key + b"\0")])
    with pytest.raises(InputError, match="has lost what"):
        opened("a", place)


def test_an_etcd_that_lost_all_does_not_have_the_copy_emptied(place, opened, folder):
    journal = opened("a", place)
    journal.write(Batch([row(1)]))
    journal.close()
    begin = f"dardis/{place.name}/".encode()
    transact(place, [etcds.delete(begin, begin + b"~")])
    for _ in range(2):
        with pytest.raises(InputError, match="has nothing of what"):
            opened("a", place)
    with closing(sqlite3.connect(folder("a") / FILE)) as db:
        assert db.execute("SELECT first FROM submissions").fetchall() == [(1,)]
    assert keys(place) == []


def test_one_of_another_version_is_refused(place, opened):
    transact(place, [put(f"dardis/{place.name}/service".encode(), b"99 x")])
    with pytest.raises(InputError, match="version 99"):
        opened("a", place)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (f"log/{2:016d}", b""), (f"log/{2:016d}", b"0\nnone"), (f"log/{2:016d}", b"0\n{}"),
        (f"log/{2:016d}", b"1\n{}"), (f"log/{3:016d}", b"0\n{}"), ("base", b"x"), ("base", b"5 1"), ("epoch", b"x"),
        ("epoch", b""), ("service", b""),
    ],
)  # fmt: skip
def test_one_that_is_damaged_is_told_in_a_line(place, opened, kind, value):
    journal = opened("a", place)
    journal.write(Batch([row(1)]))
    journal.close()
    transact(place, [put(f"dardis/{place.name}/{kind}".encode(), value)])
    with pytest.raises(InputError, match=f"{place.name}: is "):
        opened("b", place)


def test_no_etcd_is_told_in_a_line(monkeypatch, opened):
    monkeypatch.setattr(journals, "Etcd", lambda place, _=0.0: Etcd(place, 0.0))
    nobody = journal_place(f"etcd://127.0.0.1:{free_ports(1)[0]}", None, None, None)()
    with pytest.raises(JournalError, match=r"main: no answer \(127\.0\.0\.1:\d+: .*refused"):
        opened("a", nobody)


def test_three_members_of_which_one_dies(tmp_path, opened):
    with etcd(tmp_path, 3) as cluster:
        place = cluster.place()
        journal = opened("a", place)
        number = 0
        for at in range(3):
            for _ in range(5):
                number += 1
                journal.write(Batch([row(number)]))
            cluster.kill(at)
            for _ in range(5):  # two are left
                number += 1
                journal.write(Batch([row(number)]))
            cluster.begin(at)
            cluster.ready()
        cluster.kill(1)
        cluster.kill(2)
        with pytest.raises(JournalError, match="no answer"):
            journal.write(Batch([row(number + 1)]))
        cluster.begin(1)
        cluster.ready()
        try:
            journal.write(Batch([row(number + 2)]))
        except JournalError as error:
            assert "that holds now" in str(error)  # noqa: PT017 (either is right)
            journal.write(Batch([row(number + 2)]))
        before = everything(journal)
        assert [found[0].first for found in before[0]][:number] == [*range(1, number + 1)]
        journal.close()
        again = opened("b", place)
        assert everything(again) == before
        again.close()


CERTIFICATES = """
set -e
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ca
for who in server client; do
    openssl req -newkey rsa:2048 -nodes -keyout $who.key -out $who.csr -subj /CN=$who
    printf 'subjectAltName=IP:127.0.0.1\\nextendedKeyUsage=serverAuth,clientAuth\\n' > $who.ext
    openssl x509 -req -in $who.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $who.ext -out $who.pem
done
openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -days 2 -subj /CN=other
"""


def test_certificates_on_both_sides(tmp_path, monkeypatch, opened):
    patience = 10.0
    subprocess.run(["bash", "-c", CERTIFICATES], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setattr(journals, "Etcd", lambda place, _=0.0: Etcd(place, patience))
    files = {name: tmp_path / name for name in ("ca.pem", "client.pem", "client.key", "other.pem", "other.key")}
    cluster = Cluster(
        tmp_path, 1, ["--cert-file", tmp_path / "server.pem", "--key-file", tmp_path / "server.key",
                      "--trusted-ca-file", files["ca.pem"], "--client-cert-auth"], "https",
    )  # fmt: skip
    try:
        text = cluster.text("tls")
        good = journal_place(text, files["ca.pem"], files["client.pem"], files["client.key"])()
        journal = opened("a", good)
        patience = 0.0
        journal.write(Batch([row(1)]))
        journal.close()
        for wrong in (
            journal_place(text, files["ca.pem"], files["other.pem"], files["other.key"])(),
            journal_place(text, files["other.pem"], files["client.pem"], files["client.key"])(),
            journal_place(text, None, None, None)(),
        ):
            with pytest.raises(JournalError, match="no answer"):
                opened("b", wrong)
    finally:
        cluster.end()


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("http://a", 0, "--journal: can't be understood (http://a); expected etcd://"),
        ("etcd://", 0, "--journal: can't be understood (etcd://)"),
        ("etcd://localhost/a/b", 0, "--journal: can't be understood"),
        ("etcd://localhost:x", 0, "--journal: has an endpoint that can't be understood (localhost:x)"),
        ("etcd://localhost,", 0, "--journal: has an endpoint that can't be understood ()"),
        ("etcd://me@localhost", 0, "--journal: has an endpoint that can't be understood (me@localhost)"),
        ("etcd://localhost,head2", 0, "expected --journal-ca and --journal-cert and --journal-key"),
        ("etcd://10.0.0.1", 0, "certificates alone"),
        ("etcd://localhost", 1, "expected --journal-cert and --journal-key"),
        (None, 1, "--journal: is missing"),
        ("etcd://localhost", 3, "--journal-ca: "),
    ],
)
def test_mistakes(tmp_path, text, options, said):
    files = [*[tmp_path / "none.pem"] * options, None, None, None][:3]
    with pytest.raises(InputError) as told:
        journal_place(text, *files)()
    assert said in str(told.value)


def test_a_mistake_is_told_in_a_line(tmp_path):
    words = [sys.executable, "-m", "dardis", "serve", "--folder", tmp_path / "s", "--journal", "etcd://head"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.returncode, len(ran.stderr.splitlines()), (tmp_path / "s").exists()) == (2, 1, False)
    assert "--journal-cert" in ran.stderr


def test_certificates_that_are_none(tmp_path):
    (tmp_path / "none.pem").write_text("none")
    file = tmp_path / "none.pem"
    with pytest.raises(InputError, match="--journal-ca"):
        journal_place("etcd://localhost", file, file, file)()


def test_where_all_users_hand_jobs_in_etcd_needs_certificates():
    with pytest.raises(InputError, match="with --users etcd is trusted by certificates alone"):
        journal_place("etcd://localhost", None, None, None, users=True)


def test_endpoints_and_names():
    place = journal_place("etcd://localhost,127.0.0.1:1,[::1]:2/mine", None, None, None)()
    assert place.endpoints == (("localhost", 2379), ("127.0.0.1", 1), ("::1", 2))
    assert str(place) == "etcd://localhost:2379,127.0.0.1:1,[::1]:2/mine"
    assert journal_place("etcd://localhost", None, None, None)().name == "main"
    assert journal_place(None, None, None, None) is None
