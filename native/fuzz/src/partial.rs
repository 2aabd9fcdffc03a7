//! Whatever a file of counts holds, reading it ends, in an error or in rows that are in order.
//!
//! Parcels of counts come from other machines, and disks fail.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use flex_core::merge::merged;
use flex_core::run::{Place, Run};
use libfuzzer_sys::fuzz_target;

/// Each row that is read takes a few bytes of the file, packed as it may be.
const MOST_ROWS: usize = 1 << 22;

fuzz_target!(|data: &[u8]| {
    let [how, content @ ..] = data else { return };
    let path = file();
    std::fs::write(path, content).expect("the file can be written");
    let day = (how & 1 == 1).then_some(11_240);
    let place = || Place {
        path: path.to_string_lossy().into_owned(),
        groups: (0..usize::from(how >> 6)).collect(),
        day,
        before: how & 2 == 2,
    };
    let read = rows(place());
    let written = merged(vec![place(), place()], &format!("{}.merged", path.display()), &mut |_| true);
    if let (Ok(rows), Ok(written)) = (read, written) {
        assert!(written as usize <= rows, "a merge makes no rows");
    }
});

fn rows(place: Place) -> Result<usize, String> {
    let mut run = Run::open(place)?;
    let (mut rows, mut before) = (0, None);
    while !run.is_at_end() {
        let now = (run.site().to_vec(), run.target().to_vec());
        assert!(before < Some(now.clone()), "rows are in order");
        before = Some(now);
        rows += 1;
        assert!(rows < MOST_ROWS, "a small file has few rows");
        run.advance()?;
    }
    Ok(rows)
}

/// One for each process. The reader catches what the Parquet crate does not expect, so a panic inside it is no finding;
/// one that nobody catches still is.
fn file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        std::panic::set_hook(Box::new(|_| {}));
        std::env::temp_dir().join(format!("flex-fuzz-{}", std::process::id()))
    })
}
