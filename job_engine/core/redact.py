"""Takes secrets out of what is shown, logged or kept about a job.

A key is split into words (`apiKey`, `api-key` and `API_KEY` are all "api key") and compared word by word, so that
"tokenizer", "author", "secretary" and "pinned" stay as they are. True, false and null are kept: they are no secret, and
`has_password: true` helps whoever reads it.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "********"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Secret wherever the word stands in a key.
_WORDS = _set(
    "password passwords passwd passcode passphrase pwd secret secrets token apikey authorization cookie cookies"
    " credential credentials creds otp totp cvv cvc jwt sid sessionid dsn"
)
# Secret only as a key's last word: a "session id" is listed below, "session title" and "pin code" (an address) are not.
_LAST_WORDS = _set("session pin auth pass")
_PHRASES = (
    ("api", "key"),
    ("access", "key"),
    ("private", "key"),
    ("encryption", "key"),
    ("signing", "key"),
    ("auth", "key"),
    ("session", "id"),
    ("session", "key"),
    ("card", "number"),
    ("credit", "card"),
    ("security", "code"),
    ("connection", "string"),
)
# A key that ends in one of these tells something about a secret and is none: token_count, password_policy.
_ABOUT = _set("count limit length size type policy expiry expires ttl status name strength")

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_MAX_DEPTH = 100  # nothing the engine stores is deeper; the bound also ends a cycle


@functools.lru_cache(maxsize=4096)
def is_secret_key(key: str) -> bool:
    words = tuple(word.lower() for word in _WORD.findall(key[:200]))
    if not words or words[-1] in _ABOUT:
        return False
    if words[-1] in _LAST_WORDS or not _WORDS.isdisjoint(words):
        return True
    return any(_contains(words, phrase) for phrase in _PHRASES)


def _contains(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    size = len(phrase)
    return any(words[i : i + size] == phrase for i in range(len(words) - size + 1))


def redact(value: Any, extra_keys: Iterable[str] = ()) -> Any:
    """A copy of a JSON-like value without its secrets. `extra_keys` are secret too, compared without case, - and _."""
    return _redact(value, frozenset(_plain(key) for key in extra_keys), 0)


def _redact(value: Any, extra: frozenset[str], depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return MASK
    if isinstance(value, Mapping):
        return {
            key: MASK if _hides(str(key), item, extra) else _redact(item, extra, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_redact(item, extra, depth + 1) for item in value]
    return _redact_string(value, extra, depth) if isinstance(value, str) else value


def _hides(key: str, item: Any, extra: frozenset[str]) -> bool:
    if item is None or isinstance(item, bool):
        return False
    return is_secret_key(key) or (bool(extra) and _plain(key) in extra)


def _plain(key: str) -> str:
    return key.replace("-", "").replace("_", "").lower()


def _redact_string(text: str, extra: frozenset[str], depth: int) -> str:
    if text[:1] in ("{", "["):
        try:
            loaded = json.loads(text)
            clean = _redact(loaded, extra, depth + 1)
            return text if clean == loaded else json.dumps(clean, ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
    return redact_text(text)


# Free text -----------------------------------------------------------------------------------------------------------
# Each pattern is linear: a repetition is bounded, or what follows it cannot fail, or it can start only once in a word.

_PEM = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?")
_USERINFO = re.compile(r"""(?<=://)([^\s/@:?#"'<>]{0,256}):[^\s/?#"'<>]{1,1024}@""")
_TOKEN_AS_USER = re.compile(r"(?<=://)[\w-]{20,512}@")
_BEARER = re.compile(r"(?i)(?<![\w-])(bearer\s{1,4})[\w.~+/=-]{16,}")
_KNOWN_SHAPES = re.compile(
    r"(?<![\w-])(?:(?:sk|pk|rk)_(?:live|test)_\w{8,}|gh[pousr]_\w{20,}|AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
_KEY = re.compile(
    r"""(?<![\w-])(?:--(?P<flag>[A-Za-z][\w-]{0,63})(?:\s{0,4}=|['"]?,?[ ])\s{0,4}"""  # --password x, '--password', 'x'
    r"""|(?P<name>[A-Za-z_][\w-]{0,63})(?:\\{0,3}["'])?\s{0,4}(?:=>|:=|[:=](?!=))\s{0,4})"""  # name=x, "name": "x"
)
_DOUBLE = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?'
_SINGLE = r"'[^'\\\n]*(?:\\.[^'\\\n]*)*'?"
_ESCAPED = r'\\{1,3}"[^"\\\n]*(?:\\{1,3}")?'  # JSON inside JSON
_VALUE = re.compile(
    rf"(?:[A-Za-z_][\w.]{{0,63}}\()?[bBuUrRfF]{{0,2}}(?:{_DOUBLE}|{_SINGLE})|{_ESCAPED}"  # also b'x', SecretStr('x')
    r"""|[^\s&;"'<>]+"""
)
_HEADER_VALUE = re.compile(r"""[^\n"'\\]+""")  # Authorization and Cookie have spaces in their values
_HEADER_WORDS = ("authorization", "cookie")
_BRACKET = re.compile(r"[\[\]{}\n]")
_NO_SECRETS = frozenset({"null", "none", "true", "false"})
_CLOSERS = ",)]}"


def redact_text(text: str) -> str:
    """`text` without the secrets that show themselves: key=value, headers, URLs with a password, well-known tokens."""
    if "://" in text:
        text = _USERINFO.sub(rf"\1:{MASK}@", text)
        text = _TOKEN_AS_USER.sub(f"{MASK}@", text)
    if "PRIVATE KEY" in text:
        text = _PEM.sub(MASK, text)
    text = _redact_pairs(text)
    text = _BEARER.sub(rf"\1{MASK}", text)
    return _KNOWN_SHAPES.sub(MASK, text)


def _redact_pairs(text: str) -> str:
    """One pass from left to right; only a secret key's value is consumed, so that `url=https://x?token=y` is found."""
    parts: list[str] = []
    done = 0
    found = _KEY.search(text)
    while found:
        end = found.end()
        key = found["flag"] or found["name"]
        if is_secret_key(key) and (value := _value_at(text, end, key)) is not None:
            parts += (text[done:end], _mask(value))
            done = end = end + len(value)
        found = _KEY.search(text, end)
    return "".join(parts) + text[done:] if parts else text


def _value_at(text: str, position: int, key: str) -> str | None:
    quoted = text[position : position + 1] in ("'", '"', "\\")
    header = not quoted and key.lower().endswith(_HEADER_WORDS)
    if text[position : position + 1] in ("[", "{"):
        return _bracketed(text, position)
    match = (_HEADER_VALUE if header else _VALUE).match(text, position)
    if match is None:
        return None
    value = match[0] if quoted or header else match[0].rstrip(_CLOSERS)
    return None if not value or value.lower() in _NO_SECRETS else value


def _bracketed(text: str, position: int) -> str:
    """From an opening bracket to the one that closes it, at most to the end of the line."""
    depth = 0
    for match in _BRACKET.finditer(text, position):
        if match[0] == "\n":
            return text[position : match.start()]
        depth += 1 if match[0] in "[{" else -1
        if depth == 0:
            return text[position : match.end()]
    return text[position:]


def _mask(value: str) -> str:
    """The mask in the value's own quotes, so that quoted text stays readable as such."""
    quote = value[0] if value[0] in "'\"" and value[-1] == value[0] and len(value) > 1 else ""
    return f"{quote}{MASK}{quote}"
