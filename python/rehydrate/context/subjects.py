"""What a sentence of the user is about, and which values it gives: enough to tell that a later one replaces it.

A sentence is cut into clauses.  Of each clause with a value the *subject* is kept: its kind of value, and the words
that say of what, without the value, without the words that any sentence has, and with one word for those that mean the
same (budget, spend, cost).  A sentence replaces an earlier one when it gives a value for every subject of the earlier
one.  The subjects have to be the same, since "project budget" and "travel budget" are two; only a sentence that says
that it changes something ("now", "moved to", "no longer") may name the subject more shortly or at more length, and
then only when just one earlier sentence can be meant.

Names, codes and paths may be what a rule is about ("never touch a.py") as well as a value ("the branch is spike/a"):
they count as a value only where the clause has a word for what has one such value at a time, or says that it "is" it.
A doubt keeps both.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

Subject = tuple[str, frozenset[str]]
"""Kind of value, words."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_WEEKDAYS = "(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_DIGIT_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    "|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million"
)
_NUMBER = r"\d+(?:[.,]\d+)*"
_COUNT = rf"(?:{_NUMBER}|(?:{_DIGIT_WORDS})(?:[ -](?:and )?(?:{_DIGIT_WORDS}))*)"
_CURRENCY = "美元|元|円|원|dollars?|euros?|pounds?|usd|eur|gbp|chf|yen|rupees?|francs?|bucks|cents?"
_TOKEN = re.compile(
    rf"""
    (?P<url>\b[a-z][a-z0-9+.-]*://[^\s)>\]"'`,;]+)
    |(?P<quoted>`[^`\n]+`|"[^"\n]+"|“[^”\n]+”)
    |(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)
    |(?P<money>[$€£¥₹]\s?{_NUMBER}(?:\s?(?:k|m|bn|million|thousand)\b)?|\b{_COUNT}\s?(?:k\s?)?(?:[€£¥₹]|(?:{_CURRENCY})\b))
    |(?P<date>\b\d{{4}}-\d\d(?:-\d\d)?\b|\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}\b|\b\d\d-\d\d\b
        |\b(?:{_MONTHS})\.?\s\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}}\b)?
        |\b\d{{1,2}}(?:st|nd|rd|th|\.)?\s(?:of\s)?(?:{_MONTHS})\b(?:\s\d{{4}}\b)?
        |\b(?:{_WEEKDAYS})\b)
    |(?P<number>(?<![\w/.-])v?{_NUMBER}(?:\s?(?:%|°|[a-z]{{1,3}}\b)|:\d\d)?(?![\w/-])|\b{_COUNT}\b(?![\w/-]))
    |(?P<word>[^\W_]+(?:[-_/.'’][^\W_]+)*(?:[-_/]\d+)?/?)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CLAUSES = re.compile(r"[.!?;,—–()](?=\s|$)|[()]|[。！？；，、]|\s(?:and|with|but|und|et|y|e|и)\s", re.IGNORECASE)
_CHANGES = re.compile(
    r"\b(?:now|no longer|any ?more|from now on|going forward|as of|instead|update[ds]?|chang(?:ed|es)|moved"
    r"|switch(?:ed)?|rotat(?:ed|ion)|rebased|renamed|replaced|revised|correction|actually|new|would rather|i'd rather"
    r"|ab jetzt|ab sofort|nun|stattdessen|neue[rns]?|désormais|maintenant|dorénavant|ahora|a partir de|agora|adesso"
    r"|теперь|отныне)\b|现在|从现在|改为|改成|今後|これから|変更|이제|앞으로",
    re.IGNORECASE,
)
_EVERYDAY = _set(
    "a an the this that these those it its they them there here we i you he she our your my their us me of in on at by "
    "for from into onto as to is are was were be been being am will would shall should can could may might must do "
    "does did done doing have has had not no never ever always only all every any each both or if then else so than "
    "too very also just now new current currently longer more anymore still yet again already total totally please "
    "user users use uses used using set get got let make makes keep keeps stay stays remain remains run runs running "
    "ran host hosted hosts need needs require required requires want wants wanted prefer prefers preferred rather like "
    "likes put show shows write writes send stick up under below above over between within without until unless while "
    "via about around out off explicit explicitly everyone everything nobody else other others circumstances "
    "circumstance disclose disclosed reveal revealed share shared tell exceed exceeds exceeding pass "
    "least most work working works active park parked update updated change changed "
    "changes changing move moved moves switch switched rotate rotated rotation replace replaced correction instead "
    "actually going forward start starting this's one's who which what when where how i'd i'm we're it's let's that's "
    "owner own owns owned handle handles handling belong belongs assigned der die das den dem ein eine einen ist sind "
    "wird muss müssen soll nicht immer nie nur jetzt von vom zu zum im auf für mit beträgt lautet heißt le la les un "
    "une de des du est sont doit toujours jamais pour el los las una es son debe siempre nunca del para o os as um uma "
    "é são deve sempre il lo gli uno è sono di per и в на с для по это"
)
_CJK = re.compile("([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+)")
_CJK_EVERYDAY = re.compile("从现在起|从现在|现在|今后|今後|これから|改为|改成|です|ます|[是为的在了はをがにで请請]")
_SAME = {
    word: common
    for common, words in {
        "spend": "budget budgets spend spends spending spent cost costs expense expenses expenditure "
        "presupuesto bilancio orçamento kosten ausgaben coût coûts costo costos бюджет",
        "limit": "limit limits limited cap caps capped maximum max ceiling",
        "name": "codename codenamed call called calling name named names label labelled labeled designate designated "
        "designation refer title",
        "time": "time times timezone timezones zone clock clocks timestamp timestamps tz",
        "oncall": "oncall on-call pager duty escalation escalations rota",
        "approve": "approve approves approved approving approval approvals approver approvers",
        "review": "review reviews reviewed reviewing reviewer reviewers",
        "branch": "branch branches branched rebased rebase",
        "answer": "answer answers reply replies response responses respond",
        "unit": "unit units measurement measurements",
        "release": "release releases released ship ships shipped shipping",
        "key": "key keys token tokens",
        "code": "code codes passcode passcodes",
        "database": "database databases db",
        "deploy": "deploy deploys deployed deploying deployment deployments",
        "example": "example examples sample samples snippet snippets",
    }.items()
    for word in words.split()
}
_ROLES = _set(
    "name time oncall approve review style tone language format locale encoding example lead manager assignee "
    "maintainer licence license theme font colour color"
)
"""What has one value of the kind of a name at a time."""
_THINGS = _set(
    "branch code key password passphrase secret pin host hostname server endpoint address email region zone database "
    "commit revision version tag contact model provider framework formatter linter environment cluster bucket "
    "namespace account channel topic queue folder directory path workspace editor"
)
"""What has one, too, when it is named right beside it: "code X", "the X region"."""
_OF_KIND = {
    "money": _set("limit"),
    "date": _set(
        "deadline deadlines date dates due schedule scheduled timing target fixed fix plan planned past land lands "
        "day days"
    ),
    "url": _set("url base link address live lives endpoint"),
    "hash": _set("branch base based"),
    "name": _set("base based"),
}
"""Kind of value -> words that say no more than that there is one."""
_LENGTHS = _set("terse concise brief short long verbose detailed thorough")
_MANNERS = _set(
    "formal informal casual playful warm friendly light dry blunt direct plain cheerful serious neutral polite "
    "professional humorous"
)
_SYSTEMS = _set("metric imperial")
_ADJECTIVES = {
    **dict.fromkeys(_LENGTHS, "length"),
    **dict.fromkeys(_MANNERS, "manner"),
    **dict.fromkeys(_SYSTEMS, "system"),
}
_STYLE = frozenset({"length", "manner"})
"""How answers are to be: the two go together, unless it is said that something changes."""
_COUNTED = _set(
    "issue issues pr ticket tickets bug bugs step steps case cases section sections chapter page line row task tasks "
    "item items figure table node room option question test"
)
"""A number right after one of these says which, not how much."""
_NEXT = re.compile(r"\bnext (?:step|up|action)\b\s*(?:is|:|=|will be)", re.IGNORECASE)
_IS = re.compile(
    r"(?:\b(?:is|are|will be|becomes?|ist|sind|wird|est|sont|es|son|é|è)\s|[:=：]\s*|是|は|を)\s*(?:\w+ )?$",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:never|not|no|cannot|avoid|nie|niemals|nicht|kein\w*|ne|jamais|nunca|não|non|mai|не|никогда)\b|n['’]t\b"
    r"|不|禁止|ない",
    re.IGNORECASE,
)
_THE = re.compile(r"\b(?:the|our|my|your|der|die|das|den|le|la|el|il|o|a)\s", re.IGNORECASE)
_OWNS = re.compile(r"^\s*[^\W\d_]+ (?:(?:is|will be) (?:the|our|my|your)|(?:now )?(?:owns|handles|leads))\b")
_EXCEPT = _set("without unless until because since")
_LEAST = re.compile(
    r"\b(?:(at least|min(?:imum)?|no (?:less|fewer) than|mindestens|au moins|al menos)|above|more than)\b",
    re.IGNORECASE,
)
_TERMS = _set("api apis url urls http https id ids ci db ui os pr prs")
"""Words in capitals that are no names."""
_FILE = re.compile(r"[^.]\.[a-z]{2,5}$")
_HASH = re.compile(r"(?=[0-9a-f]*\d)[0-9a-f]{7,64}", re.IGNORECASE)
_SAID_OF = re.compile(
    r"\s(?:is|are|will be|ist|est|es|é|è) (?:now )?(?:the|our|my|your|der|die|das|le|la|el)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class About:
    """What a sentence is about."""

    subjects: frozenset[Subject]
    """Empty: nothing that has a value, so nothing replaces it but itself."""
    changes: bool
    """It says that something is no longer as it was."""
    has_value: bool
    """A number, date, sum, name, code or address stands in it."""


@lru_cache(maxsize=4096)
def about(text: str) -> About:
    """What one sentence, or a few that belong together, is about."""
    spaced = _CJK.sub(lambda run: f" {_CJK_EVERYDAY.sub(' ', run[1])} ", text)
    changes = _CHANGES.search(text) is not None
    found: set[Subject] = set()
    valued = False
    words: set[str] = set()
    kinds: set[str] = set()
    start = 0
    ends = [*((each.start(), each.end()) for each in _CLAUSES.finditer(spaced)), (len(spaced), len(spaced))]
    for end, following in ends:
        clause = _Clause(spaced[start:end], changes=changes)
        start = following
        valued = valued or clause.has_value
        if "next" in clause.kinds:
            words, kinds = set(), set()  # "after that, the next step is ..."
        words |= clause.words
        kinds |= clause.kinds
        if kinds and words:  # a clause that has only one of the two goes together with the next
            found.update((kind, frozenset(words - _OF_KIND.get(kind, frozenset()) or {kind})) for kind in kinds)
            words, kinds = set(), set()
    return About(frozenset(found), changes, valued)


def replaces(new: About, old: About) -> bool:
    """Whether the new sentence has a value for everything that the old one is about, subject for subject."""
    left = old.subjects - new.subjects
    return left < old.subjects and all(
        kind in _STYLE and any((other, words) in new.subjects for other in _STYLE) for kind, words in left
    )


def may_replace(new: About, old: About) -> bool:
    """Whether the new sentence, which says that it changes something, may mean the old one."""
    return (
        new.changes
        and bool(old.subjects)
        and all(any(_near(mine, theirs) for mine in new.subjects) for theirs in old.subjects)
    )


def _near(mine: Subject, theirs: Subject) -> bool:
    same_kind = mine[0] == theirs[0] or {mine[0], theirs[0]} == _STYLE
    return same_kind and (mine[1] <= theirs[1] or theirs[1] <= mine[1])


class _Clause:
    """The words of a clause that say of what, the kinds of its values, and whether it has any value."""

    def __init__(self, clause: str, *, changes: bool) -> None:
        self.words: set[str] = set()
        self.kinds: set[str] = set()
        self._clause = re.sub(r"\bfirst\s*$", "", clause)
        self._changes = changes
        self._names: list[re.Match[str]] = []
        self._read()
        self.has_value = bool(self.kinds - _STYLE or self._names)
        if _NEXT.search(clause):
            self.words, self.kinds, self.has_value = {"next"}, {"next"}, True
            return
        if self.kinds & _STYLE and self.words and not self.words & {"answer", "tone", "style"}:
            self.kinds -= _STYLE
            self.words |= _ADJECTIVES.keys() & set(clause.casefold().split())
        for name in self._names:
            if not self.kinds - {"name", "hash"} and self._is_value(name):
                self.kinds.add("hash" if _HASH.fullmatch(name.group()) else "name")
            else:
                self.words.add(name.group().casefold())
        if self.kinds and self._is_least():
            self.words.add("least")

    def _read(self) -> None:
        tokens = list(_TOKEN.finditer(self._clause))
        before = ""
        for at, token in enumerate(tokens):
            kind, text = token.lastgroup or "", token.group()
            lower = text.casefold()
            if lower in _EXCEPT and self.kinds:
                break  # what follows is a condition
            forbidden = _forbids(self._clause[: token.start()])
            if kind == "number" and (before in _COUNTED or (forbidden and before and before not in _EVERYDAY)):
                self.words.add(lower)  # which one, not how much
            elif kind == "date" and forbidden and not any(each.isdigit() for each in text):
                self.words.add(lower)
            elif kind == "url" and forbidden:
                self._names.append(token)
            elif kind in {"money", "date", "number", "url"}:
                self.kinds.add(kind)
            elif kind in {"quoted", "email"} or _is_name(text, first=at == 0 and not self._begins_with_name(tokens)):
                self._names.append(token)
            elif lower in _ADJECTIVES:
                self.kinds.add(_ADJECTIVES[lower])
            else:
                self.words.update(_words(lower))
            before = lower

    def _begins_with_name(self, tokens: list[re.Match[str]]) -> bool:
        """Whether the first word is a name, though it has a capital in any case."""
        return (len(tokens) > 1 and _is_name(tokens[1].group(), first=False)) or _OWNS.match(self._clause) is not None

    def _is_value(self, name: re.Match[str]) -> bool:
        """Whether a name is a value, and not what the clause is about."""
        before, after = self._clause[: name.start()], self._clause[name.end() :]
        if _IS.search(before) or _SAID_OF.match(after):
            return True
        if self._changes and self.words & (_ROLES | _THINGS):
            return True
        beside = {*_words(_last(before)), *_words(_last(after, first=True))} & (_ROLES | _THINGS)
        if _forbids(before):
            return bool(beside) and _THE.search(before) is not None
        return bool(beside or self.words & _ROLES)

    def _is_least(self) -> bool:
        """Whether the value is a lower bound, which goes together with an upper one."""
        found = _LEAST.search(self._clause)
        return found is not None and (found[1] is not None or not _NOT.search(self._clause, 0, found.start()))


def _forbids(before: str) -> bool:
    """Whether what stands before a value makes it something that must not be; "not without X" does not."""
    return _NOT.search(before) is not None and not _EXCEPT & set(before.casefold().split())


def _last(text: str, *, first: bool = False) -> str:
    words = text.casefold().split()
    return words[0 if first else -1].strip(":=\"'“”`") if words else ""


def _words(lower: str) -> list[str]:
    if lower in _SAME:
        return [_SAME[lower]]
    if lower in _EVERYDAY:
        return []
    lower = lower.replace("’", "'").removesuffix("'s").removesuffix("s'")
    return [_stem(part) for part in re.split(r"[-_/']", lower) if part and part not in _EVERYDAY]


def _stem(word: str) -> str:
    if word in _SAME:
        return _SAME[word]
    for ending in ("ly", "ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not word.endswith("ss"):
            return _SAME.get(word[: -len(ending)], word[: -len(ending)])
    return word


def _is_name(text: str, *, first: bool) -> bool:
    """Whether a word is a name, code or path rather than a word of the language."""
    lower = text.casefold()
    if lower in _SAME or lower in _EVERYDAY or lower in _ADJECTIVES or lower in _ROLES or lower in _THINGS:
        return False
    if lower in _TERMS:
        return False
    if any(each.isdigit() or each in "_/" for each in text) or _FILE.search(text):
        return True
    if text.isupper():
        return len(text) > 1
    return (text[:1].isupper() and not first) or any(each.isupper() for each in text[1:])
