from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from job_engine.core.redact import MASK, is_secret_key, redact, redact_text

SECRET_KEYS = """
    password PASSWORD db_password userPassword passwd pwd secret client_secret clientSecret token access_token
    accessToken refreshToken2 api_key apiKey API-KEY X-Api-Key apikey access_key AWSAccessKey private_key authorization
    cookie Proxy-Authorization Set-Cookie session session_id sessionId sessionid sid credentials otp pin card_number
    cardNumber creditCard cvv jwt auth dsn
"""
HARMLESS_KEYS = """
    tokenizer max_tokens token_count author authority secretary pinned pincode pin_code opinion session_title passenger
    keyboard key primary_key compass sidebar side password_policy name status discard_number
"""


@pytest.mark.parametrize("key", SECRET_KEYS.split())
def test_a_key_that_names_a_secret_is_recognised_in_every_spelling(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize("key", HARMLESS_KEYS.split())
def test_a_key_that_only_resembles_one_is_left_alone(key: str) -> None:
    assert not is_secret_key(key)


def test_secrets_are_masked_at_any_depth_and_the_original_is_untouched() -> None:
    value = {"user": "ann", "auth": {"password": "x"}, "rows": [{"token": "t", "n": 1}, ({"apiKey": 5},)]}
    before = json.dumps(value)
    assert redact(value) == {"user": "ann", "auth": MASK, "rows": [{"token": MASK, "n": 1}, [{"apiKey": MASK}]]}
    assert json.dumps(value) == before


def test_true_false_and_null_are_no_secrets() -> None:
    value = {"has_password": True, "token": None, "secret": False}
    assert redact(value) == value


def test_further_keys_can_be_named() -> None:
    assert redact({"Tax-Id": "1", "taxId": "2", "id": 3}, extra_keys=["tax_id"]) == {
        "Tax-Id": MASK,
        "taxId": MASK,
        "id": 3,
    }


def test_json_inside_a_string_is_redacted_too() -> None:
    inner = json.dumps({"credentials": {"a": {"b": "hunter2"}}, "n": 1})
    assert json.loads(redact({"body": inner})["body"]) == {"credentials": MASK, "n": 1}
    harmless = '{"a":   1}'
    assert redact({"body": harmless}) == {"body": harmless}


def test_a_value_that_contains_itself_ends() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert MASK in str(redact(circle))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password=hunter2 user=ann", f"password={MASK} user=ann"),
        ("connect(password='a b', user='ann')", f"connect(password='{MASK}', user='ann')"),
        ('{"token": "ab\\"c", "n": 1}', f'{{"token": "{MASK}", "n": 1}}'),
        ("{'api_key': b'abc', 'n': 1}", f"{{'api_key': {MASK}, 'n': 1}}"),
        ('"pin": 1234}', f'"pin": {MASK}}}'),
        ('"credentials": {"a": {"b": "x"}, "c": [1]}, "n": 1', f'"credentials": {MASK}, "n": 1'),
        ("Authorization: Bearer abc.def", f"Authorization: {MASK}"),
        ("curl -H 'Authorization: Basic YWJj' https://x", f"curl -H 'Authorization: {MASK}' https://x"),
        ("Cookie: sid=abc; theme=dark\nAccept: */*", f"Cookie: {MASK}\nAccept: */*"),
        ("got bearer abcdefghijklmnop1234", f"got bearer {MASK}"),
        ("postgresql://ann:p@ss@db:5432/x", f"postgresql://ann:{MASK}@db:5432/x"),
        ("redis://:hunter2@cache/0", f"redis://:{MASK}@cache/0"),
        ("https://0123456789abcdef0123@git.example/x", f"https://{MASK}@git.example/x"),
        ("GET https://x/?a=1&api_key=zzz&b=2", f"GET https://x/?a=1&api_key={MASK}&b=2"),
        ("url=https://x/?access_token=zzz", f"url=https://x/?access_token={MASK}"),
        ("Server=x;Password=a,b;Db=c", f"Server=x;Password={MASK};Db=c"),
        ("mysqldump --password hunter2 db", f"mysqldump --password {MASK} db"),
        ("['mysqldump', '--password', 'hunter2']", f"['mysqldump', '--password', '{MASK}']"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", MASK),
        ("key sk_live_0123456789abcdef given", f"key {MASK} given"),
        ("password = 'never closed\nnext line", f"password = {MASK}\nnext line"),
    ],
)
def test_a_secret_in_free_text_is_masked(text: str, expected: str) -> None:
    assert redact_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'password'",
        "tokenizer=fast author: Ann pinned=3",
        'if token == expected: "password": null',
        "http://host:80/path?email=a@b",
        "ssh://git@example.org/x",
        'File "app.py", line 3, in main',
        "",
    ],
)
def test_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert redact_text(text) == text


def test_json_that_was_escaped_once_more_does_not_leak() -> None:
    assert "hunter2" not in redact_text(json.dumps(json.dumps({"password": "hunter2", "a": 1})))


@given(st.text(alphabet="abcXYZ019!#$%*+-./@^~", min_size=1).filter(lambda s: s.lower() not in ("null", "none")))
def test_no_quoted_secret_leaks(secret: str) -> None:
    needle = f"<{secret}>"
    for text in (f'{{"password": "{needle}"}}', f"f(token='{needle}')", f'--secret "{needle}" x'):
        assert needle not in redact_text(text)


PIECES = [
    *(
        "a",
        "a=",
        "a: ",
        "a-",
        " ",
        "\n",
        "\\",
        '"',
        "'",
        "@",
        "password",
        "password=",
        "authorization: ",
        "--a ",
        "ghp_",
    ),
    *(
        'token="',
        "token='",
        'token=\\"',
        'token="\\',
        "token=[",
        "token={\n",
        "bearer ",
        "bearer a",
        "eyJ",
        "eyJaaaaaaaaaaaa.",
    ),
    *("://", "://a:", "://a:b", "://" + "a" * 300, "-----BEGIN PRIVATE KEY-----"),
]


@pytest.mark.parametrize("piece", PIECES)
def test_a_megabyte_of_anything_takes_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        redact_text(text)
        return time.process_time() - start

    # Quadratic patterns need minutes for this; the bound leaves a slow machine all the room it wants.
    assert seconds(1_000_000) < 10
