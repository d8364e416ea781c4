import base64
import os
import sqlite3
import subprocess
import sys
from itertools import count

import pytest
from kit.etcd import Between, Cluster, end_lease, etcd, free_ports, keys

from dardis.live import etcd as etcds
from dardis.live import etcd_journal as journals
from dardis.live.etcd import Etcd, journal_address
from dardis.live.etcd_journal import EtcdJournal, SupersededError
from dardis.live.journal import FILE, Batch, JournalError, SubmissionRow, read_instants
from dardis.model.errors import InputError

NAMES = (f"j{number}" for number in count())


def row(first, count=1, key=None, over=False, asker=7):
    return SubmissionRow(first, count, asker, key, over, f"value {first}")


def everything(journal):
    return (
        [(*found, become) for *found, become in journal.unfinished()],
        journal.next_job(),
        (journal.drains(), journal.setting("cap")),
    )


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


def test_journal_is_restored_on_another_disk_and_epochs_increase(place, opened, folder):
    journal = opened("a", place)
    assert (journal.epoch, journal.next_job()) == (1, 1)
    journal.write(Batch([row(1, 3, "k"), row(4)], [(2, "endet ä\n")], ["a"], {"n0": "why"}, {"cap": "9"}))
    journal.write(Batch(instants=["only told"]))
    journal.write(Batch([row(4, over=True)], [(4, "done"), (2, "again")], ["b"], {"n1": "x", "n0": ""}))
    before = everything(journal)
    assert before == ([(row(1, 3, "k"), {2: "again"})], 5, ({"n1": "x"}, "9"))
    journal.close()
    again = opened("a", place)
    assert (again.epoch, everything(again)) == (2, before)
    assert list(read_instants(folder("a"))) == ["a", "only told", "b"]
    again.close()
    elsewhere = opened("b", place)
    assert (elsewhere.epoch, everything(elsewhere)) == (3, before)
    assert elsewhere.find(7, "k") == (1, 3)
    assert elsewhere.find_job(4) == (row(4, over=True), "done")
    assert (folder("b") / FILE).stat().st_mode & 0o777 == 0o600
    elsewhere.close()
    first = opened("a", place)  # two epochs behind, and what was written there is there
    assert (first.epoch, everything(first)) == (4, before)


def test_superseded_service_cannot_write(place, opened):
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


def test_journal_in_use_is_refused_until_its_lease_ends(place, monkeypatch, opened):
    monkeypatch.setattr(journals, "WAIT_S", 0.5)
    monkeypatch.setattr(journals, "LEASE_S", 60)
    alive = opened("a", place)
    with pytest.raises(InputError, match=rf"has a service already \(process {os.getpid()} on "):
        opened("b", place)
    alive.write(Batch([row(1)]))  # nothing has come of that
    alive._etcd.request("lease/revoke", {"ID": str(alive._lease)})
    alive._renew()  # too late, but nobody came
    with pytest.raises(InputError, match="has a service already"):
        opened("b", place)
    alive._db.close()
    again = opened("a", place)  # killed: the same folder need not wait
    assert again.epoch == 2
    again.close()
    opened("b", place).close()  # ended: nobody need wait


@pytest.mark.parametrize("lost", ["answer", "request", "late"])
@pytest.mark.parametrize("big", [False, True])
def test_write_with_unknown_outcome_is_resolved(one, between, lost, big, opened):
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
        with pytest.raises(JournalError, match="an earlier write without an answer was stored"):
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


def test_long_log_is_compacted_to_rows(place, monkeypatch, opened):
    monkeypatch.setattr(journals, "MOST_LOG", 60_000)
    monkeypatch.setattr(journals, "PIECE", 3000)
    monkeypatch.setattr(journals, "KEPT", 20)
    journal = opened("a", place)
    journal.write(Batch([row(1, 50)], [(3, "early")], drains={"n": "why"}, settings={"cap": "9"}))
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
        journal._etcd.request("kv/range", {"key": "YQ==", "revision": "1"})
    before = everything(journal)
    journal.close()
    again = opened("b", place)
    assert everything(again) == before
    assert again.find(7, "k349") == (349, 1)
    assert again.find(7, "k51") is None  # over for long
    assert again.find_job(350)[1] == "é" * 50
    again.write(Batch([row(400)]))
    again.close()
    first = opened("a", place)  # it needs the log alone
    assert first.find(7, "k51") == (51, 1)
    assert first.next_job() == 401


def test_missing_damaged_or_foreign_copy_is_rebuilt(one, opened, folder):
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


def test_commit_in_etcd_holds_although_the_disk_is_full(place, opened):
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
    with pytest.raises(JournalError, match="was stored, and counts"):
        journal.write(Batch([row(2)]))
    assert journal.next_job() == 2
    journal.write(Batch([row(2)]))
    assert len(keys(place, "log")) == 2


def test_missing_etcd_is_one_line(monkeypatch, opened):
    monkeypatch.setattr(journals, "Etcd", lambda place, _=0.0: Etcd(place, 0.0))
    nobody = journal_address(f"etcd://127.0.0.1:{free_ports(1)[0]}", None, None, None)()
    with pytest.raises(JournalError, match=r"main: no answer \(127\.0\.0\.1:\d+: .*refused"):
        opened("a", nobody)


def test_journal_survives_loss_of_one_of_three_members(tmp_path, opened):
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
            assert "was stored, and counts" in str(error)  # noqa: PT017 (either is right)
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
        good = journal_address(text, files["ca.pem"], files["client.pem"], files["client.key"])()
        journal = opened("a", good)
        patience = 0.0
        journal.write(Batch([row(1)]))
        journal.close()
        for wrong in (
            journal_address(text, files["ca.pem"], files["other.pem"], files["other.key"])(),
            journal_address(text, files["other.pem"], files["client.pem"], files["client.key"])(),
            journal_address(text, None, None, None)(),
        ):
            with pytest.raises(JournalError, match="no answer"):
                opened("b", wrong)
    finally:
        cluster.end()


@pytest.mark.parametrize(("text", "options", "said"), [
    ("http://a", 0, "--journal: is invalid (http://a); expected etcd://"),
    ("etcd://", 0, "--journal: is invalid (etcd://)"),
    ("etcd://localhost/a/b", 0, "--journal: is invalid"),
    ("etcd://localhost:x", 0, "--journal: has an invalid endpoint (localhost:x)"),
    ("etcd://localhost,", 0, "--journal: has an invalid endpoint ()"),
    ("etcd://me@localhost", 0, "--journal: has an invalid endpoint (me@localhost)"),
    ("etcd://localhost,head2", 0, "expected --journal-ca and --journal-cert and --journal-key"),
    ("etcd://10.0.0.1", 0, "requires certificates"),
    ("etcd://localhost", 1, "expected --journal-cert and --journal-key"),
    (None, 1, "--journal: is missing"),
    ("etcd://localhost", 3, "--journal-ca: "),
])  # fmt: skip
def test_invalid_journal_options_are_refused(tmp_path, text, options, said):
    files = [*[tmp_path / "none.pem"] * options, None, None, None][:3]
    with pytest.raises(InputError) as told:
        journal_address(text, *files)()
    assert said in str(told.value)


def test_journal_option_error_is_one_line(tmp_path):
    words = [sys.executable, "-m", "dardis", "serve", "--folder", tmp_path / "s", "--journal", "etcd://head"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.returncode, len(ran.stderr.splitlines()), (tmp_path / "s").exists()) == (2, 1, False)
    assert "--journal-cert" in ran.stderr


def test_invalid_certificates_are_refused(tmp_path):
    (tmp_path / "none.pem").write_text("none")
    file = tmp_path / "none.pem"
    with pytest.raises(InputError, match="--journal-ca"):
        journal_address("etcd://localhost", file, file, file)()


def test_service_for_all_users_requires_etcd_certificates():
    with pytest.raises(InputError, match="etcd with --users requires certificates"):
        journal_address("etcd://localhost", None, None, None, users=True)
