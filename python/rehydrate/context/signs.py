"""By which words a sentence is known as one that may still hold later, and what it weighs.

Words and beginnings that rules, preferences, conventions, decisions and facts have, in a dozen languages.  A sentence
that is missed is lost with the messages, one too many takes a line: so a doubt counts for the sentence, but a request
to do something once, a question, a guess and what is told of the past do not count.
"""

import re
from functools import lru_cache

from rehydrate.context.subjects import about

STATEMENT_CHARS = 600
"""What is longer is a document, and no statement."""

PROHIBITION, RULE, FACT = 3, 2, 1
"""What a sentence weighs: what must not happen; other rules, preferences and decisions; facts."""

_PROHIBITS = re.compile(
    r"\b(?:never|must ?n[o']t|must never|may not|shall not|forbidden|prohibited|not allowed|under no circumstances"
    r"|no longer allowed|off[- ]limits|niemals|nie|verboten|darf(?:st)? (?:nicht|kein\w*)|jamais|interdit\w*|nunca"
    r"|jamás|prohibid\w+|proibid\w+|mai|vietato|никогда|нельзя|запрещено|nooit|nigdy|asla)\b"
    r"|(?:^|[.!?,;:–—] )(?:(?:and|but|please|so|bitte) )*"
    r"(?:do not|don['’]t|avoid|stop \w+ing|keine?n?|ne pas|не|nie)\s"
    r"|^(?:please )?no (?!\W)"
    r"|\b(?:you|we) (?:do not|don['’]t|should not|shouldn['’]t|cannot|can['’]t) "
    r"|不要|不得|禁止|不准|绝不|切勿|严禁|しないで|てはいけない|ではいけない|絶対に|하지 ?마|금지|절대",
    re.IGNORECASE,
)
_RULES = re.compile(
    r"\b(?:must|always|from now on|going forward|make sure|ensure|required|mandatory|at (?:most|least)"
    r"|no (?:more|less|fewer|later|longer) than|only|ask (?:me )?(?:first|before)|stick to"
    r"|without (?:my|explicit|asking)|(?:has|have|needs) to be"
    r"|until|before (?:you|pushing|committing|merging|release|releasing|deploying)|ab jetzt|immer|muss|müssen|nur"
    r"|toujours|doit|doivent|uniquement|désormais|siempre|debe[ns]?|solo|sólo|sempre|deve[m]?|apenas|soltanto|всегда"
    r"|должн\w+|только|altijd|moet|zawsze|musi|daima)\b"
    r"|^(?:for|when|whenever|if|before|after) [^,.]{2,60}, "
    r"(?!(?:i|we|it|there|the|this|that|you|they|he|she|what|why|how|can|could|is)\b)"
    r"|^(?:please )?keep .+ (?:under|below|above|at|within|away|free)\b"
    r"|^(?:please |bitte )?use .+ (?:for|instead|everywhere|when|not)\b"
    r"|^(?:please )?remember\b|^请(?!问)|必须|务必|总是|一律|只能|必ず|常に|べき|반드시|항상",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:prefers?|preferred|preference|(?:i|we|user) (?:wants?|likes?|hates?|need)"
    r"|(?:i|we)['’]d (?:like|rather|prefer)"
    r"|would (?:rather|like|prefer)|answers?|repl(?:y|ies)|responses?|tone|style|bevorzuge\w*|lieber|möchte|préfère\w*"
    r"|prefiero|prefiere|quiero|prefiro|quero|preferisco|voglio|предпочита\w+|хочу)\b|喜欢|偏好|希望|ほしい|好み|원해|선호",
    re.IGNORECASE,
)
_DECIDES = re.compile(
    r"^(?:(?:ok(?:ay)?|actually|so|then|and|no|yes),? )*(?:let['’]s |we |i |we['’]ll )?"
    r"(?:(?:have |had )?(?:decided?|chose|agreed|settled on|rejected|ruled out|went with)|(?:go|stay|stick) with)\b"
    r"|\b(?:scratch that|(?:decided|decision) (?:on|against|for|to|is)|entschieden|décidé|decidido|deciso|решили)\b"
    r"|决定|決めた|결정",
    re.IGNORECASE,
)
_FOR_ALL = re.compile(
    r"^(?:please )?(?!(?:i|we|it|the|this|that|there|these|those|you|they|he|she|fix|show|look|check|find|explain"
    r"|refactor|rename|remove|delete|read|open|review|list|summari[sz]e|update|convert|migrate|replace|move|go|give|tell)\b)"
    r"\w+ .*\b(?:all|every|each)\b",
    re.IGNORECASE,
)
_CUSTOMS = re.compile(
    r"^(?:we|our team) (?:use|support|target|deploy|follow|write|run|store|keep|ship|merge|release|work|have)\b"
    r"|^(?:i['’]m|i am) (?:a|an|the|on|in|from|based|new|not an?|at)\b"
    r"|^i (?:work|live|speak|use|am called)\b|^my name\b"
    r"|\b(?:should|shall|ought to|supposed to|has to|have to|needs? to|sollte[n]?|devrait|debería[n]?|deveria[m]?)\b",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"\b(?:is|are|was renamed|will be|runs?|lives?|belongs?|owns?|lands?|ships?|moved|changed|switched|rebased|rotated"
    r"|renamed|call(?:ed|ing)?|now|ceiling|cap|capped|limit|deadline|due|based|uses?|ist|sind|heißt|liegt|läuft|est|sont"
    r"|es|está|son|é|são|è|sono|это|работает|находится|wordt|jest)\b|是|为|在|です|は|이다|입니다|[:=]",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"^(?:please |can you |could you |now |ok(?:ay)?,? |so,? |and |i (?:want|need|would like|['’]d like) (?:you )?to "
    r"|i['’]d like (?:you )?to |we (?:want|need|should|have) to |let['’]s |you should |we should )*"
    r"(?:fix|add|implement|write|create|run|show|look|check|find|explain|refactor|rename|remove|delete|read|open|try"
    r"|tell|give|help|build|debug|investigate|review|continue|migrate|update|change|move|test"
    r"|go ahead|start|figure|see|do)\b",
    re.IGNORECASE,
)
_GUESSES = re.compile(
    r"\b(?:must (?:be|have) (?:a|an|been|some)|i (?:do not|don['’]t|never|always|only)"
    r"|(?:it|this|that|which) (?:never|always|only|must)|(?:has|have|had|was|were|['’]ve) (?:never|always|only)"
    r"|never (?:work(?:s|ed)|happen(?:s|ed)|been|had)|only (?:happens|occurs|fails|one|two|three)|i think|maybe|perhaps"
    r"|wonder)\b",
    re.IGNORECASE,
)
_REFERS = re.compile(r"\b(?:it|this|that|them|these|those|so)\W*$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def weight(text: str) -> int:
    """`PROHIBITION`, `RULE` or `FACT`."""
    if _PROHIBITS.search(text):
        return PROHIBITION
    return RULE if _RULES.search(text) or _PREFERS.search(text) or _DECIDES.search(text) else FACT


def states(sentence: str) -> bool:
    """Whether a sentence says something that may still hold later."""
    sentence = sentence.strip()
    if not (8 if sentence.isascii() else 2) <= len(sentence) <= STATEMENT_CHARS:
        return False
    if sentence.endswith(("?", "？")) or _GUESSES.search(sentence):
        return False
    if any(sign.search(sentence) for sign in (_PROHIBITS, _RULES, _DECIDES, _FOR_ALL)):
        return True
    if _ONCE.match(sentence):
        return False
    if _PREFERS.search(sentence) or _CUSTOMS.search(sentence):
        return True
    if not _STATES.search(sentence):
        return False
    found = about(sentence)
    return found.has_value and (found.changes or bool(found.subjects))


def refers(sentence: str) -> bool:
    """Whether a sentence ends with a word for what the one before it speaks of."""
    return _REFERS.search(sentence) is not None
