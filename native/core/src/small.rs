//! Small logs, many at a time: see flex_logs_ingest/reading/small_logs.py, which defines what is here.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use memchr::memchr;

use crate::cut::Layout;
use crate::scan::{Found, Scan};
use crate::sites::Rule;

/// Lines in which the first answer of a log is looked for, as in flex_logs_ingest/reading/rewritten_logs.py.
const OPENING: usize = 64;
/// Classes of lines that are answers: counted, and with another status.
const ANSWERS: usize = 2;

/// What `work` says of each, by so many threads as there are to be, in the order of what is given.
pub fn each<T: Send, F: Send>(given: Vec<T>, threads: usize, work: impl Fn(T) -> F + Sync) -> Vec<F> {
    let size = given.len().div_ceil(threads.max(1)).max(1);
    let mut given = given.into_iter();
    let mut parts: Vec<Vec<T>> = Vec::new();
    while given.len() > 0 {
        parts.push(given.by_ref().take(size).collect());
    }
    let done = |part: Vec<T>| part.into_iter().map(&work).collect::<Vec<F>>();
    if parts.len() < 2 {
        return parts.into_iter().flat_map(done).collect();
    }
    thread::scope(|scope| {
        let begun: Vec<_> = parts.into_iter().map(|part| scope.spawn(|| done(part))).collect();
        begun.into_iter().flat_map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// How to look at logs: `flags` are added to those of open(2), and what begins with one of the `magics` is packed.
pub struct Way {
    pub flags: i32,
    pub magics: Vec<Vec<u8>>,
    /// The most bytes that are read; with `whole`, of a log that has more nothing is.
    pub most: usize,
    pub whole: bool,
    /// Bytes at its beginning that a log still has to have after it was read whole.
    pub head: usize,
}

/// A file as it was when it was opened, and its bytes.
pub struct Look {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    pub text: Vec<u8>,
}

/// None where anything about it is not usual: then somebody else reads it, and says what is the matter.
pub fn look(path: &Path, way: &Way) -> Option<Look> {
    let found = read(path, way).ok()??;
    let packed = way.magics.iter().any(|magic| found.text.starts_with(magic));
    (!packed).then_some(found)
}

fn read(path: &Path, way: &Way) -> io::Result<Option<Look>> {
    let file = OpenOptions::new().read(true).custom_flags(way.flags).open(path)?;
    let status = file.metadata()?;
    if !status.is_file() || (way.whole && status.size() > way.most as u64) {
        return Ok(None);
    }
    // One byte more tells whether there are more. Without room for all, a read gets little.
    let most = way.most as u64 + u64::from(way.whole);
    let mut text = Vec::with_capacity(most.min(status.size() + 1) as usize);
    (&file).take(most).read_to_end(&mut text)?;
    if way.whole && (text.len() > way.most || !is_still_there(&file, &text, way.head)?) {
        return Ok(None);
    }
    let modified = status.mtime().saturating_mul(1_000_000_000).saturating_add(status.mtime_nsec());
    Ok(Some(Look { device: status.dev(), inode: status.ino(), size: status.size(), modified, text }))
}

/// A log may be truncated while it is read.
fn is_still_there(file: &File, text: &[u8], head: usize) -> io::Result<bool> {
    let head = &text[..head.min(text.len())];
    let mut now = vec![0; head.len()];
    file.read_exact_at(&mut now, 0)?;
    Ok(now == head && file.metadata()?.size() >= text.len() as u64)
}

/// What a log from its beginning on counted, and about how many bytes of memory that took at most.
pub struct Counted {
    /// What the first answer of the log counted for.
    pub opening: Option<Found>,
    pub found: Found,
    pub memory: usize,
}

/// The first answer is looked for in so many bytes as `look` says.
pub fn count(text: &[u8], layout: &Layout, rule: Rule, sample_limit: usize, look: usize) -> Counted {
    let mut first = Scan::new(layout.clone(), rule, 0, false);
    let opening = opening(&text[..look.min(text.len())], &mut first);
    let mut scan = Scan::new(layout.clone(), first.into_rule(), sample_limit, false);
    scan.feed(text);
    let memory = scan.memory();
    Counted { opening, found: scan.finish(false), memory }
}

fn opening(mut look: &[u8], scan: &mut Scan) -> Option<Found> {
    for _ in 0..OPENING {
        let end = memchr(b'\n', look)? + 1;
        scan.feed(&look[..end]);
        let found = scan.finish(false);
        if found.lines[..ANSWERS].iter().any(|lines| *lines > 0) {
            return Some(found);
        }
        look = &look[end..];
    }
    None
}

/// The first whole lines, without what is no part of them; of a log without a whole line, its beginning.
pub fn lines(head: &[u8], most: usize) -> Vec<&[u8]> {
    let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
    let stripped = whole.split(|byte| *byte == b'\n').take(most).map(strip);
    stripped.filter(|line| !line.is_empty()).collect()
}

fn strip(line: &[u8]) -> &[u8] {
    let line = crate::line::strip_start(line, 0);
    crate::line::strip_end(line, b'\r')
}

#[cfg(test)]
mod tests {
    use super::{each, lines};

    #[test]
    fn any_number_of_threads_gives_the_same_in_the_same_order() {
        for number in [0, 1, 2, 7, 64] {
            let doubled: Vec<usize> = (0..number).map(|one| one * 2).collect();
            for threads in 0..9 {
                assert_eq!(each((0..number).collect(), threads, |one| one * 2), doubled);
            }
        }
    }

    #[test]
    fn a_line_that_is_not_whole_counts_only_where_there_is_no_other() {
        assert_eq!(lines(b"\0\0a\r\n\nb\nc", 9), [b"a", b"b"]);
        assert_eq!(lines(b"\0c\r", 9), [b"c"]);
        assert_eq!(lines(b"a\nb\nc\n", 2), [b"a", b"b"]);
        assert!(lines(b"", 9).is_empty());
    }
}
