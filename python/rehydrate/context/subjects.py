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
_CURRENCY = "dollars?|euros?|pounds?|usd|eur|gbp|chf|yen|rupees?|francs?|bucks|cents?"
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
    "too very also just now new old current currently previous previously longer more anymore still yet again already "
    "total totally please user users use uses used using set get got let make makes keep keeps stay stays remain "
    "remains run runs running ran host hosted hosts need needs require required requires want wants wanted prefer "
    "prefers preferred rather like likes put show shows write writes send stick up under below above over between "
    "within without until unless before after while per via about around out off first next explicit explicitly "
    "everyone everything nobody else other others circumstances circumstance disclose disclosed reveal revealed share "
    "shared tell exceed exceeds exceeding pass cap capped limit limited maximum max minimum min ceiling least most "
    "work working works active park parked update updated change changed changes changing move moved moves switch "
    "switched rotate rotated rotation replace replaced correction instead actually going forward start starting "
    "today week day month year this's one's be's who which what when where how i'd i'm we're it's let's that's "
    "owner own owns owned handle handles handling belong belongs assigned der die das den dem ein eine einen ist sind "
    "wird muss müssen soll nicht immer nie nur jetzt le la les un une est sont doit toujours jamais el los las una es "
    "son debe siempre nunca o os as um uma é são deve sempre il lo gli uno è sono"
)
_SAME = {
    word: common
    for common, words in {
        "spend": "budget budgets spend spends spending spent cost costs expense expenses expenditure",
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
    "name time oncall approve review branch code key password passphrase secret pin url host hostname server endpoint "
    "address port email region zone database commit revision version tag style tone language format locale encoding "
    "owner owns own lead manager assignee contact maintainer model provider framework formatter linter environment "
    "cluster bucket namespace account channel topic queue folder directory path workspace licence license theme font "
    "colour color example tool editor"
)
"""What has one value of the kind of a name at a time."""
_OF_KIND = {
    "date": _set(
        "deadline deadlines date dates due schedule scheduled timing target fixed fix plan planned land lands lives at"
    ),
    "url": _set("url base link address live lives endpoint"),
    "hash": _set("branch base based"),
    "name": _set("base based"),
}
"""Kind of value -> words that say no more than that there is one."""
_STYLES = _set(
    "terse concise brief short long verbose detailed thorough formal informal casual playful warm friendly light dry "
    "blunt direct plain cheerful serious neutral polite professional humorous"
)
_SYSTEMS = _set("metric imperial")
_COUNTED = _set(
    "issue issues pr ticket tickets bug bugs step steps case cases section sections chapter page line row task tasks "
    "item items figure table node room option question test phase's"
)
"""A number right after one of these says which, not how much."""
_NEXT = re.compile(r"\bnext (?:step|up|action)\b\s*(?:is|:|=|will be)", re.IGNORECASE)
_IS = re.compile(
    r"(?:\b(?:is|are|will be|becomes?|ist|sind|wird|est|sont|es|son|é|è)\s|[:=：]\s*|是|は|を)\s*(?:\w+ )?$",
    re.IGNORECASE,
)
_HASH = re.compile(r"(?=[0-9a-f]*\d)[0-9a-f]{7,64}", re.IGNORECASE)
_SAID_OF = re.compile(r"\s(?:is|are|will be|ist|est|es|é|è) (?:the|our|my|your|der|die|das|le|la|el)\b", re.IGNORECASE)


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
    found: set[Subject] = set()
    valued = False
    words: set[str] = set()
    kinds: set[str] = set()
    start = 0
    for end, stop in [*((each.start(), each.end()) for each in _CLAUSES.finditer(text)), (len(text), len(text))]:
        clause_words, clause_kinds, has_value = _clause(text[start:end])
        start = stop
        valued = valued or has_value
        words |= clause_words
        kinds |= clause_kinds
        if kinds and words:
            found.update((kind, frozenset(words) - _OF_KIND.get(kind, frozenset())) for kind in kinds)
            words, kinds = set(), set()
    return About(
        frozenset(each for each in found if each[1]),
        _CHANGES.search(text) is not None,
        valued,
    )


def replaces(new: About, old: About) -> bool:
    """Whether the new sentence has a value for everything that the old one is about, subject for subject."""
    return bool(old.subjects) and old.subjects <= new.subjects


def may_replace(new: About, old: About) -> bool:
    """Whether the new sentence, which says that it changes something, may mean the old one."""
    return (
        new.changes
        and bool(old.subjects)
        and all(any(_near(mine, theirs) for mine in new.subjects) for theirs in old.subjects)
    )


def _near(mine: Subject, theirs: Subject) -> bool:
    return mine[0] == theirs[0] and (mine[1] <= theirs[1] or theirs[1] <= mine[1])


def _clause(clause: str) -> tuple[set[str], set[str], bool]:
    """The words of a clause that say of what, the kinds of its values, and whether it has any value."""
    words: set[str] = set()
    kinds: set[str] = set()
    names: list[tuple[str, str, int, int]] = []
    before = ""
    tokens = list(_TOKEN.finditer(clause))
    for at, token in enumerate(tokens):
        kind = token.lastgroup or ""
        text = token.group()
        first = at == 0 and not (len(tokens) > 1 and _is_name(tokens[1].group(), first=False))
        if kind in {"money", "date", "url"} or (kind == "number" and before not in _COUNTED):
            kinds.add(kind)
        elif kind in {"quoted", "email"} or (kind == "word" and _is_name(text, first=first)):
            names.append((text, "hash" if _HASH.fullmatch(text) else "name", token.start(), token.end()))
        elif kind == "word":
            lower = text.casefold()
            if lower in _STYLES:
                kinds.add("style")
            elif lower in _SYSTEMS:
                kinds.add("system")
            else:
                words.update(_words(lower))
        else:
            words.add(text.casefold())
        before = text.casefold()
    if "style" in kinds and not words & {"answer", "tone", "style"}:
        words |= _STYLES & set(clause.casefold().split())
        kinds.discard("style")
    if _NEXT.search(clause):
        return {"next"}, {"next"}, bool(kinds or names)
    has_value = bool(kinds - {"style"} or names)
    if kinds or not names:
        words.update(name.casefold() for name, *_ in names)
    elif words & _ROLES or _EVERYDAY & _ROLES & set(clause.casefold().split()) or _is_said(clause, names):
        kinds.update(kind for _, kind, *_ in names)
    else:
        words.update(name.casefold() for name, *_ in names)
    return words - _EVERYDAY, kinds, has_value


def _is_said(clause: str, names: list[tuple[str, str, int, int]]) -> bool:
    """Whether something is said to be one of the names, or a name to be something."""
    return any(_IS.search(clause[:start]) or _SAID_OF.match(clause, end) for _, _, start, end in names)


def _words(lower: str) -> list[str]:
    if lower in _SAME:
        return [_SAME[lower]]
    if lower in _EVERYDAY:
        return []
    lower = lower.replace("’", "'").removesuffix("'s").removesuffix("s'")
    parts = [part for part in re.split(r"[-_/']", lower) if part]
    return [_stem(part) for part in parts if part not in _EVERYDAY]


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
    if lower in _SAME or lower in _EVERYDAY or lower in _STYLES or lower in _ROLES:
        return False
    if lower in {"api", "url", "http", "id", "ci"}:
        return False
    if any(each.isdigit() for each in text) or "_" in text or "/" in text:
        return True
    if text.isupper():
        return len(text) > 1
    return (text[:1].isupper() and not first) or any(each.isupper() for each in text[1:])
