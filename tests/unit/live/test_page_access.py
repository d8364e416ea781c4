"""Links that work once, sessions, and requests of other pages."""

import json
import random
from itertools import count

import pytest

from dardis.live.page_access import LINK_S, MOST_LINKS, MOST_SESSIONS, SESSION_S, PageAccess, is_foreign
from dardis.live.socket_server import PeerUser

ANN, BOB = PeerUser(1000, 100), PeerUser(1001, 100)
ORIGIN = "http://abc.localhost:8080"


def access(known=None):
    numbers = count()
    return PageAccess(lambda: f"key{next(numbers)}", known)


def test_a_link_works_once_for_its_user_within_its_time():
    page = access()
    key = page.new_link(ANN, 10.0)
    assert page.has_link(key, 10.0 + LINK_S - 1)
    cookie = page.open_link(key, 11.0, 1e9)
    assert page.user(cookie, 1e9) == ANN
    assert page.open_link(key, 11.0, 1e9) is None
    late = page.new_link(BOB, 10.0)
    assert not page.has_link(late, 10.0 + LINK_S)
    assert page.open_link(late, 10.0 + LINK_S, 1e9) is None


def test_a_cookie_ends_with_its_time_or_on_request():
    page = access()
    first, second = (page.open_link(page.new_link(who, 0.0), 0.0, 1e9) for who in (ANN, BOB))
    assert page.user(first, 1e9 + SESSION_S - 1) == ANN
    assert page.user(first, 1e9 + SESSION_S) is None
    page.close(second)
    assert page.user(second, 1e9) is None


def test_sessions_outlive_the_service_and_the_file_has_no_cookie():
    page = access()
    cookie = page.open_link(page.new_link(ANN, 0.0), 0.0, 1e9)
    text = json.dumps(page.as_dict())
    assert cookie not in text
    again = access(json.loads(text))
    assert (again.host, again.cookie) == (page.host, page.cookie)
    assert again.user(cookie, 1e9) == ANN
    assert again.user("key0", 1e9) is None


@pytest.mark.parametrize("seed", range(20))
def test_nobody_gets_in_but_by_an_own_link(seed):
    """Random links, uses and times against a list of what each key must do."""
    rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
    page, links, cookies, now = access(), {}, {}, 0.0
    for _ in range(300):
        now += rng.choice([0, 1, 100])
        match rng.randrange(4):
            case 0:
                who = rng.choice([ANN, BOB])
                links[page.new_link(who, now)] = (who, now + LINK_S)
            case 1 if links:
                key = rng.choice([*links])
                who, until = links.pop(key)
                cookie = page.open_link(key, now, now)
                assert (cookie is not None) == (now < until)
                if cookie is not None:
                    cookies[cookie] = who, now + SESSION_S
            case 2:
                assert page.open_link(rng.choice(["", "key", *cookies]), now, now) is None
            case 3 if cookies:
                page = access(json.loads(json.dumps(page.as_dict()))) if rng.random() < 0.1 and not links else page
                page._fresh_key = lambda: f"r{rng.getrandbits(64)}"
                cookie = rng.choice([*cookies])
                who, until = cookies[cookie]
                assert page.user(cookie, now) == (who if now < until else None)


def test_links_and_sessions_are_bounded_for_each_user():
    page = access()
    of_bob, first = page.new_link(BOB, 0.0), page.new_link(ANN, 0.0)
    keys = [page.new_link(ANN, 0.0) for _ in range(MOST_LINKS)]
    assert not page.has_link(first, 0.0)
    assert page.has_link(keys[-1], 0.0)
    cookie = page.open_link(of_bob, 0.0, 1.0)
    cookies = [page.open_link(page.new_link(ANN, 0.0), 0.0, 1.0) for _ in range(MOST_SESSIONS + 1)]
    assert page.user(cookies[0], 1.0) is None
    assert page.user(cookies[1], 1.0) == ANN
    assert page.user(cookie, 1.0) == BOB


@pytest.mark.parametrize(("headers", "foreign"), [
    ({"Host": "abc.localhost:8080"}, False),
    ({"Host": "ABC.localhost:8080", "Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"}, False),
    ({"Host": "abc.localhost:8080", "Sec-Fetch-Site": "none"}, False),
    ({}, True),
    ({"Host": "localhost:8080"}, True),
    ({"Host": "127.0.0.1:8080"}, True),
    ({"Host": "evil.example:8080"}, True),  # a name that was pointed at this machine
    ({"Host": "abc.localhost:9090"}, True),
    ({"Host": "abc.localhost:8080", "Origin": "http://evil.localhost:8080"}, True),
    ({"Host": "abc.localhost:8080", "Origin": "http://abc.localhost:9090"}, True),
    ({"Host": "abc.localhost:8080", "Origin": "null"}, True),
    ({"Host": "abc.localhost:8080", "Sec-Fetch-Site": "same-site"}, True),
    ({"Host": "abc.localhost:8080", "Sec-Fetch-Site": "cross-site"}, True),
])  # fmt: skip
def test_requests_of_other_pages_are_foreign(headers, foreign):
    assert is_foreign(headers, ORIGIN) is foreign
