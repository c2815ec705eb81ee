"""Whether what somebody said is said to be so: no question, condition or wish; and what they deny.  Pure.

"Did I move to Berlin?", "if I moved to Berlin" and "I wish I lived in Berlin" hold every word of "I live in Berlin" and
say nothing of the kind.  A statement that is itself told as a question, a wish or a plan is another matter: that the
user wants to move to Berlin was said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from homed.memory import dedupe
from homed.memory.normal import bag

FULL = 0.75
"""Share of a statement, at the least, that another clause must say for it to be said there all the same."""

_SENTENCE = re.compile(r"[^.!?。！？…\n]*(?:\.(?=\w)[^.!?。！？…\n]*)*[.!?。！？…\n]*")
_CLAUSE = re.compile(r"[,.;:!?，。；：！？、\n]+|\s[-–—]+\s|\b(?:and|but|because|и|но|а)\b|但是?|而且|因为|所以")
_OPEN_END = re.compile(
    r"(?:\b(?:not|never|cannot|\w+n['’]t|не|никогда)|\bno longer"
    r"|(?:从|并|绝|决|也|都)?(?:不|没有?|未)(?:再|会|能|想|可以)?)\s*$",
    re.IGNORECASE,
)
_ASIDE_END = re.compile(
    r"\b(?:do|does|did|have|has|had|am|is|are|was|were|will|would|can|could|should)\s*$", re.IGNORECASE
)
"""Where a clause ends that goes on behind what is put between: "I do not, however, ..."."""

BEHIND = 24
"""Characters behind a verb of ending in which stands what ends."""

_AGAIN = re.compile(r"\b(?:i|we|he|she|they)\b|[我他她]", re.IGNORECASE)
_SUBJECT = re.compile(r"^\W*(?:i|we|he|she|they|it|you|my|our|я|мы|он|она|мой|моя)\b|^\W*[我你他她它咱]", re.IGNORECASE)
_BARE_NOT = re.compile(r"^\W*(?:[a-zа-яё'’]+|不|没有?|未)\W*$", re.IGNORECASE)

_ASIDE = 4
"""Words of what is put between, at the most."""

_TAG = re.compile(
    r"^\s*(?:right|correct|yes|no|huh|eh|(?:is|are|was|were|do|does|did|have|has|had|can|could|will|would|am"
    r"|ai)n['’]t\s+\w+"
    r"|(?:do|did|does|have|has|was|is|are|am|were)\s+(?:i|we|he|she|it|they)|对吧|对吗|对不对|是吧|是吗|是不是"
    r"|没错吧|不是吗|да|верно|правда|не так ли)\s*$",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^\W*(?:(?:so|and|but|or|well|hey|hi|hello|ok|okay|please|wait|hmm|actually|tell me|remind me|maybe|then"
    r"|now)\W+)*(?:(?:when|where|why|how|who|"
    r"whom|whose|which|what)\b.{0,40}?\b(?P<modal>should|shall|would|could|can|might|may|will)|"
    r"(?P<aux>did|do|does|am|is|are|was|were|have|has|had|can|could|will|would|shall|should|may|might|isn['’]t"
    r"|aren['’]t|wasn['’]t"
    r"|don['’]t|doesn['’]t|didn['’]t|haven['’]t|hasn['’]t|won['’]t|can['’]t|shouldn['’]t)\s+(?P<who>i|we|he|she"
    r"|it|they|you|my|our|the|there|his|her"
    r"|this|that|[A-Z]\w+))\b",
    re.IGNORECASE,
)
_WHICH = re.compile(r"^\W*(?:\w+\W+){0,2}(?:when|where|why|how|who|whom|whose|which|what)\b", re.IGNORECASE)
_WHETHER = re.compile(
    r"\b(?:whether|wonder(?:ing)?|not sure|no idea|don['’]t know|do not know|unsure)\b|\b(?:think|believe|say"
    r"|guess|suppose)\s+(?:that\s+)?(?:i|we)\b.{0,200}\?"
    r"|是否|会不会|能不能|要不要|该不该|有没有|是不是|不知道|不确定|\bли\b",
    re.IGNORECASE,
)
_ASKS_ZH = re.compile(r"(?:[吗吧]|(?<![什怎这那多])么)\s*$|难道|有没有|可不可以|是否|([\u4e00-\u9fff])不\1")
_WHICH_ZH = re.compile("什么|谁|哪|怎么|怎样|为什么|为何|几|多少|多久")
_PRESUMED = re.compile(
    r"\b(?:my|our|mein\w*|мой|моя|моё|мои|моей|моего|наш\w*)\s+|我们?家?的|我的?(?=[\u4e00-\u9fff])", re.IGNORECASE
)
_REMEMBERS = re.compile(
    r"还?记得|记不记得|知道吗|remember\b|did you know|do you know that|you know\s*\?", re.IGNORECASE
)

_IF = re.compile(
    r"\b(?:if|unless|suppos(?:e|ing)|assum(?:e|ing)|imagin(?:e|ing)|pretend(?:ing)?|what if|as though"
    r"|provided that|in case|если|допустим|предположим)\b"
    r"|如果|假装|假定|想象|扮演|梦见|梦到|要是(?<![主只需想]要是)|假如|假设|假使|倘若|万一|若是|如若|的话|哪怕"
    r"|就算|除非",
    re.IGNORECASE,
)
_IF_FIRST = re.compile(r"^\W*(?:(?:had|were|should)\s+(?:i|we|he|she|they|my|the)\b)|^\W*若", re.IGNORECASE)
_THEN = re.compile(r"\b(?:would|['’]d|could|might|бы)\b|\b(?:will|['’]ll)\b|[就便才]|会|那么?", re.IGNORECASE)
_WISH = re.compile(
    r"\b(?:wish|hop(?:e|es|ed|ing)|dream(?:s|t|ed|ing)?|long(?:s|ing)?)\s+(?:(?:that|of|to|for)\b|(?:i|we|he|she"
    r"|they|my|our|it)\b)|if only"
    r"|\b(?:want|wants|wanted|tempted|plan|plans|planned|planning|intend|intends|intended|hope"
    r"|hopes)\s+to\s+(?!be (?:called|addressed|told)|know)"
    r"|(?:\bwould|['’]d)\s+(?:like|love)\s+to\s+(?!be (?:called|addressed|told)|know)"
    r"|\b(?:consider|considers|considering|thinking (?:of|about)|plan(?:ning|s)? on|toying with)\s+\w+ing\b"
    r"|\b(?:i|we|he|she|they)\s+(?:may|might|could)\b|\b(?:maybe|perhaps|possibly)\b"
    r"|\b(?:i|we|he|she|they)(?:\s+would|['’]d)\s+(?!never|rather|like (?!to)|prefer|love (?!to)|hate|not\b)"
    r"|希望|但愿|恨不得|梦想|多想|真想|(?<![思理])想(?=[^起到象法念着]|要)|打算|考虑|计划(?=[^表书是的])|也许"
    r"|可能|或许|说不定|没准|就好了"
    r"|\b(?:хочу|хотим|хотел(?:а|и)?|мечтаю|надеюсь|собираюсь|планирую|может быть|возможно|наверное)\b",
    re.IGNORECASE,
)
_BIDS = re.compile(
    r"\b(?:want|like|need)\s+(?:you|everything|all|it|them|this|that)\s+to\b|(?:希望|想让|想要?|要)(?:你|您)",
    re.IGNORECASE,
)
"""What is wanted of whoever is spoken to: that is said to be so from now on."""

_MODAL = re.compile(
    r"\b(?:want\w*|wish\w*|hop(?:e|es|ed|ing)|dream\w*|long(?:s|ing|ed)|plan\w*|intend\w*|consider\w*|think\w*"
    r"|thought|would|could|(?-i:may)"
    r"|might|maybe|perhaps|possibl\w+|if|unless|when|whether|wonder\w*|ask\w*|unsure|not sure|doubt\w*|likes? to"
    r"|looking for|going to|will"
    r"|prefer\w*|interested|curious|should|must|request\w*|idea|future|potential\w*|seeks?|(?:is|are|has|have"
    r"|needs?) to"
    r"|хоч\w*|хотел\w*|мечта\w*|надеет\w*|собира\w*|планиру\w*|если|бы|может|возможно|спрашива\w*|спросил\w*)\b"
    r"|希望|但愿|想|打算|考虑|计划|也许|可能|或许|如果|要是|的话|问|是否|不确定|准备|愿意|(?<![主重必])要(?!是)"
    r"|(?<![开社约聚议])会(?![议])|应该|的时候",
    re.IGNORECASE,
)
"""What a statement says itself when it is one of a question, a condition, a wish or a plan."""

_CEASES = re.compile(
    r"\b(?:quit|quits|quitted|quitting|ceased?|gave up|given up|giving up|gives up)\b|\b(?:stop|stops|stopped"
    r"|stopping)\s+\w+ing\b"
    r"|\b(?:kicked|dropped) the habit\b|戒[掉了烟酒糖赌毒]|戒(?=[\u4e00-\u9fff])|放弃了|停止了?|\b(?:бросил"
    r"|перестал|завязал с)(?:а|и)?\b",
    re.IGNORECASE,
)
_AVOIDS = re.compile(
    r"\b(?:avoid|avoids|avoided|avoiding|refuse|refuses|refused|abstains?|steers? clear)\b|避免|拒绝|忌口?"
    r"|избега\w+|отказ\w+",
    re.IGNORECASE,
)
_FORMER = re.compile(
    r"(?<!am )(?<!is )(?<!are )(?<!was )(?<!get )(?<!got )(?<!['’]m )(?<!be )\bused to\s+(?!it\b|the\b|that\b"
    r"|this\b)|\bformerly\b|以前|曾经|从前|过去(?=[我他她常总])|раньше",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|used to|formerly|previously|once|ago|until|past|former|ex|\w{2,}ed|\w+ught|went|made"
    r"|wrote|kept|left|sang|ran|broke|drove|grew|knew|"
    r"раньше|был\w*|\w+л[аи]?)\b|过|曾|以前|之前|从前|了|原来|当时",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Part:
    """A clause of a message: its text, its place, and whether it says that something is so."""

    text: str
    first: int
    last: int
    asserted: bool


def denies(text: str, of: str = "") -> bool:
    """True when a text says that something is not so, or is so no more: "quit smoking" denies that one smokes.

    ``of``: the statement it is asked for: what ends or is avoided counts only where that is what it speaks of.
    """
    ends = 0
    for match in (*_CEASES.finditer(text), *_AVOIDS.finditer(text)):
        what = _CLAUSE.split(_AGAIN.split(text[match.end() : match.end() + BEHIND])[0])[0]
        ends += not of or dedupe.carried(of, match.group() + what) > 0
    return dedupe.denies(text) != bool(ends % 2)


def ends(text: str, of: str) -> bool:
    """True where a text says that something ended, or is avoided, of which the statement speaks."""
    return denies(text, of) != dedupe.denies(text)


def formerly(text: str) -> bool:
    """True where a text says what was, and is no longer."""
    return _FORMER.search(text) is not None


def past(text: str) -> bool:
    """True where a statement is of what was."""
    return _PAST.search(text) is not None


def joined(text: str) -> str:
    """The text without what stands between a "not" and what it denies: "I do not, however, eat fish"."""
    out: list[str] = []
    for sentence in _SENTENCE.findall(text):
        pieces = re.split(r"(\s*[,，;；—–]\s*|\s+-\s+|\s*[(（]|[)）]\s*)", sentence)
        at = 0
        while at < len(pieces):
            piece = pieces[at]
            if at % 2 == 0 and at + 2 < len(pieces) and _OPEN_END.search(piece) and not _BARE_NOT.match(piece):
                behind = _behind(pieces, at)
                if not _SUBJECT.match(pieces[behind]):
                    out.append(f"{piece} ")
                    at = behind
                    continue
            out.append(piece)
            at += 1
    return "".join(out)


def _behind(pieces: list[str], at: int) -> int:
    """The piece that a "not" at the end of another goes on with."""
    after = at + 2
    for first in (True, False):
        if after + 2 >= len(pieces):
            break
        aside = re.sub(r"^\s*(?:and|or|и)\s+", "", pieces[after])
        short = len(re.findall(r"[^\W\d_]+", aside)) <= _ASIDE and len(aside) <= 30
        if not (first and short) and not _ASIDE_END.search(aside) and not _OPEN_END.search(aside):
            break
        after += 2
    return after


def parts(text: str) -> list[Part]:
    """The clauses of a message, in order."""
    found: list[Part] = []
    for match in _SENTENCE.finditer(text):
        if match.group().strip():
            found += _clauses(match.group(), match.start())
    return found


def _clauses(sentence: str, start: int) -> list[Part]:
    cuts = [0, *(m.end() for m in _CLAUSE.finditer(sentence)), len(sentence)]
    cuts += [m.start() for m in _IF.finditer(sentence) if m.group() != "的话"]
    spans = [
        (a, b)
        for a, b in zip(sorted(set(cuts)), sorted(set(cuts))[1:], strict=False)
        if sentence[a:b].strip(" \n,.;:，。；：、")
    ]
    asks = sentence.rstrip().endswith(("?", "？"))
    supposes = _IF.search(sentence) is not None or _IF_FIRST.search(sentence) is not None
    first = sentence[spans[0][0] : spans[0][1]] if spans else ""
    request = _ASKS.match(first)
    taken = len(spans) > 1 and ((request["who"] or "").lower() == "you" if request else _WHICH.match(first) is not None)
    made = []
    for at, (a, b) in enumerate(spans):
        clause = sentence[a:b]
        bare = clause.strip(" \n,.;:!?，。；：！？、")
        last = at == len(spans) - 1
        tagged = (
            at == len(spans) - 2
            and asks
            and _TAG.match(sentence[spans[-1][0] : spans[-1][1]].strip(" ?？!.。")) is not None
        )
        inverted = _ASKS.match(clause) is not None
        asked = asks and (inverted or (last and not taken)) and _is_asked(bare, clause)
        asked = asked or tagged or _ASKS_ZH.search(bare) is not None
        asked = asked and not (_REMEMBERS.search(clause) and not re.search(r"\bif\b|whether|是不是|是否", clause))
        supposed = _IF.search(clause) is not None or _IF_FIRST.search(clause) is not None
        follows = supposes and _THEN.search(clause) is not None
        wished = _WISH.search(clause) is not None and not _BIDS.search(clause)
        doubted = _WHETHER.search(clause) is not None and not _REMEMBERS.search(clause)
        made.append(Part(clause, start + a, start + b, not (asked or supposed or follows or wished or doubted)))
    return made


def _is_asked(bare: str, clause: str) -> bool:
    """Whether a clause of a question asks what it says: "when did I move" takes for granted that I did."""
    if match := _ASKS.match(clause):
        return match["who"] is None or match["who"].lower() != "you" or not _PRESUMED.search(bare)
    return _WHICH.match(bare) is None and not _WHICH_ZH.search(bare)


def modal(text: str) -> bool:
    """Whether a statement is told as a question, a condition, a wish or a plan."""
    return _MODAL.search(text) is not None


def presumed(text: str, clause: str) -> bool:
    """Whether a statement says only what a question takes for granted: of "Is my sister Clara ill?" that she is a
    sister."""
    words = bag(text) - {"the", "user", "user's", "is", "called", "named", "a", "an", "has", "'s"}
    for match in _PRESUMED.finditer(clause):
        behind = clause[match.end() :]
        named = re.match(r"(?:[\w-]+\s+){1,3}?(?:[A-Z][\w'’-]+\s*)+|[\w-]+", behind)
        if named and words and dedupe.carried(" ".join(words), named.group()) >= 1.0:
            return True
    return False


def says_so(text: str, said: str, span: tuple[int, int] | None) -> bool:
    """Whether a message says that a statement is so: where its quote stands, or all of it in another clause.

    ``span``: of the quote; None for the clauses that say most of the statement.
    """
    if modal(text):
        return True
    found = parts(said)
    scored = [(dedupe.carried(text, part.text), part) for part in found]
    if not scored:
        return True
    if span is None:
        best = max(score for score, _ in scored)
        return any(part.asserted or presumed(text, part.text) for score, part in scored if score == best)
    inside = [(score, part) for score, part in scored if part.first < span[1] and span[0] < part.last]
    if not inside:
        return True
    best = max(score for score, _ in inside)
    at = [part for score, part in inside if score == best]
    if any(part.asserted or presumed(text, part.text) for part in at):
        return True
    return best > 0 and any(part.asserted and score >= max(FULL, best) for score, part in scored)


def says_whole(text: str, said: str) -> bool:
    """Whether one clause of a message says all but all of a statement, and says that it is so."""
    return any(part.asserted and dedupe.carried(text, part.text) >= FULL for part in parts(said))
