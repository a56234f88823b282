//! What a record of an agent's transcript shows at a look, so that most records need not be decoded.
//!
//! A sign is only ever set or left out so that what it spares is not missed: what cannot be told from a look is
//! [`UNSEEN`], and is to be read.

use crate::walker::Span;
use crate::whole::See;

/// It is the first record with its uuid; what knows all records sets it.
pub const FIRST: u8 = 1;
/// It is of type `user`.
pub const USER: u8 = 1 << 1;
/// It is of type `assistant`.
pub const ASSISTANT: u8 = 1 << 2;
/// Its members were not looked into: of its message and its result nothing is known.
pub const UNSEEN: u8 = 1 << 3;
/// Its message holds no word of the user's: it is a list of results of tools, or what a compaction left.
pub const QUIET: u8 = 1 << 4;
/// It may tell that something was started that goes on by itself, or end that.
pub const TASK: u8 = 1 << 5;
/// It may be no word of the conversation itself: a subagent's, another member's of a team, or the client's own.
pub const ASIDE: u8 = 1 << 6;
/// It may name another conversation as the one that it comes from.
pub const SOURCE: u8 = 1 << 7;

/// The tools that stop what was started.
const STOPPING: [&[u8]; 3] = [b"KillShell", b"KillBash", b"TaskStop"];

/// The files that a record's calls name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Named {
    /// None, or it was not looked.
    #[default]
    None,
    /// One; where its path is, without the quotes.
    One(Span),
    /// More than one, or only reading tells.
    Several,
}

/// A look at one record while it is walked; `message` and `told` are the places of `message` and `toolUseResult` among
/// the wanted members.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // what was seen so far: each can be without the others
pub(crate) struct Look {
    message: usize,
    told: usize,
    top: Top,
    found: u8,
    named: Named,
    /// What stands in the message is its content,
    is_content: bool,
    /// and it is a list.
    in_list: bool,
    had_content: bool,
    /// A block of the list was seen,
    had_block: bool,
    /// and the last one is a result.
    is_result: bool,
    says_more: bool,
    block: Block,
    is_path: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Top {
    #[default]
    Other,
    Message,
    Told,
}

/// The member of a block that is walked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Block {
    #[default]
    Other,
    Type,
    Name,
    Input,
}

impl Look {
    /// A look at no record yet.
    pub fn new(message: usize, told: usize) -> Self {
        Self { message, told, ..Self::default() }
    }

    /// Gets ready for a record.
    pub fn begin(&mut self) {
        *self = Self::new(self.message, self.told);
    }

    /// What was seen of the message and what the client noted of a result.
    pub fn signs(&self) -> (u8, Named) {
        let is_results = self.had_block && self.is_result && !self.says_more;
        (self.found | if is_results { QUIET } else { 0 }, self.named)
    }

    fn begin_message(&mut self) {
        // Of several messages the last one counts.
        (self.had_content, self.had_block, self.is_result, self.says_more) = (false, false, false, false);
    }

    fn see_block_key(&mut self, raw: &[u8]) {
        self.is_path = false;
        self.block = match raw {
            b"type" => {
                self.says_more |= self.is_result; // said twice
                Block::Type
            }
            b"name" => Block::Name,
            b"input" => Block::Input,
            _ => {
                if raw.contains(&b'\\') {
                    (self.says_more, self.named) = (true, Named::Several);
                }
                Block::Other
            }
        };
    }
}

impl See for Look {
    const DEPTH: u32 = 5;

    fn key(&mut self, depth: u32, raw: &[u8], member: Option<usize>) {
        match depth {
            1 => {
                self.in_list = false;
                self.top = match member {
                    Some(member) if member == self.message => {
                        self.begin_message();
                        Top::Message
                    }
                    Some(member) if member == self.told => Top::Told,
                    _ => Top::Other,
                };
            }
            2 if self.top == Top::Message => {
                self.in_list = false;
                self.is_content = raw == b"content";
                self.says_more |= self.is_content && self.had_content || raw.contains(&b'\\');
            }
            2 if self.top == Top::Told && (matches!(raw, b"agentId" | b"backgroundTaskId") || raw.contains(&b'\\')) => {
                self.found |= TASK;
            }
            4 if self.in_list => self.see_block_key(raw),
            5 if self.in_list && self.block == Block::Input => {
                self.is_path = matches!(raw, b"file_path" | b"notebook_path");
                if raw.contains(&b'\\') {
                    self.named = Named::Several;
                }
            }
            _ => {}
        }
    }

    fn value(&mut self, depth: u32, first: u8) {
        match depth {
            1 if self.top == Top::Message && first != b'{' => {
                (self.says_more, self.named) = (true, Named::Several);
            }
            2 if self.top == Top::Message && self.is_content => {
                self.had_content = true;
                self.in_list = first == b'[';
                self.says_more |= !self.in_list;
                if first == b'{' {
                    self.named = Named::Several;
                }
            }
            3 if self.in_list => {
                self.says_more |= first != b'{' || self.had_block && !self.is_result;
                (self.had_block, self.is_result) = (true, false);
                self.block = Block::Other;
            }
            4 if self.in_list && self.block == Block::Type => self.says_more |= first != b'"',
            _ => {}
        }
    }

    fn text(&mut self, depth: u32, raw: &[u8], start: usize) {
        if !self.in_list {
            return;
        }
        match (depth, self.block) {
            (4, Block::Type) => {
                self.is_result = raw == b"tool_result";
                self.says_more |= !self.is_result;
            }
            (4, Block::Name) if STOPPING.contains(&raw) || raw.contains(&b'\\') => self.found |= TASK,
            (5, Block::Input) if self.is_path => {
                let is_first = self.named == Named::None;
                self.named = if is_first { Named::One((start, start + raw.len())) } else { Named::Several };
            }
            _ => {}
        }
    }
}
