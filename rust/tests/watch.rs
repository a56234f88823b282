//! Reads that are told to end: at once, in every thread, and with nothing lost for whoever goes on.
#![allow(missing_docs)]

mod naive;

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use naive::{Folder, mixed};
use rehydrate::lines::ReadAt;
use rehydrate::open::open;
use rehydrate::probe::{find_step, probe, probe_candidates, probe_many};
use rehydrate::records::Damage;
use rehydrate::steps::{Batch, Choice, Filter, Inner};
use rehydrate::tail::{scan, scan_in_parts, scan_tail};
use rehydrate::tree::{read_in_parts, read_tree};
use rehydrate::watch::Watched;

const ENDED: io::ErrorKind = io::ErrorKind::Interrupted;

fn no() -> io::Result<()> {
    Err(ENDED.into())
}

/// All records, and how often the read was told to end on the way: at every `nth` time that it asked.
fn read(file: &[u8], choice: &Choice, is_closed: bool, nth: usize) -> (Batch, Damage, u64, usize) {
    let asked = AtomicUsize::new(0);
    let go_on = || if (asked.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(nth) { no() } else { Ok(()) };
    let mut inner = Inner::new(choice.clone(), 0, file.len() as u64, is_closed, 16);
    let (mut all, mut ended) = (Batch::default(), 0);
    loop {
        let before = all.rows.len();
        match inner.batch(&Watched { source: file, go_on: &go_on }, &mut all) {
            Err(error) => {
                assert_eq!(error.kind(), ENDED);
                ended += 1;
            }
            Ok(()) if all.rows.len() == before => return (all, inner.damage().clone(), inner.end(), ended),
            Ok(()) => {}
        }
    }
}

#[test]
fn who_goes_on_after_the_end_loses_nothing_and_sees_nothing_twice() {
    let names = [b"type".to_vec(), b"step_index".to_vec()].to_vec();
    let filter = Filter { member: 0, names: [b"CHECKPOINT".to_vec()].to_vec() };
    let closed = [mixed(), b"}".to_vec()].concat();
    for choice in [Choice::steps(None, None), Choice::members(names, [filter].to_vec())] {
        for (file, is_closed) in [(mixed().repeat(4), false), (closed.repeat(4), true)] {
            let whole = read(&file, &choice, is_closed, usize::MAX);
            assert_eq!(whole.3, 0);
            // A line is walked from its beginning again: 40 reads are more than any line here takes.
            for nth in 40..60 {
                let found = read(&file, &choice, is_closed, nth);
                assert!(found.3 > 5, "{nth}: it was ended {} times", found.3);
                assert_eq!((&found.0.rows, &found.0.spans), (&whole.0.rows, &whole.0.spans), "{nth}");
                assert_eq!((found.0.bytes, found.1, found.2), (whole.0.bytes.clone(), whole.1.clone(), whole.2));
            }
        }
    }
}

#[test]
fn every_operation_ends_when_it_is_told_to() {
    let folder = Folder::new();
    let opened = || folder.open("a", &mixed()).watched(&no);
    assert!(scan_tail(&opened(), None).is_err());
    assert!(probe(&opened()).is_err());
    assert!(find_step(&opened(), 3, 0).is_err());
    assert!(read_tree(&opened()).is_err());
    let paths = vec![folder.path("a"); 100];
    assert_eq!(probe_candidates(&paths, 3, 0, &no).expect_err("told to end").kind(), ENDED);
    assert_eq!(probe_many(&paths, open, &no).expect_err("told to end").kind(), ENDED);
}

/// Told to end at the `nth` time that it is asked, and from then on.
struct Ends<'f> {
    file: &'f [u8],
    left: AtomicUsize,
}

impl ReadAt for Ends<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.go_on()?;
        self.file.read_at(buffer, offset)
    }

    fn go_on(&self) -> io::Result<()> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map(|_| ()).map_err(|_| ENDED.into())
    }
}

#[test]
fn with_several_threads_all_of_them_end_wherever_it_happens() {
    let file = mixed().repeat(20);
    let size = file.len() as u64;
    for asked in (0..400).step_by(7) {
        let source = || Ends { file: &file, left: AtomicUsize::new(asked) };
        assert_eq!(scan(&source(), size, None, 64).expect_err("told to end").kind(), ENDED);
        assert_eq!(scan_in_parts(&source(), size, None, 64, 5).expect_err("told to end").kind(), ENDED);
        let told = read_in_parts(&source(), size, 64, 5);
        assert_eq!(told.expect_err("told to end").kind(), ENDED);
    }
}

/// A file of which only the caller's thread gets something at once: the others wait until it is told to end.
struct Stuck<'f> {
    file: &'f [u8],
    caller: std::thread::ThreadId,
    is_told: std::sync::atomic::AtomicBool,
}

impl ReadAt for Stuck<'_> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        while std::thread::current().id() != self.caller {
            if self.is_told.load(Ordering::Relaxed) {
                return Err(ENDED.into());
            }
            std::thread::yield_now();
        }
        self.file.read_at(buffer, offset)
    }

    fn go_on(&self) -> io::Result<()> {
        self.is_told.store(true, Ordering::Relaxed);
        no()
    }
}

#[test]
fn whoever_waits_for_other_threads_is_asked_meanwhile() {
    let file = mixed().repeat(20);
    let size = file.len() as u64;
    let source = || {
        let caller = std::thread::current().id();
        Stuck { file: &file, caller, is_told: false.into() }
    };
    assert_eq!(scan_in_parts(&source(), size, None, 64, 2).expect_err("told to end").kind(), ENDED);
    let told = read_in_parts(&source(), size, 64, 2);
    // On one processor the caller reads all there is.
    assert!(
        told.map_or_else(|error| error.kind() == ENDED, |_| std::thread::available_parallelism().unwrap().get() < 2)
    );
}
