"""First-person statements in English.  Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from homed.memory.distil.english_words import JOBS, NO_COMPANY, NO_PLACES
from homed.memory.distil.match import Hit, Rule, age, hits, nobody

_VETO = re.compile(
    r"\b(?:if|unless|suppose|supposing|imagine|pretend\w*|would|could|might|wish|hope[sd]?|hoping|let'?s say"
    r"|what if|assum\w+"
    r"|maybe|perhaps|probably|possibly|almost|nearly|used to|want(?:s|ed)? to|wanna|going to|gonna|about to"
    r"|plan(?:ning)? to"
    r"|dream\w*|jok\w+|kidding|lie[ds]?|lying|fake|sarcas\w*|not sure|guess|when|whenever|once|until|till i"
    r"|before i|after i"
    r"|as if|as though|like if|no longer|anymore|any more|never|it'?s not true|not true|wrong|instead of saying"
    r"|said|says?|saying|told|tells?|telling|ask(?:s|ed)?|wr(?:ote|ites|iting)|replie[sd]|claim\w*|think\w*"
    r"|thought|believe\w*"
    r"|according to|by mistake|in name only|as \w+ puts? it"
    r"|but (?:(?:I|then|later|soon|have) ){0,3}(?:moved|went|came|left|returned)"
    r"|in (?:the|this|that|my|our|a) (?:\w+ )?(?:test|story|game|film|movie|book|example|exam|play|dream|song)"
    r"|heard|quot\w+|lyrics?|the line|the phrase|the sentence|for example|e\.g|such as|tell me|do you)\b",
    re.IGNORECASE,
)
_MESSAGE = re.compile(
    r"\b(?:translat\w+|proofread\w*|rewrit\w+|rephras\w+|paraphras\w+|summari[sz]e|role-?play\w*|act as|pretend|"
    r"(?:write|draft|compose|generate|create|make up|invent) (?:a|an|me|the|some|this)|fix (?:the|my"
    r"|this) (?:grammar|text|sentence)"
    r"|you are (?:a|an|the|now) |the prompt|(?:said|asked|replied|answered|wrote)\s*[:\"]"
    r"|correct (?:the|this|my) (?:text|sentence|grammar|english)|story|poem|lyrics|essay|cover letter|"
    r"example sentences?|my character|d&d|fictional|novel|screenplay|test data|sample (?:text|data))(?!\w)",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^(?:do|does|did|am|is|are|was|were|can|could|should|would|will|shall|have|has|had|what|who|whom|whose"
    r"|where|when|why|how|"
    r"which|guess)\b",
    re.IGNORECASE,
)
_START = (
    r"(?:^|[,;:—–(]\s*|\b(?:and|but|so|because|also|well)\s+)"
    r"(?:(?:hi|hello|hey|well|so|ok|okay|yes|yeah|no|btw|also|and|but|actually|in fact|by the way|oh|then"
    r"|please|note that|"
    r"remember that|remember|fyi|just so you know|for the record|correction|update|ps|these days|nowadays"
    r"|currently|now)"
    r"(?: there)?[,!:]?\s+){0,3}"
)
_ENDING = (
    r"\s*(?:[,;:!?()—–\0]|\.(?!\d)|$)|\s+(?:and|but|because|so|since|which|who|where|though|although|as|now"
    r"|currently|btw|too"
    r"|please|with|right|at the moment|these days|for|near)\b"
)
_STOP = rf"(?={_ENDING})"
_OVER = r"[^,;:!?()—–\0\n]"
_AM = r"I(?:\s+am|\s*['’]?m)"
_HAVE = r"I(?:\s+have|['’]ve)?"
_ADVERB = (
    r"(?:(?:really|also|absolutely|truly|still|always|especially|particularly|very much|mostly"
    r"|generally|now|currently|quite)\s+){0,2}"
)
_NUMBER = (
    r"(?P<v>\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four"
    r"|five|six|seven|eight|nine))?|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|ten|eleven|twelve)"
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = (
    rf"(?P<v>{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+(?:19|20)\d\d)?|(?:the\s+)?\d{{1,2}}(?:st|nd|rd"
    rf"|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(?:19|20)\d\d)?|(?:19|20)\d\d-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}/(?:19"
    rf"|20)\d\d)(?!\w)"
)
_YEARS = (
    r"\s+(?:from|between|in)\s+(?P<since>(?:19|20)\d\d)\s*(?:to|until|till|and|through|-|–)\s*(?P<until>(?:19|20)\d\d)"
)
_SINCE = r"\s+since\s+(?P<since>(?:19|20)\d\d)\b"
_LOWER_NO_NAME = re.compile(
    r"not|on|in|at|the|a|an|so|very|too|also|my|his|her|what|that|this|it|no|hard|long|short|bad|good|nice"
    r"|weird|common|rare|old"
    r"|new|real|mine|irrelevant|secret|private|unknown|now|here|there|taken|\w+(?:ing|ed|ly|ous|ful|able|ible|less|ent)"
)
_PARTICLES = frozenset(
    {"de", "van", "von", "der", "den", "la", "le", "da", "di", "bin", "ibn", "al", "el", "dos", "del"}
)
_NO_THING = re.compile(
    r"(?:it|that|this|these|those|them|you|u|your|yours|him|her|his|how|what|whatever|when|where|who|why"
    r"|the way|the idea"
    r"|the fact|the fact|to (?:think|know|see|hear|say|ask|understand|get|be|believe|admit|do|use it|break|repeat"
    r"|bother|interrupt|complain|disappoint|tell|argue|nag)|not"
    r"|being told|both"
    r"|all of|one|ones|nothing|everything|anything|something|everyone|people who|seeing that|where|most of|some of|mine"
    r"|neither|either|up|still|down|out|by|here|there|the same|the first|the second|the other|option|more"
    r"|better|doing (?:it|this|that))\b"
    r"|an? (?:lot|bit)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:this|that|these|those|here|there|you|your|yours|him|her|them|our|me|us|mine|is|are|was|were)\b",
    re.IGNORECASE,
)
"""What means something only where it was said, or makes a sentence of it."""
_CUT = re.compile(
    r"\s+(?:more than|less than|rather than|when|while|if|that|than|whenever|every time)\b.*$", re.IGNORECASE
)
_TAIL = re.compile(
    r"\s+(?:a lot|very much|so much|too|as well|the most|most|best|now|again|lol|haha|though|honestly|tbh)$",
    re.IGNORECASE,
)
_GREETED = re.compile(
    r"(?:ese|ish|ian|ean|ist|an|sick|french|dutch|greek|thai|czech|swiss|polish|back|here|new|done|dad|mom|mum|lost"
    r"|bored|ready|tired|busy|late|confused|curious|happy|sad|glad|sorry|ok"
    r"|fine|good)$",
    re.IGNORECASE,
)


def _name(value: str) -> str:
    """The words with a capital that it begins with, or one plain word written small."""
    if nobody(value) or re.search(r"/|['’]s\b|\bor\b", value):
        return ""
    words: list[str] = []
    for word in value.split():
        plain = word.strip(".'’-")
        if plain[:1].isupper() or (words and plain in _PARTICLES):
            words.append(plain)
        else:
            break
    while words and words[-1] in _PARTICLES:
        words.pop()
    if words:
        return (
            value[value.find(words[0]) : value.find(words[-1]) + len(words[-1])]
            if words[0] not in ("I", "The", "Not", "A")
            else ""
        )
    only = value.strip(". ")
    small = only.isalpha() and only.isascii() and 2 <= len(only) <= 12 and not _LOWER_NO_NAME.fullmatch(only)
    return only if small else ""


def _greeted(value: str) -> str:
    name = _name(value)
    return name if name[:1].isupper() and name == value.strip() and not _GREETED.search(name) else ""


def _exactly(value: str) -> str:
    """A name and nothing else: not "Stupid all the time", "Rex by my neighbours"."""
    name = _name(value)
    return name if name == value.strip(" .") else ""


_WHEN = re.compile(
    r"\s+(?:last|this|next|in (?:the )?(?:spring|summer|autumn|fall|winter|[12]\d{3}|"
    + _MONTH
    + r")|a few|two|three|\d+|recently"
    r"|yesterday|today|years? ago|already|full[- ]time|part[- ]time)\b.*$",
    re.IGNORECASE,
)


def _place(value: str) -> str:
    plain = _WHEN.sub("", value.strip().rstrip("."))
    town, comma, region = plain.partition(",")
    if comma:  # "Springfield, Illinois", but not "Berlin, and that is far"
        plain = plain if all(word[:1].isupper() for word in region.split()) and len(region.split()) <= 2 else town
    words = plain.split()
    if not words or len(words) > 6 or not any(word[:1].isupper() for word in words[:2]) or len(plain) > 50:
        return ""
    if re.search(r"['’]s\s", plain) or words[0].lower() in NO_PLACES:
        return ""
    small = words[0][:1].islower() and words[0] not in (
        "the",
        "downtown",
        "central",
        "northern",
        "southern",
        "eastern",
        "western",
        "north",
        "south",
        "east",
        "west",
        "upstate",
        "rural",
    )
    return "" if small or words[0] in ("I", "My", "A", "An") else plain


def _company(value: str) -> str:
    """Words with capitals: "Bank of America"."""
    plain = _WHEN.sub("", value.strip().rstrip("."))
    words = plain.split()
    named = [word[:1].isupper() or word[:1].isdigit() or word in ("of", "and", "for", "the", "&") for word in words]
    if not words or len(words) > 5 or not all(named) or words[0] in ("I", "My", "A", "An", "Home", "The"):
        return ""
    return "" if any(word.lower() in NO_COMPANY for word in words) else plain


def _job(value: str) -> str:
    """The occupation with what stands before it: "senior software engineer"."""
    plain = value.strip().rstrip(".").lower()
    words = plain.split()
    if len(words) > 4 or not (plain in JOBS or (words and words[-1] in JOBS) or " ".join(words[-2:]) in JOBS):
        return ""
    return (
        value.strip().rstrip(".")
        if not {"not", "no", "of", "your", "his", "her", "bad", "good", "big", "former"} & set(words)
        else ""
    )


def _work(value: str) -> str:
    """What follows "work as": an occupation also when the list lacks it."""
    plain = value.strip().rstrip(".")
    words = plain.split()
    if not 1 <= len(words) <= 4 or not all(re.fullmatch(r"[\w/&+#.-]+", word) for word in words):
        return ""
    return (
        plain
        if words[0].lower() not in {"usual", "always", "before", "well", "intended", "expected", "team", "one", "if"}
        else ""
    )


def _thing(value: str) -> str:
    """What is liked, by itself: "the poses" are those that were spoken of, and say nothing later."""
    plain = _TAIL.sub("", _CUT.sub("", value.strip().rstrip("."))).strip()
    if plain.lower() in ("to", "too", "doing") or re.match(r"(?:all )?the [a-z]", plain):
        return ""
    if not 2 <= len(plain) <= 50 or len(plain.split()) > 7 or _NO_THING.match(plain) or _POINTING.search(plain):
        return ""
    return plain


def _favourite(value: str) -> str:
    plain = _thing(value)
    off = re.match(r"(?:on|in|at|under|from|with|about|so|very|too|out|lost|missing|gone|never)\b", plain)
    return "" if off else plain


def _date(value: str) -> str:
    return value.strip().removeprefix("the ")


def _rule(relation: str, pattern: str, fit: Callable[[str], str]) -> Rule:
    return Rule(relation, re.compile(_START + pattern, re.IGNORECASE), fit)


_PETS = (
    r"(?P<what>dog|cat|puppy|kitten|parrot|hamster|rabbit|horse|turtle|tortoise|bird|budgie|fish|snake"
    r"|guinea pig|ferret)"
)
_FAVOURITES = (
    r"(?P<what>colou?r|food|dish|book|film|movie|song|band|drink|fruit|animal|sport|season|author"
    r"|writer|game|city|programming language)"
)
_TOWN = rf"(?P<v>{_OVER}{{2,50}}?(?:,\s+[^\W\d_]\w+(?:\s[^\W\d_]\w+)?(?=\s*(?:[.!]|$)))?)"
_NOT_BUT = rf"(?:not\s+{_OVER}{{1,40}}?(?:\s*,)?\s+but\s+)?"

_RULES = (
    _rule(
        "name",
        rf"my\s+(?:full\s+|first\s+|real\s+|legal\s+|new\s+)?name(?:\s+is|['’]s)\s+(?:now\s+"
        rf"|actually\s+)?{_NOT_BUT}(?P<v>[^\W\d_]{_OVER}{{0,40}}?){_STOP}",
        _name,
    ),
    _rule(
        "name",
        rf"my\s+name\s+(?:is\s+not|isn['’]?t|is\s+no\s+longer)\s+{_OVER}{{1,30}}?,\s*(?:it['’]?s|it\s+is|but"
        rf"|but\s+rather)\s+(?P<v>[^\W\d_]{_OVER}{{0,40}}?){_STOP}",
        _name,
    ),
    _rule(
        "name",
        rf"{_HAVE}\s+(?:just\s+|legally\s+)?changed\s+my\s+name\s+(?:from\s+{_OVER}{{1,30}}?\s+)?to\s+(?P<v>[^"
        rf"\W\d_]{_OVER}{{0,40}}?){_STOP}",
        _name,
    ),
    _rule("name", rf"{_AM}\s+(?:called|named)\s+(?P<v>[^\W\d_]{_OVER}{{0,40}}?){_STOP}", _exactly),
    Rule(
        "name",
        re.compile(
            rf"^(?:hi|hello|hey)(?: there| everyone| all)?[,!]?\s+{_AM}\s+(?P<v>[^\W\d_]{_OVER}{{0,30}}?){_STOP}",
            re.IGNORECASE,
        ),
        _greeted,
    ),
    _rule(
        "nickname", rf"(?:you\s+can\s+|please\s+|just\s+)*call\s+me\s+(?P<v>[^\W\d_]{_OVER}{{0,20}}?){_STOP}", _greeted
    ),
    _rule("home", rf"I\s+{_ADVERB}(?:live|reside)\s+in\s+{_NOT_BUT}{_TOWN}(?:{_SINCE}|{_STOP})", _place),
    _rule(
        "home",
        rf"{_AM}\s+(?:now\s+|currently\s+)?(?:living|based)\s+in\s+{_TOWN}(?:{_SINCE}|{_STOP})",
        _place,
    ),
    _rule(
        "home",
        rf"{_HAVE}\s+(?:just\s+|recently\s+)?(?:moved|relocated)\s+(?:back\s+)?(?:from\s+{_OVER}{{1,30}}?\s+)?"
        rf"to\s+{_TOWN}{_STOP}(?!\s+(?:in\s+(?:19|20)|for\s+a))",
        _place,
    ),
    _rule("home", rf"{_HAVE}\s+(?:been\s+living|lived)\s+in\s+(?P<v>{_OVER}{{2,50}}?){_YEARS}", _place),
    _rule("home", rf"{_HAVE}\s+(?:been\s+living|lived)\s+in\s+(?P<v>{_OVER}{{2,50}}?){_SINCE}", _place),
    _rule(
        "age",
        rf"{_AM}\s+(?:now\s+|already\s+|currently\s+)?{_NUMBER}(?:[\s-]*years?[\s-]*old|\s*y/?o"
        rf"|\s+years\s+of\s+age)\b(?!\s+(?:when|at heart|in spirit))",
        age,
    ),
    _rule(
        "age",
        rf"{_AM}\s+(?:now\s+|already\s+)?(?P<v>1[3-9]|[2-9]\d)(?:\s+now)?(?=\s*(?:[,!]|$)|\s+and\s+(?:live|work|I)\b)",
        age,
    ),
    _rule(
        "age",
        rf"{_HAVE}\s+(?:just\s+|recently\s+)?turned\s+{_NUMBER}(?=\s*(?:[,.!]|$)|\s+(?:today|yesterday|last|this)\b)",
        age,
    ),
    _rule("age", rf"my\s+age\s+is\s+{_NUMBER}(?=\s*(?:[,.;!]|$))", age),
    _rule("birthday", rf"my\s+birthday\s+is\s+(?:on\s+)?{_DATE}", _date),
    _rule("birthday", rf"I\s+was\s+born\s+on\s+{_DATE}", _date),
    _rule(
        "job",
        rf"I\s+(?:now\s+|currently\s+)?work\s+as\s+(?:an?|the)\s+(?P<v>[^\W\d_]{_OVER}{{1,40}}?)(?={_ENDING}"
        rf"|\s+(?:at|in)\b)",
        _work,
    ),
    _rule(
        "job",
        rf"{_AM}\s+(?:now\s+|currently\s+)?(?:not\s+an?\s+{_OVER}{{1,30}}?,?\s+but\s+)?an?\s+(?P<v>[^\W\d_][\w"
        rf"\s/&-]{{1,40}}?)(?:\s+by\s+(?:profession|trade))?(?={_ENDING}|\s+(?:at|in|from|working)\b)",
        _job,
    ),
    _rule(
        "job",
        rf"my\s+(?:profession|occupation|job\s+title)\s+is\s+(?:an?\s+)?(?P<v>[^\W\d_]{_OVER}{{1,40}}?){_STOP}",
        _work,
    ),
    _rule(
        "employer",
        rf"I\s+(?:now\s+|currently\s+)?work\s+(?:as\s+an?\s+[^,.]{{2,30}}?\s+)?(?:at"
        rf"|for)\s+(?P<v>{_OVER}{{2,40}}?)(?:{_SINCE}|{_STOP}|(?=\s+(?:in|as)\b))",
        _company,
    ),
    _rule("employer", rf"{_HAVE}\s+worked\s+(?:at|for)\s+(?P<v>{_OVER}{{2,40}}?){_YEARS}", _company),
    _rule(
        "likes",
        rf"I\s+{_ADVERB}(?:like|love|enjoy|adore|prefer)\s+(?P<v>{_OVER}{{2,60}}?)(?=\s*(?:[,;:!?()—–\0]|\.(?!\d)|$)"
        rf"|\s+(?:but|because|so|since|which|and\s+(?:I|my|he|she|we|hate|dislike|don))\b)",
        _thing,
    ),
    _rule(
        "dislikes",
        rf"I\s+{_ADVERB}(?:hate|dislike|detest|loathe|can(?:['’]?t|not)\s+stand|(?:do\s+not"
        rf"|don['’]?t)\s+(?:really\s+)?(?:like|enjoy))\s+(?P<v>{_OVER}{{2,60}}?)(?=\s*(?:[,;:!?()—–\0]|\.(?!\d)|$)"
        rf"|\s+(?:but|because|so|since|which|and\s+(?:I|my|he|she|we|love|like))\b)",
        _thing,
    ),
    _rule("favourite_*", rf"my\s+favou?rite\s+{_FAVOURITES}\s+is\s+(?P<v>{_OVER}{{2,50}}?){_STOP}", _favourite),
    _rule(
        "pet",
        rf"I\s+(?:have|own|got|['’]ve\s+got)\s+an?\s+(?:\w+\s+){{0,2}}?{_PETS}\s*,?\s+(?:named|called"
        rf"|whose\s+name\s+is)\s+(?P<v>[^\W\d_]{_OVER}{{0,20}}?){_STOP}",
        _exactly,
    ),
    _rule(
        "pet",
        rf"my\s+{_PETS}(?:['’]s\s+name\s+is|\s+is\s+(?:named|called))\s+(?P<v>[^\W\d_]{_OVER}{{0,20}}?){_STOP}",
        _exactly,
    ),
)


def silent(message: str) -> bool:
    """True for a message whose first person need not be its writer: a text to be translated, written, played."""
    return _MESSAGE.search(message) is not None


def find(sentence: str, end: str) -> Iterator[Hit]:
    """What a sentence states of its writer; nothing of a question, a hypothesis, what others say."""
    if "?" in end or "?" in sentence or _QUESTION.match(sentence) or re.search(r"\bmay\b", sentence):
        return
    if _VETO.search(_allowed(sentence)):
        return
    yield from hits(_RULES, sentence)


def _allowed(sentence: str) -> str:
    """Without the two corrections whose words would silence it."""
    return re.sub(r"\bis no longer\b(?=.{1,40},\s*(?:it|but))", "isn't", sentence, flags=re.IGNORECASE)
