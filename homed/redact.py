"""Takes secrets out of text before it is stored, logged or shown (fault D6).

Deterministic, idempotent and linear in the length of the text: every pattern either starts at a literal or is bounded,
so no input makes it slow.  What is found becomes ``[secret:KIND]``.  Patterns find what looks like a key; ``Redactor``
also takes out the keys that are configured here, whatever they look like.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import quote

SHORTEST_KNOWN = 8
"""Characters a configured secret must have to be searched for; a shorter one would tear up ordinary text."""

DEEPEST = 100
"""Levels of nesting looked into; what lies deeper is left out as a whole."""

_DIGIT_SOON = r"(?=[A-Za-z_.~+/=-]{0,40}[0-9])"

_TOKENS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (kind, needle, re.compile(rf"(?<![A-Za-z0-9]){pattern}"))
    for kind, needle, pattern in (
        ("key", "sk-", rf"sk-{_DIGIT_SOON}[A-Za-z0-9_-]{{16,}}"),
        ("key", "sk_", r"sk_(?:live|test)_[A-Za-z0-9]{16,}"),
        ("key", "rk_", r"rk_(?:live|test)_[A-Za-z0-9]{16,}"),
        ("key", "gsk_", r"gsk_[A-Za-z0-9]{20,}"),
        ("key", "xai-", r"xai-[A-Za-z0-9]{20,}"),
        ("key", "AIza", r"AIza[A-Za-z0-9_-]{30,}"),
        ("key", "hf_", r"hf_[A-Za-z0-9]{20,}"),
        ("key", "r8_", r"r8_[A-Za-z0-9]{30,}"),
        ("key", "csk-", r"csk-[A-Za-z0-9]{30,}"),
        ("key", "pplx-", r"pplx-[A-Za-z0-9]{30,}"),
        ("key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{40,}"),
        ("key", "tgp_v1_", r"tgp_v1_[A-Za-z0-9_-]{40,}"),
        ("key", "hk_", r"hk_[A-Za-z0-9_-]{43}"),  # our own API keys
        ("aws", "AKIA", r"AKIA[A-Z0-9]{16,}"),
        ("aws", "ASIA", r"ASIA[A-Z0-9]{16,}"),
        ("key", "AKID", r"AKID[A-Za-z0-9]{28,}"),
        ("key", "LTAI", rf"LTAI{_DIGIT_SOON}[A-Za-z0-9]{{12,}}"),
        *(("github", f"gh{kind}_", rf"gh{kind}_[A-Za-z0-9]{{20,}}") for kind in "pousr"),
        ("github", "github_pat_", r"github_pat_[A-Za-z0-9_]{20,}"),
        ("gitlab", "glpat-", r"glpat-[A-Za-z0-9_-]{16,}"),
        ("slack", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
        ("token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
        ("token", "pypi-", r"pypi-[A-Za-z0-9_-]{40,}"),
        ("token", ":AA", r"[0-9]{8,12}:AA[A-Za-z0-9_-]{30,}"),
        ("jwt", "eyJ", r"(?<![_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{5,}"),
    )
)
_BEARER = re.compile(rf"\b(bearer[ \t]{{1,8}}){_DIGIT_SOON}[A-Za-z0-9._~+/=-]{{16,}}", re.IGNORECASE)
_AUTHORIZATION = re.compile(
    r"(authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:basic|bearer|token)[ \t]{1,8})[A-Za-z0-9._~+/=-]{6,}",
    re.IGNORECASE,
)
_URL = re.compile(r"(://[^\s/:@]{0,64}:)[^\s/@]{1,256}@")
# Of a header that holds cookies each value goes; what only says how they are kept stays.
_COOKIES = re.compile(r"\bcookies?[\"']?[ \t]{0,4}[:=][ \t]{0,4}(?=[^\r\n]{0,64}=)", re.IGNORECASE)
_COOKIE = re.compile(
    r"((?<![A-Za-z0-9_.-])(?!(?:path|domain|expires|max-age|samesite|version)=)[A-Za-z0-9_.-]{1,64}=)"
    r"(?!\[secret:)[^\s;,\"'\\]{8,}",
    re.IGNORECASE,
)
_LINE = 4096
"""Characters looked at of such a header."""

_ENCODED = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}+={0,2}")
_URL_SAFE = str.maketrans("-_", "+/")
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")

# A name that a value follows.  Matched only where one of the stems stands, which ``str.find`` finds far faster than any
# alternation could be searched for; so what belongs before a stem ("api_key") is looked back at.
_STEMS = ("pass", "pwd", "secret", "token", "credential", "key")
_BEFORE_KEY = "|".join(
    rf"(?<={word}{mark})" for word in ("api", "access", "secret", "private", "auth") for mark in ("", "[_-]")
)
_PASSWORD = r"pass(?:word|wd|phrase)|pwd"
_NAMED = rf"secret|token|credentials?|(?:{_BEFORE_KEY})key(?:[_-]?id)?"
_VALUE = r"[^\s\"'`,;&<>(){}\[\]\\]"
_SPOKEN = r"[!-Z\\^-~]"  # printable ASCII but the brackets of our marker
_HARMLESS = r"(?!(?:none|null|nil|true|false|undefined|required|optional|string|str)\b)"
_ANY = rf"(?:{_PASSWORD}|{_NAMED})"
_DIGIT_IN_WORD = r"(?=[!-~]{0,64}[0-9])"
# (name and what stands between, value).  What calls or looks something up is code, not a value: such a value is looked
# at for 256 characters, so that no input is looked at over and over, and then taken whole.
_ASSIGNMENTS = tuple(
    re.compile(f"({name}){value}", re.IGNORECASE)
    for name, value in (
        (
            rf"{_ANY}(?:\\?[\"'])?[ \t]{{0,4}}[:=][ \t]{{0,4}}\\?[\"']",
            r"(?!\[secret:)[^\"'\\\n]{4,}+(?=\\?[\"'])",
        ),
        (
            rf"{_ANY}[\"']?[ \t]{{0,4}}=[ \t]{{0,4}}[\"']?",
            rf"(?![/$]){_HARMLESS}{_VALUE}{{4,256}}+(?![(\[.]){_VALUE}*+",
        ),
        (rf"(?:{_PASSWORD})[ \t]{{0,4}}(?::|：|is\b|was\b)[ \t]{{0,4}}", rf"{_DIGIT_IN_WORD}{_SPOKEN}{{4,}}+"),
        (rf"(?:{_NAMED})[ \t]{{0,4}}(?::|：|is\b)[ \t]{{0,4}}", rf"{_DIGIT_IN_WORD}{_SPOKEN}{{8,}}+"),
    )
)
_OPEN_VALUE = re.compile(rf"({_ANY}(?:\\?[\"'])?[ \t]{{0,4}}[:=][ \t]{{0,4}}\\?[\"'])[^\"'\\\n]*\Z", re.IGNORECASE)
"""A value in quotes that have not been closed yet."""
_CHINESE = re.compile(r"((?:密码|口令|密钥|秘钥)(?:是|为|：|:|=){1,2}[ \t]{0,4})(?!\[secret:)" + _SPOKEN + "{4,}")
_PASSWORD_NAME = re.compile(rf"(?:{_PASSWORD})$", re.IGNORECASE)
_SECRET_NAME = re.compile(rf"(?:{_PASSWORD}|{_NAMED})$", re.IGNORECASE)
_ONE_WORD = re.compile(r"[!-~]+")
_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def marker(kind: str) -> str:
    """What stands in place of a secret of that kind."""
    return f"[secret:{kind}]"


MARKER = re.compile(r"(\[secret:[a-z_]{1,20}\])")
"""What `marker` gives."""


def redact(text: str) -> str:
    """The text with everything that looks like a secret replaced by ``[secret:KIND]``, also where it is in base64."""
    return _redact_encoded(_redact_plain(text), redact)


def _redact_plain(text: str) -> str:
    text = _redact_key_blocks(text)
    for kind, needle, pattern in _TOKENS:
        if needle in text:
            text = pattern.sub(marker(kind), text)
    if "://" in text:
        text = _URL.sub(rf"\g<1>{marker('password')}@", text)
    lowered = text.lower()
    if "authorization" in lowered:
        text = _AUTHORIZATION.sub(rf"\g<1>{marker('token')}", text)
    if "bearer" in lowered:
        text = _BEARER.sub(rf"\g<1>{marker('token')}", text)
    if "cookie" in lowered:
        text = _redact_cookies(text)
    text = _redact_assignments(text)
    if "密" in text or "口令" in text or "秘钥" in text:
        text = _CHINESE.sub(rf"\g<1>{marker('password')}", text)
    return text


def _redact_cookies(text: str) -> str:
    kept: list[str] = []
    place = 0
    while header := _COOKIES.search(text, place):
        newline = text.find("\n", header.end(), header.end() + _LINE)
        end = newline if newline >= 0 else min(len(text), header.end() + _LINE)
        kept += [text[place : header.end()], _COOKIE.sub(rf"\g<1>{marker('cookie')}", text[header.end() : end])]
        place = end
    return "".join([*kept, text[place:]]) if kept else text


def _redact_encoded(text: str, clean: Callable[[str], str]) -> str:
    """What is text in base64, and holds a secret, goes whole."""

    def checked(found: re.Match[str]) -> str:
        said = _decoded(found[0])
        return found[0] if said is None or clean(said) == said else marker("encoded")

    return _ENCODED.sub(checked, text)


def _decoded(run: str) -> str | None:
    """The text that it is in base64, of either alphabet, with or without its end; None if it is none."""
    run = run.rstrip("=").translate(_URL_SAFE)
    run = run[:-1] if len(run) % 4 == 1 else run  # a letter of what follows
    said = binascii.a2b_base64(run + "=" * (-len(run) % 4))
    try:
        text = said.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if _NO_TEXT.search(text) else text


def _redact_assignments(text: str) -> str:
    """``password=hunter2``, ``"token": "…"``, ``api_key is …``: the name stays, the value goes."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a letter whose lower case is two characters would shift every place
        lowered = text.translate(_ASCII_LOWER)
    kept: list[str] = []
    done = 0
    for place in sorted(place for stem in _STEMS for place in _places(lowered, stem)):
        if place < done or (place and MARKER.match(text, place - 1)):
            continue
        match = next((m for pattern in _ASSIGNMENTS if (m := pattern.match(text, place))), None)
        if match is not None:
            kept += [text[done : match.end(1)], marker("password" if lowered[place] == "p" else "key")]
            done = match.end()
    return "".join([*kept, text[done:]]) if kept else text


def _places(text: str, stem: str, begin: int = 0) -> Iterator[int]:
    place = text.find(stem, begin)
    while place >= 0:
        yield place
        place = text.find(stem, place + 1)


def _redact_key_blocks(text: str) -> str:
    """Private key blocks go whole; one without an end (cut off) goes to the end of the text."""
    if "PRIVATE KEY" not in text:
        return text
    kept: list[str] = []
    place = 0
    while begin := _KEY_BEGIN.search(text, place):
        kept += [text[place : begin.start()], marker("private_key")]
        end = _KEY_END.search(text, begin.end())
        place = end.end() if end else len(text)
    return "".join([*kept, text[place:]])


def open_key_block(text: str) -> int:
    """Where a private key block begins whose end has not come yet; -1 if there is none."""
    place = 0
    while begin := _KEY_BEGIN.search(text, place):
        end = _KEY_END.search(text, begin.end())
        if end is None:
            return begin.start()
        place = end.end()
    return -1


def open_value(text: str) -> int:
    """Where a named value in quotes begins, at the end of ``text``, whose closing quote has not come; -1 for none."""
    line = text.rfind("\n") + 1
    lowered = text.translate(_ASCII_LOWER)
    for place in sorted(place for stem in _STEMS for place in _places(lowered, stem, line)):
        if found := _OPEN_VALUE.match(text, place):
            return found.end(1)
    return -1


def redact_json(value: object) -> object:
    """The same for a JSON value: every string, key and nested value; ``{"password": …}`` loses its value whole."""
    return _walk(value, redact, 0)


def redact_with(value: object, clean: Callable[[str], str]) -> object:
    """The same with a ``clean`` of one's own for each text."""
    return _walk(value, clean, 0)


_RUN = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*+[0-9])(?=[0-9]*+[A-Za-z])[A-Za-z0-9]{12,}+")
_LIKE_KEY = dict.fromkeys(("sk-", "pypi-", "github_pat_"), _RUN) | {"xox": re.compile("[0-9]{9}")}
"""What a key has behind a beginning behind which words may stand, too: sk-learn, xoxo-your-friend, a package's name."""


def certain(text: str) -> dict[str, str]:
    """Every key in a text that can hardly be anything else, with its kind.

    Far fewer than `redact` takes out, for whoever refuses a text instead: what is named a password, is in an address or
    in base64 is none, and of what begins as names of words do, too, only what goes on as a key does.
    """
    found = {
        key: kind
        for kind, needle, pattern in _TOKENS
        if needle in text
        for key in pattern.findall(text)
        if needle not in _LIKE_KEY or _LIKE_KEY[needle].search(key)
    }
    return found | dict.fromkeys(_KEY_BEGIN.findall(text), "private_key")


_TELLING = re.compile(r"auth|key|token|secret|passw|cookie|session|credential|signature", re.IGNORECASE)
_TELLING_LEAST, _TELLING_MIXED = 20, 16
_MIXED = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])")


def telling_words(name: str, value: str) -> list[str]:
    """The words of an HTTP header that are worth searching for as secrets.

    All of one whose name says that it holds a key; of another only what looks like one, since what is a title, an
    address or a version there would be torn out of every text.
    """
    words = [word for word in re.split(r"[\s;,]+", value) if len(word) >= SHORTEST_KNOWN]
    if _TELLING.search(name):
        named = [word.partition("=")[2] for word in words]  # of a cookie also what it is without its name
        return words + [word for word in named if len(word) >= SHORTEST_KNOWN]
    return [
        word
        for word in words
        if len(word) >= (_TELLING_MIXED if _MIXED.match(word) else _TELLING_LEAST)
        and "://" not in word
        and re.search(r"\d", word)
        and re.search(r"[A-Za-z]", word)
    ]


class Redactor:
    """``redact`` that also knows the secrets configured here.

    ``known`` are the secrets themselves; those under ``SHORTEST_KNOWN`` characters are not searched for.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._parted: list[str] = []
        self.know(known)

    def know(self, secrets: Iterable[str]) -> None:
        """Add secrets, also in the form they take in JSON and in URLs."""
        for secret in secrets:
            stripped = secret.strip()
            # A secret that is part of our own marker would grow it at every pass.
            if len(stripped) >= SHORTEST_KNOWN and stripped not in marker("configured"):
                self._known |= {stripped, quote(stripped, safe=""), json.dumps(stripped)[1:-1]}
        longest_first = sorted(self._known, key=lambda s: (-len(s), s))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._parted = [secret for secret in longest_first if not _ONE_WORD.fullmatch(secret)]

    def begun(self, text: str, end: int) -> int:
        """Where a known secret of several words, or in another script, may have begun in ``text`` before ``end`` and is
        not whole there; -1 if none has.  Of one word, whoever streams holds the last word back."""
        return min((at for secret in self._parted if (at := _begun(text, end, secret)) >= 0), default=-1)

    def redact(self, text: str) -> str:
        """The text without known secrets and without what looks like one."""
        if self._pattern is not None:
            text = self._pattern.sub(marker("configured"), text)
        return _redact_encoded(_redact_plain(text), self.redact)

    def redact_json(self, value: object) -> object:
        """The same for a JSON value, as the function of that name."""
        return _walk(value, self.redact, 0)

    def __repr__(self) -> str:
        return f"Redactor({len(self._known)} known)"


def _begun(text: str, end: int, secret: str) -> int:
    """Where ``secret`` stands in ``text`` across ``end``, as much of it as has come; -1 if it does not."""
    place = text.find(secret[0], max(0, end - len(secret) + 1), end)
    while place >= 0 and not secret.startswith(text[place : place + len(secret)]):
        place = text.find(secret[0], place + 1, end)
    return place


def _walk(value: object, clean: Callable[[str], str], depth: int) -> object:
    if isinstance(value, str):
        return clean(value)
    if depth >= DEEPEST and isinstance(value, (Mapping, list, tuple)):
        return "[too deep]"
    if isinstance(value, Mapping):
        return {clean(str(key)): _under(str(key), item, clean, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_walk(item, clean, depth + 1) for item in value]
    return value


def _under(key: str, value: object, clean: Callable[[str], str], depth: int) -> object:
    if isinstance(value, str) and value and _SECRET_NAME.search(key):
        return marker("password" if _PASSWORD_NAME.search(key) else "key")
    return _walk(value, clean, depth)
