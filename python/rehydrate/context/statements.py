"""What the user has said that still holds: rules, preferences, facts with values, lines with a label.

Only the text of the user's own messages is looked at, and of it not what is evidently somebody else's: code between
fences, quoted lines, blocks in tags.  A statement is verbatim, one line, and goes only when a later one replaces it
(see `rehydrate.context.subjects`).  Nothing is understood: words that rules have in a dozen languages are looked for,
so a statement may be missed in a language that has other words.  The time that it takes grows with the length of the
text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rehydrate.context.ledger import OPENING
from rehydrate.context.messages import Message, blocks
from rehydrate.context.subjects import About, about, may_replace, replaces

STATEMENTS = 256
"""At most so many hold at a time; the lightest and oldest go first."""
STATEMENT_CHARS = 600
"""What is longer is a document, and no statement."""
JOINED_CHARS = 300
"""Sentences of one line that follow each other are one statement up to this length."""
LOOKED_CHARS = 16_384
"""Of each end of a message; what lies between is not looked at."""
LABEL_CHARS = 40

PROHIBITION, RULE, FACT = 3, 2, 1
"""What a statement weighs: what must not happen; other rules, preferences and all that has a label; facts."""

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_TAG = re.compile(r"^\s*<(/?)([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>\s*$")
_BULLET = re.compile(r"^\s*(?:[-*+•]\s+|\(?\d{1,3}[.)]\s+|#{1,6}\s+)*")
_LABEL = re.compile(rf"^([^\W\d_][\w '’/&-]{{1,{LABEL_CHARS - 2}}})\s?[:：]\s*(\S.*)$")
_CAPITALS = re.compile(r"[^\W\d_]{2}")
_LABELS = re.compile(
    r"^(?:important|rules?|constraints?|requirements?|preferences?|facts?|goals?|objectives?|decisions?|policy|reminder"
    r"|note|deadline|budget|limit|style|conventions?|update|correction|regeln?|wichtig|règles?|important|reglas?|regla"
    r"|importante|regras?|规则|要求|约束|注意|重要|ルール|制約|규칙)\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?])[\"')\]”]?\s+(?=\S)|(?<=[。！？])")
_PROHIBITS = re.compile(
    r"\b(?:never|must ?n[o']t|must never|may not|shall not|forbidden|prohibited|not allowed|under no circumstances"
    r"|no longer allowed|off[- ]limits|niemals|nie|verboten|darf(?:st)? (?:nicht|kein\w*)|jamais|interdit\w*|nunca"
    r"|jamás|prohibid\w+|proibid\w+|mai|vietato|никогда|нельзя|запрещено|nooit|nigdy|asla)\b"
    r"|^(?:please )?(?:do not|don['’]t|no|avoid|keine?n?|ne pas|не|nie) "
    r"|\b(?:you|we) (?:do not|don['’]t|should not|shouldn['’]t|cannot|can['’]t) "
    r"|不要|不得|禁止|不准|绝不|切勿|严禁|しないで|てはいけない|ではいけない|絶対に|하지 ?마|금지|절대",
    re.IGNORECASE,
)
_RULES = re.compile(
    r"\b(?:must|always|from now on|going forward|make sure|ensure|required|mandatory|at (?:most|least)"
    r"|no (?:more|less|fewer|later|longer) than|only|ask (?:me )?(?:first|before)|stick to"
    r"|without (?:my|explicit|asking)"
    r"|until|before (?:you|pushing|committing|merging|release|releasing|deploying)|ab jetzt|immer|muss|müssen|nur"
    r"|toujours|doit|doivent|uniquement|désormais|siempre|debe[ns]?|solo|sólo|sempre|deve[m]?|apenas|soltanto|всегда"
    r"|должн\w+|только|altijd|moet|zawsze|musi|daima)\b"
    r"|^(?:please )?keep .+ (?:under|below|above|at|within|away|free)\b"
    r"|必须|务必|总是|一律|只能|必ず|常に|べき|반드시|항상",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:prefers?|preferred|preference|(?:i|we|user) (?:wants?|likes?|hates?|need)"
    r"|(?:i|we)['’]d (?:like|rather|prefer)"
    r"|would (?:rather|like|prefer)|answers?|repl(?:y|ies)|responses?|tone|style|bevorzuge\w*|lieber|möchte|préfère\w*"
    r"|prefiero|prefiere|quiero|prefiro|quero|preferisco|voglio|предпочита\w+|хочу)\b|喜欢|偏好|希望|ほしい|好み|원해|선호",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"\b(?:is|are|was renamed|will be|runs?|lives?|belongs?|owns?|lands?|ships?|moved|changed|switched|rebased|rotated"
    r"|renamed|call(?:ed|ing)?|now|ceiling|cap|capped|limit|deadline|due|based|uses?|ist|sind|heißt|liegt|läuft|est|sont"
    r"|es|está|son|é|são|è|sono|это|is|wordt|jest)\b|是|为|在|です|は|이다|입니다|[:=]",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"^(?:please |can you |could you |now |ok(?:ay)?,? |so,? |and )*(?:fix|add|implement|write|create|run|show|look"
    r"|check|find|explain|refactor|rename|remove|delete|read|open|try|tell|give|help|build|debug|investigate|review|continue"
    r"|go ahead|let['’]s)\b",
    re.IGNORECASE,
)
_GUESSES = re.compile(
    r"\b(?:must (?:be|have) (?:a|an|been|some)|i (?:do not|don['’]t|never|always|only)|it (?:never|always|only|must)"
    r"|i think|maybe|perhaps|wonder)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that the user has said."""

    text: str
    """Verbatim, one line."""
    label: str | None = None
    """What stood before it and a colon, when that says what it is: `HARD CONSTRAINT`."""

    @property
    def weight(self) -> int:
        """`PROHIBITION`, `RULE` or `FACT`."""
        if _PROHIBITS.search(self.text):
            return PROHIBITION
        return RULE if self.label or _RULES.search(self.text) or _PREFERS.search(self.text) else FACT

    @property
    def about(self) -> About:
        """What it is about."""
        return about(self.text)


def statements(messages: Iterable[Message], *, earlier: Sequence[Statement] = ()) -> list[Statement]:
    """What holds after these messages, in the order in which it was said.

    `earlier`: what held before them, as a summary has it.  Of two that say the same the first one stays.  Messages
    that are summaries are passed over, whoever has one says so with `earlier`.
    """
    held = _Held()
    for statement in earlier:
        held.keep(statement)
    for message in messages:
        if message.get("role") != "user":
            continue
        for block in blocks(message):
            text = block.get("text")
            if block.get("type") == "text" and isinstance(text, str) and not text.startswith(OPENING):
                for statement in _stated(text):
                    held.say(statement)
    return held.all()


class _Held:
    """The statements that hold, and where those about a subject are."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[str | None, str], Statement] = {}
        self._by_subject: dict[tuple[str, frozenset[str]], dict[tuple[str | None, str], None]] = {}

    def all(self) -> list[Statement]:
        return list(self._by_key.values())

    def say(self, statement: Statement) -> None:
        """A statement that is new, and takes the place of those that it replaces."""
        if _key(statement) in self._by_key:
            return
        new = statement.about
        same = {key for subject in new.subjects for key in self._by_subject.get(subject, ())}
        gone = [key for key in same if replaces(new, self._by_key[key].about)]
        if new.changes and new.subjects and not gone:
            gone = [key for key, old in self._by_key.items() if may_replace(new, old.about)]
            if len(gone) > 1:
                gone = []
        for key in gone:
            self._drop(key)
        self.keep(statement)

    def keep(self, statement: Statement) -> None:
        key = _key(statement)
        if key in self._by_key:
            return
        self._by_key[key] = statement
        for subject in statement.about.subjects:
            self._by_subject.setdefault(subject, {})[key] = None
        if len(self._by_key) > STATEMENTS:
            self._drop(min(self._by_key, key=lambda each: self._by_key[each].weight))

    def _drop(self, key: tuple[str | None, str]) -> None:
        for subject in self._by_key.pop(key).about.subjects:
            self._by_subject[subject].pop(key)
            if not self._by_subject[subject]:
                del self._by_subject[subject]


def _key(statement: Statement) -> tuple[str | None, str]:
    return (statement.label, " ".join(statement.text.casefold().split()))


def _stated(text: str) -> tuple[Statement, ...]:
    if len(text) > 2 * LOOKED_CHARS:
        return (*_read(text[:LOOKED_CHARS]), *_read(text[-LOOKED_CHARS:]))
    return _remembered(text) if len(text) <= 4096 else tuple(_read(text))


@lru_cache(maxsize=1024)
def _remembered(text: str) -> tuple[Statement, ...]:
    return tuple(_read(text))


def _read(text: str) -> Iterator[Statement]:
    for line in _own_lines(text):
        label, rest = _labelled(line)
        if label is not None:
            if len(rest) <= STATEMENT_CHARS:
                yield Statement(rest, label)
        else:
            yield from _sentences(line)


def _own_lines(text: str) -> Iterator[str]:
    """Lines that the user has written, without what marks a list."""
    fenced = False
    inside = ""
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            continue
        tag = _TAG.match(line)
        if tag and not fenced:
            if not inside and not tag[1]:
                inside = tag[2]
            elif inside and tag[1] and tag[2] == inside:
                inside = ""
            continue
        if fenced or inside or line.lstrip().startswith((">", "|")):
            continue
        line = _BULLET.sub("", line, count=1).strip()
        if line:
            yield line


def _labelled(line: str) -> tuple[str | None, str]:
    """The label of a line and the rest; None where what stands before a colon is no label."""
    found = _LABEL.match(line)
    if not found:
        return None, line
    label = found[1].strip()
    if (label.isupper() and _CAPITALS.search(label) and len(label) <= LABEL_CHARS) or _LABELS.match(label):
        return label, found[2].strip()
    return None, line


def _sentences(line: str) -> Iterator[Statement]:
    """The sentences of a line that state something; those that follow each other are one statement."""
    start = stop = None
    at = 0
    for end, following in [*((each.start(), each.end()) for each in _SENTENCES.finditer(line)), (len(line), len(line))]:
        if _states(line[at:end]):
            if start is not None and stop is not None and end - start <= JOINED_CHARS:
                stop = end
            else:
                if start is not None:
                    yield Statement(line[start:stop].strip())
                start, stop = at, end
        elif start is not None:
            yield Statement(line[start:stop].strip())
            start = stop = None
        at = following
    if start is not None:
        yield Statement(line[start:stop].strip())


def _states(sentence: str) -> bool:
    """Whether a sentence says something that may still hold later."""
    sentence = sentence.strip()
    if not 8 <= len(sentence) <= STATEMENT_CHARS and not (sentence and not sentence.isascii()):
        return False
    if len(sentence) > STATEMENT_CHARS or sentence.endswith(("?", "？")) or _GUESSES.search(sentence):
        return False
    if _PROHIBITS.search(sentence) or _RULES.search(sentence):
        return True
    if _ONCE.match(sentence):
        return False
    if _PREFERS.search(sentence):
        return True
    if not _STATES.search(sentence):
        return False
    found = about(sentence)
    return found.has_value and (found.changes or bool(found.subjects))
