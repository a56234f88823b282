//! The lines or sentences of a text that say most, as `rehydrate/notable.py` weighs them, which says what is worth what.
//!
//! Only texts are weighed of whose characters it is known here, too, what they are to Python ([`Text::new`]): ASCII,
//! Latin-1's letters, Cyrillic, kana, the common Han characters, and what people, compilers and test runners put
//! between words. Places are counted in characters. Scores are counted in quarters.

mod chars;
mod scores;
mod words;

use std::collections::HashMap;

use chars::{fold, is_known, is_line_end, is_space, is_word};

const LINES: usize = 4;
const LINE_CHARS: usize = 200;
const SENTENCES: usize = 3;
const SENTENCE_CHARS: usize = 320;
const MARGIN: usize = 600;
/// A line whose shape comes up more often is one of a series.
const COMMON: u32 = 3;
/// Of a line or a sentence so much is weighed.
const WEIGHED_CHARS: usize = 1_000;
const SHAPE_CHARS: usize = 100;
/// What a sentence has to be worth.
const ENOUGH: i32 = 6;

/// What the lines are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of what a tool answered.
    Result,
    /// Of a file, as it is or as a reading tool numbers its lines.
    File,
    /// Of what an edit puts into a file.
    Change,
}

/// The lines that say most, best first.
#[must_use]
pub fn lines(text: &Text, kind: Kind) -> Vec<String> {
    let mut kept = text.lines();
    if kind == Kind::File && kept.first().is_some_and(|line| text.numbered(line).is_some()) {
        for line in &mut kept {
            line.start = text.numbered(line).unwrap_or(line.start);
        }
    }
    kept.retain_mut(|line| {
        line.end = text.trimmed_end(line.start, line.end);
        text.chars[line.start..line.end].iter().any(|&char| is_word(char))
    });
    let mut numbers = HashMap::new();
    let mut shape = String::new();
    let shapes: Vec<usize> = kept
        .iter()
        .map(|line| {
            text.shape_into(line, &mut shape);
            let next = numbers.len();
            numbers.get(shape.as_str()).copied().unwrap_or_else(|| *numbers.entry(shape.clone()).or_insert(next))
        })
        .collect();
    let mut often = vec![0_u32; numbers.len()];
    for &shape in &shapes {
        often[shape] += 1;
    }
    let mut word = String::new();
    let mut scored = Vec::new();
    for (place, (line, &shape)) in kept.iter().zip(&shapes).enumerate() {
        let (count, is_last) = (often[shape], place + 1 == kept.len());
        if count > COMMON && place > LINES && !is_last && often.len() > LINES {
            continue;
        }
        let head = Span { start: line.start, end: line.end.min(line.start + WEIGHED_CHARS) };
        let score =
            if kind == Kind::Result { text.result_score(head, &mut word) } else { text.file_score(head, &mut word) };
        let alone = if count == 1 {
            4
        } else if count <= COMMON {
            -2
        } else {
            -12
        };
        let end = if is_last { 3 } else { i32::from(place == 0) };
        scored.push((-(score + alone + end), place));
    }
    scored.sort_unstable();
    let mut taken: Vec<Span> = Vec::new();
    for (_, place) in scored {
        let line = kept[place];
        if taken.iter().all(|other| text.shown(*other) != text.shown(line)) {
            taken.push(line);
            if taken.len() == LINES {
                break;
            }
        }
    }
    taken.into_iter().map(|line| text.cut(line, LINE_CHARS + MARGIN)).collect()
}

/// The sentences that say most, best first; those that say too little are left out.
#[must_use]
pub fn sentences(text: &Text) -> Vec<String> {
    let found = text.sentences();
    let mut word = String::new();
    let mut scored: Vec<(i32, usize)> = found
        .iter()
        .enumerate()
        .map(|(place, &sentence)| {
            let last = if place + 1 == found.len() { 2 } else { 0 };
            (-(text.decision_score(sentence, &mut word) + last), place)
        })
        .filter(|&(score, _)| -score >= ENOUGH)
        .collect();
    scored.sort_unstable();
    scored.iter().take(SENTENCES).map(|&(_, place)| text.cut(found[place], SENTENCE_CHARS + MARGIN)).collect()
}

/// Whether what is said sets something that is to hold.
#[must_use]
pub fn is_rule(text: &Text) -> bool {
    let all = Span { start: 0, end: text.chars.len() };
    let mut word = String::new();
    text.signs(all, words::RULE_SIGNS) > 0 || text.count(all, &mut word, words::RULES, 1) > 0 || text.phrases(all) > 0
}

/// The sentences of a request that say most, best first: the places of their first characters and behind their last.
#[must_use]
pub fn telling(text: &Text) -> Vec<(usize, usize)> {
    let mut word = String::new();
    let mut scored: Vec<(i32, usize, usize)> = text
        .sentences()
        .into_iter()
        .map(|sentence| (-text.telling_score(sentence, &mut word), sentence.start, sentence.end))
        .filter(|&(score, _, _)| score < 0)
        .collect();
    scored.sort_unstable();
    scored.into_iter().map(|(_, start, end)| (start, end)).collect()
}

/// Places of the first character and behind the last one.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
}

/// A text of which every character is known.
pub struct Text {
    chars: Vec<char>,
    /// The same in lower case.
    folded: Vec<char>,
}

impl Text {
    /// None for a text with other characters.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        if text.is_ascii() {
            let chars = text.bytes().map(char::from).collect();
            return Some(Self {
                chars,
                folded: text.bytes().map(|byte| char::from(byte.to_ascii_lowercase())).collect(),
            });
        }
        let chars: Vec<char> = text.chars().collect();
        let is_known = chars.iter().all(|&char| is_known(char));
        let folded = chars.iter().map(|&char| fold(char)).collect();
        is_known.then_some(Self { chars, folded })
    }

    fn at(&self, place: usize, end: usize) -> Option<char> {
        self.chars[..end].get(place).copied()
    }

    /// The lines without their ends.
    fn lines(&self) -> Vec<Span> {
        let mut found = Vec::new();
        let mut start = 0;
        while start < self.chars.len() {
            let (line, next) = self.line(start);
            found.push(line);
            start = next;
        }
        found
    }

    /// The line that begins there, and where the next one does.
    fn line(&self, start: usize) -> (Span, usize) {
        let rest = &self.chars[start..];
        let end = start + rest.iter().position(|&char| is_line_end(char)).unwrap_or(rest.len());
        let is_two = self.chars[end..].starts_with(&['\r', '\n']);
        (Span { start, end }, (end + 1 + usize::from(is_two)).min(self.chars.len()))
    }

    fn trimmed_end(&self, start: usize, end: usize) -> usize {
        start + self.chars[start..end].iter().rposition(|&char| !is_space(char)).map_or(0, |at| at + 1)
    }

    fn trimmed_start(&self, start: usize, end: usize) -> usize {
        start + self.chars[start..end].iter().position(|&char| !is_space(char)).unwrap_or(end - start)
    }

    /// Where a line goes on behind the number that a reading tool has put before it.
    fn numbered(&self, line: &Span) -> Option<usize> {
        let start = self.trimmed_start(line.start, line.end);
        let digits = self.chars[start..line.end].iter().take_while(|char| char.is_ascii_digit()).count();
        let is_numbered = digits > 0 && matches!(self.at(start + digits, line.end), Some('\t' | '→'));
        is_numbered.then_some(start + digits + 1)
    }

    /// What lines of a series have in common.
    fn shape_into(&self, line: &Span, shape: &mut String) {
        let end = line.end.min(line.start + SHAPE_CHARS);
        let start = self.trimmed_start(line.start, end);
        shape.clear();
        let mut is_number = false;
        for &char in &self.chars[start..self.trimmed_end(start, end)] {
            if !char.is_ascii_digit() {
                shape.push(char);
            } else if !is_number {
                shape.push('0');
            }
            is_number = char.is_ascii_digit();
        }
    }

    fn shown(&self, line: Span) -> &[char] {
        &self.chars[line.start..line.end.min(line.start + LINE_CHARS)]
    }

    fn cut(&self, span: Span, most: usize) -> String {
        self.chars[span.start..span.end.min(span.start + most)].iter().collect()
    }

    /// Each sentence, a line being at least one; what stands in code fences is left out.
    fn sentences(&self) -> Vec<Span> {
        let mut found = Vec::new();
        let mut is_fenced = false;
        let mut at = 0;
        while at < self.chars.len() {
            let (_, next) = self.line(at);
            let lead = self.trimmed_start(at, next);
            let fence = &self.chars[lead..next];
            if fence.starts_with(&['`', '`', '`']) || fence.starts_with(&['~', '~', '~']) {
                is_fenced = !is_fenced;
            } else if !is_fenced {
                self.sentences_of(at, next, &mut found);
            }
            at = next;
        }
        found
    }

    fn sentences_of(&self, mut start: usize, next: usize, found: &mut Vec<Span>) {
        while start < next {
            let end = (start..next).find_map(|at| self.sentence_end(at, next)).unwrap_or(next);
            if self.chars[start..end].iter().any(|&char| is_word(char)) {
                found.push(Span { start: self.trimmed_start(start, end), end: self.trimmed_end(start, end) });
            }
            start = end;
        }
    }

    /// Where a sentence ends that this character may end, the space behind it included.
    fn sentence_end(&self, at: usize, next: usize) -> Option<usize> {
        match self.chars[at] {
            '.' | '!' | '?' => {
                let quoted = usize::from(matches!(self.at(at + 1, next), Some('"' | '\'' | ')' | ']')));
                let behind = at + 1 + quoted;
                let end = self.trimmed_start(behind, next);
                (end > behind).then_some(end)
            }
            '。' | '！' | '？' => Some(at + 1),
            _ => None,
        }
    }
}
