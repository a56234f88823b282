//! What characters are to Python, of those that a text is weighed with here.

/// What ends a line.
pub(super) fn is_line_end(char: char) -> bool {
    matches!(char, '\n'..='\r' | '\u{1c}'..='\u{1e}')
}

/// White space.
pub(super) fn is_space(char: char) -> bool {
    matches!(char, '\t'..='\r' | '\u{1c}'..=' ')
}

/// What a word is made of: letters, digits and `_`.
pub(super) fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || is_other_letter(char)
}

fn is_other_letter(char: char) -> bool {
    matches!(char, 'À'..='Ö' | 'Ø'..='ö' | 'ø'..='ÿ' | 'Ѐ'..='џ' | 'ぁ'..='ゖ' | 'ァ'..='ヺ' | 'ー' | '一'..='\u{9fef}')
}

/// Of what words are made where they are compared; with the sign that stands among Latin-1's letters.
pub(super) fn is_letter(char: char) -> bool {
    matches!(char, 'a'..='z' | 'à'..='ÿ')
}

/// Lower case, of those letters that words are made of.
pub(super) fn fold(char: char) -> char {
    match char {
        'A'..='Z' => char.to_ascii_lowercase(),
        'À'..='Ö' | 'Ø'..='Þ' => char::from_u32(char as u32 + 0x20).unwrap_or(char),
        _ => char,
    }
}

/// Whether a text with the character is weighed here.
pub(super) fn is_known(char: char) -> bool {
    char.is_ascii()
        || is_other_letter(char)
        || matches!(
            char,
            '×' | '÷' | '–' | '—' | '‘' | '’' | '“' | '”' | '•' | '…' | '←'..='↓' | '─'..='╿' | '✓' | '✔' | '✗' | '✘'
                | '、' | '。' | '「' | '」' | '！' | '，' | '：' | '？' | '\u{1f300}'..='\u{1f64f}'
        )
}
