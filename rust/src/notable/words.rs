//! The words that lines and sentences are weighed by: those of `rehydrate/notable.py`, in the order of their bytes.

/// What tells how something came out.
pub(super) const OUTCOMES: Words = Words::new(&[
    "assertion",
    "average",
    "built",
    "code",
    "coverage",
    "created",
    "denied",
    "done",
    "error",
    "errors",
    "exception",
    "exit",
    "expected",
    "fail",
    "failed",
    "failing",
    "failure",
    "failures",
    "found",
    "got",
    "latency",
    "max",
    "mean",
    "median",
    "min",
    "mismatch",
    "missing",
    "panic",
    "pass",
    "passed",
    "passing",
    "rate",
    "refused",
    "result",
    "results",
    "score",
    "succeeded",
    "success",
    "summary",
    "throughput",
    "timed",
    "timeout",
    "total",
    "traceback",
    "version",
    "warning",
    "warnings",
]);

/// What begins a remark that is to be seen.
pub(super) const REMARKS: Words =
    Words::new(&["always", "fixme", "hack", "important", "must", "never", "note", "todo", "warning", "xxx"]);

/// What defines something in code.
pub(super) const DEFINES: Words = Words::new(&[
    "ALTER",
    "CREATE",
    "alter",
    "class",
    "const",
    "create",
    "def",
    "enum",
    "fn",
    "func",
    "function",
    "impl",
    "interface",
    "let",
    "module",
    "struct",
    "trait",
    "type",
    "var",
]);

/// What a line of code begins with that only names other code.
pub(super) const BORROWS: Words = Words::new(&["#include", "from", "import", "package", "require", "use", "using"]);

/// What decisions are told with.
pub(super) const DECISIONS: Words = Words::new(&[
    "agree",
    "agreed",
    "because",
    "cause",
    "choose",
    "choosing",
    "chose",
    "chosen",
    "conclude",
    "concluded",
    "conclusion",
    "decide",
    "decided",
    "decides",
    "decidido",
    "deciding",
    "decision",
    "decisions",
    "décidé",
    "entschieden",
    "instead",
    "opt",
    "opted",
    "parce",
    "porque",
    "rather",
    "reason",
    "reject",
    "rejected",
    "settle",
    "settled",
    "since",
    "statt",
    "tradeoff",
    "turns",
    "weil",
]);

/// What decisions have, and much else.
pub(super) const LEANINGS: Words = Words::new(&[
    "always", "approach", "design", "fix", "fixed", "go", "keep", "keeps", "must", "never", "not", "plan", "planned",
    "so", "use", "uses", "will",
]);

/// What orders are given with that are to hold.
pub(super) const RULES: Words = Words::new(&[
    "allowed",
    "always",
    "avoid",
    "doesn't",
    "don't",
    "ensure",
    "forbid",
    "forbidden",
    "immer",
    "important",
    "jamais",
    "kein",
    "keine",
    "muss",
    "must",
    "mustn",
    "never",
    "niemals",
    "not",
    "nunca",
    "please",
    "remember",
    "require",
    "required",
    "requires",
    "siempre",
    "toujours",
]);

/// What orders have, and much else.
pub(super) const HINTS: Words = Words::new(&[
    "all",
    "any",
    "constraint",
    "constraints",
    "every",
    "keep",
    "keeps",
    "least",
    "limit",
    "limits",
    "most",
    "no",
    "nur",
    "only",
    "prefer",
    "preferred",
    "rule",
    "rules",
    "should",
    "shouldn't",
    "standing",
    "stay",
    "stays",
    "stick",
    "sure",
    "than",
]);

/// What is told rather than asked for.
pub(super) const PAST: Words = Words::new(&["ago", "been", "had", "looked", "seemed", "took", "was", "were"]);

/// How a sentence begins that asks for something.
pub(super) const ASKS: Words = Words::new(&[
    "add",
    "answer",
    "build",
    "call",
    "can",
    "change",
    "check",
    "cite",
    "could",
    "create",
    "do",
    "don't",
    "fix",
    "give",
    "go",
    "i'd",
    "implement",
    "keep",
    "make",
    "move",
    "name",
    "never",
    "only",
    "please",
    "put",
    "read",
    "refactor",
    "remove",
    "rename",
    "run",
    "show",
    "start",
    "stay",
    "stop",
    "tell",
    "test",
    "treat",
    "update",
    "use",
    "write",
]);

/// Of scripts without spaces: what decisions are told with.
pub(super) const DECISION_SIGNS: &[&str] = &["决定", "因为", "选择", "采用", "決めた", "ため"];

/// The same of orders.
pub(super) const RULE_SIGNS: &[&str] = &["必须", "不要", "不得", "禁止", "总是", "絶対", "必ず"];

/// Orders are given with these, too.
pub(super) const RULE_PHRASES: &[&str] = &[
    "from now on",
    "at most",
    "at least",
    "no more than",
    "no less than",
    "no fewer than",
    "no later than",
    "no longer than",
    "make sure",
    "do not",
    "in all case",
    "in any case",
    "in every case",
    "stick to",
    "without",
];

/// What a number is a measure with.
pub(super) const UNITS: &[&str] = &["%", "ms", "s", "kB", "KB", "MB", "GB", "MiB", "GiB", "px", "x", "/s"];

/// How a sentence begins that says little.
pub(super) const FILLERS: &[&str] = &[
    "let me", "let's", "now", "next", "first", "ok", "okay", "sure", "great", "perfect", "good", "here", "i'll",
    "i will", "i can", "i see", "looking", "checking", "done", "thanks",
];

/// Words, in the order of their bytes.
#[derive(Clone, Copy)]
pub(super) struct Words {
    words: &'static [&'static str],
    /// Of each letter of ASCII, from bit 0 on, whether a word begins with it in lower case, and in the last bit whether
    /// one begins with anything else: most words of a text are none of these.
    firsts: u32,
}

const OTHER: u32 = 1 << 31;

impl Words {
    const fn new(words: &'static [&'static str]) -> Self {
        let (mut firsts, mut at) = (0, 0);
        while at < words.len() {
            firsts |= match words[at].as_bytes()[0] {
                first @ b'a'..=b'z' => 1 << (first - b'a'),
                _ => OTHER,
            };
            at += 1;
        }
        Self { words, firsts }
    }

    /// Whether a word that begins with it can be one of them.
    pub(super) fn may_begin(&self, first: char) -> bool {
        let bit = if first.is_ascii_lowercase() { 1 << (first as u32 - 'a' as u32) } else { OTHER };
        self.firsts & bit != 0
    }

    /// Whether a word is one of them.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.binary_search(&word).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_list_may_begin_with_its_letter() {
        for list in [OUTCOMES, REMARKS, DEFINES, BORROWS, DECISIONS, LEANINGS, RULES, HINTS, PAST, ASKS] {
            assert!(list.words.iter().all(|word| word.chars().next().is_some_and(|first| list.may_begin(first))));
        }
    }

    #[test]
    fn every_list_is_in_order() {
        for list in [OUTCOMES, REMARKS, DEFINES, BORROWS, DECISIONS, LEANINGS, RULES, HINTS, PAST, ASKS] {
            assert!(list.words.is_sorted(), "{:?}", list.words);
        }
    }
}
