//! Opening: what is refused without waiting, and what a link cannot do.
#![allow(missing_docs)]

mod naive;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use naive::Folder;
use rehydrate::error::Error;
use rehydrate::open::{open, open_nofollow};
use rehydrate::unlinked::{open_unlinked, open_unlinked_by_components};
use rustix::io::Errno;

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let folder = Folder::new();
    make_fifo(&folder.path("fifo"));
    let _listener = UnixListener::bind(folder.path("socket")).expect("a socket");
    for path in [folder.path("fifo"), folder.path("socket"), PathBuf::from("/dev/null"), PathBuf::from("/dev/zero")] {
        let error = open(&path).expect_err("refused");
        assert!(matches!(error, Error::NotRegular { .. }), "{error}");
        assert!(error.to_string().contains(path.to_str().expect("text")));
    }
}

#[test]
fn a_folder_is_an_error_of_its_own() {
    let folder = Folder::new();
    let Err(Error::Io { source, .. }) = open(&folder.path("")) else { panic!("opened") };
    assert_eq!(source.raw_os_error(), Some(Errno::ISDIR.raw_os_error()));
}

#[test]
fn a_link_is_followed_unless_asked_not_to() {
    let folder = Folder::new();
    folder.write("file", b"12345");
    symlink("file", folder.path("link")).expect("a link");
    assert_eq!(open(&folder.path("link")).expect("opened").size, 5);
    let Err(Error::Io { source, .. }) = open_nofollow(&folder.path("link")) else { panic!("opened") };
    assert_eq!(source.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
}

type Way = fn(&Path) -> io::Result<OwnedFd>;
const WAYS: [Way; 2] = [open_unlinked, open_unlinked_by_components];

fn text(descriptor: io::Result<OwnedFd>) -> Result<String, Option<i32>> {
    let descriptor = descriptor.map_err(|error| error.raw_os_error())?;
    let mut text = String::new();
    File::from(descriptor).read_to_string(&mut text).map_err(|error| error.raw_os_error())?;
    Ok(text)
}

fn errno(number: Errno) -> Result<String, Option<i32>> {
    Err(Some(number.raw_os_error()))
}

#[test]
fn no_link_and_no_way_up_is_taken_anywhere_in_a_path() {
    let folder = Folder::new();
    let above = fs::canonicalize(folder.path("")).expect("resolved");
    fs::create_dir_all(folder.path("root/a/b")).expect("folders");
    folder.write("outside", b"secret");
    folder.write("root/top", b"top");
    folder.write("root/a/b/deep", b"deep");
    symlink("../outside", folder.path("root/leak")).expect("a link");
    symlink("a", folder.path("root/alias")).expect("a link");
    symlink("deep", folder.path("root/a/b/near")).expect("a link");
    symlink("nowhere", folder.path("root/dangling")).expect("a link");
    symlink("/proc/self/fd", folder.path("root/magic")).expect("a link");
    symlink("root", folder.path("entry")).expect("a link");
    make_fifo(&folder.path("root/fifo"));
    let _listener = UnixListener::bind(folder.path("root/socket")).expect("a socket");
    let cases: &[(&str, Result<String, Option<i32>>)] = &[
        ("root/top", Ok("top".into())),
        ("root/./a//b/./deep", Ok("deep".into())),
        ("root/leak", errno(Errno::LOOP)),
        ("root/alias/b/deep", errno(Errno::LOOP)),
        ("root/a/b/near", errno(Errno::LOOP)),
        ("root/dangling", errno(Errno::LOOP)),
        ("root/magic/0", errno(Errno::LOOP)),
        ("root/alias/", errno(Errno::LOOP)),
        ("entry/top", errno(Errno::LOOP)),
        ("root/../outside", errno(Errno::XDEV)),
        ("root/a/..", errno(Errno::XDEV)),
        ("root/missing", errno(Errno::NOENT)),
        ("root/missing/x", errno(Errno::NOENT)),
        ("root/top/x", errno(Errno::NOTDIR)),
        ("root/top/", errno(Errno::NOTDIR)),
        ("root/a/b", errno(Errno::ISDIR)),
        ("root/a/", errno(Errno::ISDIR)),
        ("root/.", errno(Errno::ISDIR)),
        ("root/fifo", errno(Errno::NXIO)),
        ("root/socket", errno(Errno::NXIO)),
    ];
    for way in WAYS {
        for (path, wanted) in cases {
            assert_eq!(&text(way(&above.join(path))), wanted, "{path}");
        }
        for (path, wanted) in [
            ("top", Errno::XDEV),
            ("", Errno::XDEV),
            ("/", Errno::ISDIR),
            ("/..", Errno::XDEV),
            ("/dev/zero", Errno::NXIO),
        ] {
            assert_eq!(text(way(Path::new(path))), errno(wanted), "{path}");
        }
    }
}
