//! Finds steps, boundaries and records in JSONL transcripts that another process is still writing.
//!
//! The files are never mapped into memory and never parsed as a whole: lines come out of one fixed buffer ([`lines`]),
//! a structural walk finds the top-level members of the few that matter ([`members`]), a faster one ([`whole`]) those of
//! every line where all matter, and the operations on top of them answer exactly what a full parse would ([`tail`],
//! [`probe`], [`steps`], [`tree`], [`turns`]). [`gate`] decides for the hook whether there is anything to do at all;
//! [`notable`] weighs what was read.
//!
//! Whoever calls can end a long read ([`watch`]). Nothing here logs or prints. The Python binding is a feature
//! (`python`) in a module of its own.

#![deny(missing_docs, unsafe_code)]

mod best;
mod bits;
mod calls;
pub mod cursor;
pub mod error;
pub mod fold;
pub mod gate;
pub mod ids;
pub mod index;
pub mod inside;
pub mod lines;
mod links;
pub mod members;
pub mod needles;
pub mod notable;
mod number;
pub mod open;
mod parts;
pub mod probe;
pub mod records;
pub mod signs;
pub mod steps;
pub mod tail;
pub mod text;
mod threads;
pub mod tree;
pub mod turns;
pub mod unlinked;
pub mod uuid;
pub mod walker;
pub mod watch;
pub mod whole;
pub mod window;

#[cfg(feature = "python")]
mod python;
