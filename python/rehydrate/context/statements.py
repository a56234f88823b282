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
from rehydrate.context.messages import FOREIGN, Message, blocks, kind_of
from rehydrate.context.signs import FACT, PROHIBITION, RULE, STATEMENT_CHARS, refers, states, weight
from rehydrate.context.subjects import About, Subject, about, may_replace, replaces

STATEMENTS = 256
"""At most so many hold at a time; the lightest and oldest go first."""
A_MESSAGE = 64
"""At most so many come from one message, the heaviest: whoever pastes a manual has not made it all a rule."""
JOINED_CHARS = 300
"""Sentences of one line that follow each other are one statement up to this length."""
LOOKED_CHARS = 16_384
"""Of each end of a message; what lies between is not looked at."""
LABEL_CHARS = 40

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_TAG = re.compile(r"^\s*<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>")
_END_TAG = re.compile(r"</([A-Za-z][\w.:-]*)>\s*$")
_BULLET = re.compile(r"^\s*(?:(?:[-*•]|\(?\d{1,3}[.)])\s+)+")
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
    r"^(?:important|remember|reminder|note|update|correction|deadline|budget|limit|style|wichtig|hinweis|importante?|attention"
    r"|atención|attenzione|внимание|важно|注意|重要|更新|중요|주의)\b|^[注重更]",
    re.IGNORECASE,
)
_COPIED = re.compile(
    r"^\s*(?:[>|+]|@@|\$ |at \S+ ?\(|npm (?:err!|warn)|\W?\d{4}-\d\d-\d\d[T ]\d\d:|\W?\w*(?:error|exception)\W?:"
    r"|\W?(?:info|warn(?:ing)?|debug|trace|fatal|critical|fail(?:ed)?|ok|passed)\W?:)"
    r"|(?:[{}]|\);)\s*$",
    re.IGNORECASE,
)
"""A line that is quoted, or that a program wrote: tables, changes, logs, stacks, code."""
_SENTENCES = re.compile(r"(?<=[.!?])[\"')\]”]?\s+(?=\S)|(?<=[。！？])")


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
        if self.label or _is_labelled(self.text):
            return max(weight(self.text), RULE)
        return weight(self.text)


def statements(messages: Iterable[Message], *, earlier: Sequence[Statement] = ()) -> list[Statement]:
    """What holds after these messages, in the order in which it was said.

    `earlier`: what held before them, as a summary has it.  Of two that say the same the first one stays.  Messages
    that are summaries are passed over: whoever has one of ours says so with `earlier`, and no user has written others.
    """
    held = _Held()
    for statement in earlier:
        held.keep(statement)
    for message in messages:
        if message.get("role") != "user" or kind_of(message) == FOREIGN:
            continue
        for block in blocks(message):
            text = block.get("text")
            if block.get("type") == "text" and isinstance(text, str) and not text.startswith(OPENING):
                for statement in _stated(text):
                    held.say(statement)
    return held.all()


def unstated(text: str) -> str:
    """What the user has written in a message beside what it states, as one line: mostly what is asked for."""
    stated = sorted((each.text for each in _stated(text)), key=len, reverse=True)
    lines = []
    for line, _ in _own_lines(text):
        for each in stated:
            line = line.replace(each, " ")
        line = " ".join(line.split())
        if len(line) > 1 and not line.endswith((":", "：")):
            lines.append(line)
    return " ".join(lines)


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


def _key(statement: Statement) -> _Key:
    return (statement.label, " ".join(statement.text.casefold().split()))


def _stated(text: str) -> Sequence[Statement]:
    if len(text) <= 4096:
        return _remembered(text)
    if len(text) <= 2 * LOOKED_CHARS:
        return _remembered_long(text)
    return _heaviest([*_remembered_long(text[:LOOKED_CHARS]), *_remembered_long(text[-LOOKED_CHARS:])])


@lru_cache(maxsize=1024)
def _remembered(text: str) -> Sequence[Statement]:
    return _heaviest(_read(text))


@lru_cache(maxsize=64)  # fewer, for their texts are kept with them
def _remembered_long(text: str) -> Sequence[Statement]:
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
        if fenced or inside or _COPIED.search(line):
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
    """The sentences of a line that state something; those that belong together are one statement."""
    start = stop = None
    at = last = 0
    for end, following in [*((each.start(), each.end()) for each in _SENTENCES.finditer(line)), (len(line), len(line))]:
        if states(line[at:end]):
            if start is not None and end - start <= JOINED_CHARS:
                stop = end
            else:
                if start is not None:
                    yield Statement(line[start:stop].strip())
                start = last if refers(line[at:end]) and end - last <= JOINED_CHARS else at
                stop = end
        elif start is not None:
            yield Statement(line[start:stop].strip())
            start = stop = None
        last, at = at, following
    if start is not None:
        yield Statement(line[start:stop].strip())
