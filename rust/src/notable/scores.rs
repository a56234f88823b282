//! What a line or a sentence is worth, in quarters.

use super::chars::{is_letter, is_space, is_word};
use super::words::Words;
use super::{LINE_CHARS, Span, Text, WEIGHED_CHARS, words};

/// Of a sentence so much tells whether it begins with asking for something.
const ASKED_CHARS: usize = 12;

/// What the phrases that set a rule begin with.
const PHRASE_STARTS: [char; 8] = ['a', 'd', 'f', 'i', 'm', 'n', 's', 'w'];

impl Text {
    /// Of a line that a tool answered.
    pub(super) fn result_score(&self, line: Span, word: &mut String) -> i32 {
        let mut score = 0;
        if self.has_digit(line) {
            score += 6 + if self.has_value(line) { 4 } else { 0 };
        }
        score += if self.count(line, word, words::OUTCOMES, 1) > 0 { 6 } else { 0 };
        score - if line.end - line.start > 2 * LINE_CHARS { 4 } else { 0 }
    }

    /// Of a line of a file.
    pub(super) fn file_score(&self, line: Span, word: &mut String) -> i32 {
        let chars = &self.chars[line.start..line.end];
        let mut score = if self.has_digit(line) { 4 } else { 0 };
        score += if self.has_value(line) { 8 } else { 0 };
        let words = chars.split(|&char| is_space(char)).filter(|word| !word.is_empty()).take(3);
        let mut has_definition = false;
        for (place, found) in words.enumerate() {
            let is_borrowing = place == 0 && words::BORROWS.may_begin(found[0]);
            if !is_borrowing && !words::DEFINES.may_begin(found[0]) {
                continue;
            }
            word.clear();
            word.extend(found);
            score -= if is_borrowing && words::BORROWS.has(word) { 6 } else { 0 };
            has_definition |= words::DEFINES.has(word);
        }
        score += if has_definition { 4 } else { 0 };
        let pairs = chars.windows(2).any(|pair| matches!(pair, ['/', '/'] | ['-', '-']));
        let has_mark = pairs || chars.iter().any(|char| matches!(char, '#' | '*'));
        score += if has_mark && self.count(line, word, words::REMARKS, 1) > 0 { 6 } else { 0 };
        score - if chars.len() > 2 * LINE_CHARS { 4 } else { 0 }
    }

    /// Of a sentence of an answer.
    pub(super) fn decision_score(&self, sentence: Span, word: &mut String) -> i32 {
        let sentence = Span { end: sentence.end.min(sentence.start + WEIGHED_CHARS), ..sentence };
        let mut score =
            7 * (self.count(sentence, word, words::DECISIONS, 2) + self.signs(sentence, words::DECISION_SIGNS)).min(2);
        score += 3 * self.count(sentence, word, words::LEANINGS, 2);
        score += if self.has_digit(sentence) { 3 } else { 0 };
        score += if self.has_name(sentence) { 3 } else { 0 };
        score -= if self.is_filler(sentence) { 6 } else { 0 };
        score - if self.chars[sentence.start..sentence.end].last() == Some(&'?') { 4 } else { 0 }
    }

    /// Of a sentence of a request.
    pub(super) fn telling_score(&self, sentence: Span, word: &mut String) -> i32 {
        let sentence = Span { end: sentence.end.min(sentence.start + WEIGHED_CHARS), ..sentence };
        let begin = Span { end: sentence.end.min(sentence.start + ASKED_CHARS), ..sentence };
        let rules = self.count(sentence, word, words::RULES, 2)
            + self.signs(sentence, words::RULE_SIGNS)
            + self.phrases(sentence);
        let mut score = 8 * rules.min(2) + 3 * self.count(sentence, word, words::HINTS, 2);
        score += if self.has_name(sentence) { 2 } else { 0 };
        score -= if self.count(sentence, word, words::PAST, 1) > 0 { 4 } else { 0 };
        score += if self.has_digit(sentence) { 3 } else { 0 };
        let is_asked = self.count(begin, word, words::ASKS, 1) > 0 || self.chars[sentence.end - 1] == '?';
        score + if is_asked { 5 } else { 0 }
    }

    fn has_digit(&self, span: Span) -> bool {
        self.chars[span.start..span.end].iter().any(char::is_ascii_digit)
    }

    /// Whether something is given a value, or a number has a unit.
    fn has_value(&self, span: Span) -> bool {
        (span.start..span.end).any(|at| match self.chars[at] {
            '=' | ':' => {
                let next = self.trimmed_start(at + 1, span.end);
                matches!(self.at(next, span.end), Some('"' | '\'' | '0'..='9' | '[' | '{' | '(' | '-'))
            }
            '0'..='9' => {
                let next = at + 1 + usize::from(self.at(at + 1, span.end).is_some_and(is_space));
                words::UNITS.iter().any(|unit| self.has_word(&self.chars, next, span.end, unit))
            }
            _ => false,
        })
    }

    /// Whether such a word stands there and ends there, or something that is no word.
    fn has_word(&self, chars: &[char], at: usize, end: usize, word: &str) -> bool {
        let mut next = at;
        for char in word.chars() {
            if next >= end || chars[next] != char {
                return false;
            }
            next += 1;
        }
        !self.at(next, end).is_some_and(is_word)
    }

    /// How often the words come up; counted up to `most`.
    pub(super) fn count(&self, span: Span, word: &mut String, words: Words, most: i32) -> i32 {
        let folded = &self.folded[..span.end];
        let mut found = 0;
        let mut at = span.start;
        while at < span.end && found < most {
            if !is_letter(folded[at]) {
                at += 1;
                continue;
            }
            let start = at;
            at += folded[at..].iter().take_while(|&&char| is_letter(char)).count();
            if folded.get(at) == Some(&'\'') {
                let more = folded[at + 1..].iter().take_while(|char| char.is_ascii_lowercase()).count();
                at += if more > 0 { more + 1 } else { 0 };
            }
            if words.may_begin(folded[start]) {
                word.clear();
                word.extend(&folded[start..at]);
                found += i32::from(words.has(word));
            }
        }
        found
    }

    /// How often one of the phrases comes up that set a rule.
    pub(super) fn phrases(&self, span: Span) -> i32 {
        let folded = &self.folded[..span.end];
        let (mut found, mut at) = (0, span.start);
        while at < span.end {
            if !PHRASE_STARTS.contains(&folded[at]) {
                at += 1;
                continue;
            }
            let starts_here = |phrase: &&&str| {
                let mut rest = folded[at..].iter();
                phrase.chars().all(|char| rest.next() == Some(&char))
            };
            let length = words::RULE_PHRASES.iter().find(starts_here).map_or(0, |phrase| phrase.len());
            found += i32::from(length > 0);
            at += length.max(1);
        }
        found
    }

    /// How many of the signs there are, of scripts without spaces.
    pub(super) fn signs(&self, span: Span, signs: &[&str]) -> i32 {
        let chars = &self.chars[span.start..span.end];
        if chars.iter().all(char::is_ascii) {
            return 0;
        }
        let is_in = |sign: &&&str| {
            let sign: Vec<char> = sign.chars().collect();
            chars.windows(sign.len()).any(|window| window == sign)
        };
        signs.iter().filter(is_in).map(|_| 1).sum()
    }

    /// Whether something is named as code names it: in backticks, with a path's or an underscore's joint, in capitals.
    fn has_name(&self, span: Span) -> bool {
        let chars = &self.chars[span.start..span.end];
        let is_joint =
            |joint: &[char]| matches!(joint[1], '/' | '\\' | '.' | '_') && is_word(joint[0]) && is_word(joint[2]);
        let ticks: Vec<usize> = (0..chars.len()).filter(|&at| chars[at] == '`').collect();
        chars.windows(3).any(is_joint)
            || ticks.windows(2).any(|pair| pair[1] > pair[0] + 1)
            || chars
                .split(|&char| !is_word(char))
                .any(|word| word.len() > 1 && word.iter().all(char::is_ascii_uppercase))
    }

    fn is_filler(&self, span: Span) -> bool {
        let chars = &self.chars[span.start..span.end];
        let lead = chars.iter().position(|char| !matches!(char, '#' | '*' | '-' | '>' | ' ')).unwrap_or(chars.len());
        words::FILLERS.iter().any(|filler| self.has_word(&self.folded, span.start + lead, span.end, filler))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phrase_begins_with_one_of_the_letters() {
        assert!(words::RULE_PHRASES.iter().all(|phrase| phrase.starts_with(PHRASE_STARTS)));
    }
}
