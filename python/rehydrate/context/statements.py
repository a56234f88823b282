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
from rehydrate.context.subjects import About, Subject, about, may_replace, replaces

STATEMENTS = 256
"""At most so many hold at a time; the lightest and oldest go first."""
A_MESSAGE = 64
"""At most so many come from one message, the heaviest: whoever pastes a manual has not made it all a rule."""
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
_TAG = re.compile(r"^\s*<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>")
_END_TAG = re.compile(r"</([A-Za-z][\w.:-]*)>\s*$")
_BULLET = re.compile(r"^\s*(?:(?:[-*+•]|\(?\d{1,3}[.)])\s+)+")
_HEADING = re.compile(r"^\s*#{1,6}\s+")
_LABEL = re.compile(rf"^\**([^\W\d_][\w '’/&()-]{{1,{LABEL_CHARS - 2}}}?)\s?\**[:：]\**(?:\s+(\S.*))?$")
_KINDS = re.compile(
    r"\b(?:rules?|constraints?|requirements?|preferences?|facts?|goals?|objectives?|decisions?|polic(?:y|ies)|conventions?"
    r"|guidelines?|regeln?|vorgaben?|règles?|contraintes?|préférences?|reglas?|preferencias?|regras?|regole|правила?)\b"
    r"|规则|约束|偏好|要求|目标|ルール|制約|規則|규칙",
    re.IGNORECASE,
)
"""Labels that say what kind of a statement follows; another one is a part of it ("Deadline: Friday")."""
_NOTES = re.compile(
    r"^(?:important|reminder|note|update|correction|deadline|budget|limit|style|wichtig|hinweis|importante?|attention"
    r"|atención|attenzione|внимание|важно|注意|重要|更新|중요|주의)\b|^[注重更]",
    re.IGNORECASE,
)
_LOGGED = re.compile(
    r"^\W?(?:\d{4}-\d\d-\d\d[T ]\d\d:"
    r"|(?:info|error|warn(?:ing)?|debug|trace|fatal|critical|fail(?:ed)?|ok|passed)\W?:)",
    re.IGNORECASE,
)
"""How a line that a program wrote begins."""
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
    r"|^(?:for|when|whenever|if|before|after) [^,.]{2,60}, "
    r"(?!(?:i|we|it|there|the|this|that|you|they|he|she|what|why|how|can|could|is)\b)"
    r"|^(?:please )?keep .+ (?:under|below|above|at|within|away|free)\b"
    r"|必须|务必|总是|一律|只能|必ず|常に|べき|반드시|항상",
    re.IGNORECASE,
)
_FOR_ALL = re.compile(
    r"^(?!(?:i|we|it|the|this|that|there|these|those|you|they|he|she)\b)\w+ .*\b(?:all|every|each)\b", re.IGNORECASE
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

    def __post_init__(self) -> None:
        """Raises ValueError for what could not be written down and read again as it is."""
        if not _is_line(self.text) or not (self.label is None or _is_label(self.label)):
            raise ValueError(f"a statement is one line, and its label begins with no sign: {self.text[:80]!r}")

    @property
    def weight(self) -> int:
        """`PROHIBITION`, `RULE` or `FACT`."""
        return max(_weight(self.text), RULE if self.label else FACT)


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


_Key = tuple[str | None, str]


class _Held:
    """The statements that hold, and where those about a subject are."""

    def __init__(self) -> None:
        self._held: dict[_Key, tuple[Statement, About]] = {}
        self._by_subject: dict[Subject, dict[_Key, None]] = {}
        self._by_word: dict[str, dict[_Key, None]] = {}
        self._by_weight: dict[int, dict[_Key, None]] = {FACT: {}, RULE: {}, PROHIBITION: {}}

    def all(self) -> list[Statement]:
        return [statement for statement, _ in self._held.values()]

    def say(self, statement: Statement) -> None:
        """A statement that is new, and takes the place of those that it replaces."""
        if _key(statement) in self._held:
            return
        new = about(statement.text)
        same = {key: None for subject in new.subjects for key in self._by_subject.get(subject, ())}
        gone = [key for key in same if replaces(new, self._held[key][1])]
        if new.changes and new.subjects and not gone:
            words = frozenset[str]().union(*(words for _, words in new.subjects))
            near = {key: None for word in words for key in self._by_word.get(word, ())}
            gone = [key for key in near if may_replace(new, self._held[key][1])]
            if len(gone) > 1:  # it may mean either
                gone = []
        for key in gone:
            self._drop(key)
        self.keep(statement)

    def keep(self, statement: Statement) -> None:
        key = _key(statement)
        if key in self._held:
            return
        self._held[key] = (statement, about(statement.text))
        self._by_weight[statement.weight][key] = None
        for subject in self._held[key][1].subjects:
            self._by_subject.setdefault(subject, {})[key] = None
            for word in subject[1]:
                self._by_word.setdefault(word, {})[key] = None
        if len(self._held) > STATEMENTS:
            self._drop(next(iter(next(keys for keys in self._by_weight.values() if keys))))

    def _drop(self, key: _Key) -> None:
        statement, old = self._held.pop(key)
        del self._by_weight[statement.weight][key]
        for subject in old.subjects:
            del self._by_subject[subject][key]
            for word in subject[1]:
                self._by_word[word].pop(key, None)


def _is_line(text: str) -> bool:
    return text != "" and text == text.strip() and len(text.splitlines()) == 1


def _is_label(text: str) -> bool:
    """Whether the line of the label could not be taken for another one."""
    return _is_line(text) and text[0] not in "-!+#"


@lru_cache(maxsize=4096)
def _weight(text: str) -> int:
    if _PROHIBITS.search(text):
        return PROHIBITION
    return RULE if _RULES.search(text) or _PREFERS.search(text) or _is_labelled(text) else FACT


def _key(statement: Statement) -> _Key:
    return (statement.label, " ".join(statement.text.casefold().split()))


def _stated(text: str) -> Sequence[Statement]:
    if len(text) <= 4096:
        return _remembered(text)
    if len(text) <= 2 * LOOKED_CHARS:
        return _heaviest(_read(text))
    return _heaviest([*_read(text[:LOOKED_CHARS]), *_read(text[-LOOKED_CHARS:])])


@lru_cache(maxsize=1024)
def _remembered(text: str) -> Sequence[Statement]:
    return _heaviest(_read(text))


def _heaviest(found: Iterable[Statement]) -> Sequence[Statement]:
    found = tuple(found)
    if len(found) <= A_MESSAGE:
        return found
    kept = sorted(range(len(found)), key=lambda at: -found[at].weight)[:A_MESSAGE]
    return [found[at] for at in sorted(kept)]


def _read(text: str) -> Iterator[Statement]:
    above = None  # the label that the bullets below it have
    for line, mark in _own_lines(text):
        found = _LABEL.match(line)
        rest = found[2] if found else None
        label = (found[1] if found else line).strip()
        if rest is None and (found or mark == "#"):
            above = label if _KINDS.search(label) and len(label) <= LABEL_CHARS and _is_label(label) else None
            continue
        if mark != "-":
            above = None
        if len(line) > STATEMENT_CHARS:
            yield from _sentences(line)
        elif rest is not None and _KINDS.search(label):
            yield Statement(rest.strip(), label)
        elif above is not None:
            yield Statement(line, above)
        elif _is_labelled(line):
            yield Statement(line)
        else:
            yield from _sentences(line)


def _own_lines(text: str) -> Iterator[tuple[str, str]]:
    """Lines that the user has written, each with what marked it: `-` in a list, `#` a heading."""
    fenced = False
    inside = ""
    lines = text.splitlines()
    ends = {found[1]: at for at, line in enumerate(lines) if (found := _END_TAG.search(line))}
    for at, line in enumerate(lines):
        ended = inside and (found := _END_TAG.search(line)) and found[1] == inside
        if not inside and _FENCE.match(line):
            fenced = not fenced
            continue
        if not inside and not fenced and (tag := _TAG.match(line)) and ends.get(tag[1], -1) >= at:
            inside = tag[1]
            ended = line.rstrip().endswith(f"</{inside}>")
        if ended:
            inside = ""
            continue
        if fenced or inside or line.lstrip().startswith((">", "|")) or _LOGGED.match(line.lstrip()):
            continue
        bullet, heading = _BULLET.match(line), _HEADING.match(line)
        marked = bullet or heading
        line = (line[marked.end() :] if marked else line).strip()
        if line:
            yield line, "-" if bullet else "#" if heading else ""


def _is_labelled(line: str) -> bool:
    """Whether a line begins with a word and a colon that say that what follows matters."""
    found = _LABEL.match(line)
    if not found or not found[2]:
        return False
    label = found[1].strip()
    return (label.isupper() and len(label) > 2) or _NOTES.match(label) is not None


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
    if _PREFERS.search(sentence) or _FOR_ALL.search(sentence):
        return True
    if not _STATES.search(sentence):
        return False
    found = about(sentence)
    return found.has_value and (found.changes or bool(found.subjects))
