//! The words that lines and sentences are weighed by: those of `rehydrate/notable.py`, in the order of their bytes.

/// What tells how something came out.
pub(super) const OUTCOMES: &[&str] = &[
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
];

/// What begins a remark that is to be seen.
pub(super) const REMARKS: &[&str] =
    &["always", "fixme", "hack", "important", "must", "never", "note", "todo", "warning", "xxx"];

/// What defines something in code.
pub(super) const DEFINES: &[&str] = &[
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
];

/// What a line of code begins with that only names other code.
pub(super) const BORROWS: &[&str] = &["#include", "from", "import", "package", "require", "use", "using"];

/// What decisions are told with.
pub(super) const DECISIONS: &[&str] = &[
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
];

/// What decisions have, and much else.
pub(super) const LEANINGS: &[&str] = &[
    "always", "approach", "design", "fix", "fixed", "go", "keep", "keeps", "must", "never", "not", "plan", "planned",
    "so", "use", "uses", "will",
];

/// What orders are given with that are to hold.
pub(super) const RULES: &[&str] = &[
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
];

/// What orders have, and much else.
pub(super) const HINTS: &[&str] = &[
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
];

/// What is told rather than asked for.
pub(super) const PAST: &[&str] = &["ago", "been", "had", "looked", "seemed", "took", "was", "were"];

/// How a sentence begins that asks for something.
pub(super) const ASKS: &[&str] = &[
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
];

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

/// Whether a word is one of them.
pub(super) fn has(words: &[&str], word: &str) -> bool {
    words.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_in_order() {
        for list in [OUTCOMES, REMARKS, DEFINES, BORROWS, DECISIONS, LEANINGS, RULES, HINTS, PAST, ASKS] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }
}
