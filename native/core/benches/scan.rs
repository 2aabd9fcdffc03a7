//! How long a log takes from bytes to Parquet, part by part: `cargo bench -p flex-core -- vhost_combined access.log`.

use std::fs::File;
use std::io::Read;
use std::time::Instant;

use flex_core::cut::{BYTES, Kind, Layout, Op, REQUEST, STATUS, TIME, VHOST};
use flex_core::scan::Scan;
use flex_core::sites::Rule;

const CHUNK: usize = 1 << 18;

fn main() -> std::io::Result<()> {
    let mut asked = std::env::args().skip(1).filter(|word| word != "--bench");
    let (Some(kind), Some(log)) = (asked.next(), asked.next()) else {
        return Ok(());
    };
    let rounds = asked.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    (0..rounds).try_for_each(|_| measure(&kind, &log))
}

fn measure(kind: &str, log: &str) -> std::io::Result<()> {
    let begin = Instant::now();
    let mut scan = Scan::new(layout(kind), Rule { fixed: fixed(kind), ..Rule::default() }, 2_000_000, false);
    let (mut file, mut chunk) = (File::open(log)?, vec![0; CHUNK]);
    loop {
        let size = file.read(&mut chunk)?;
        if size == 0 {
            break;
        }
        scan.feed(&chunk[..size]);
    }
    let scanned = begin.elapsed();
    let found = scan.finish(false);
    let sorted = begin.elapsed();
    let folder = std::env::temp_dir().join(format!("flex-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    found.counts.write(&folder.join("files"), &folder.join("hours"), &folder.join("sample"))?;
    let written = begin.elapsed();
    let sizes: Vec<u64> =
        ["files", "hours", "sample"].iter().filter_map(|name| Some(folder.join(name).metadata().ok()?.len())).collect();
    std::fs::remove_dir_all(&folder)?;
    println!(
        "{:?} lines, scan {scanned:.3?}, sort {:.3?}, write {:.3?}, in all {written:.3?}, bytes {sizes:?}",
        found.lines,
        sorted - scanned,
        written - sorted,
    );
    Ok(())
}

fn fixed(kind: &str) -> Option<String> {
    (kind != "vhost_combined").then(|| "one.example".to_owned())
}

/// As formats/combined.py and formats/vhost_combined.py have it.
fn layout(kind: &str) -> Layout {
    let op = |slot, literal: &[u8], quoted| Op::new(slot, literal.to_vec(), quoted);
    let mut ops = vec![
        op(None, b" ", false),
        op(None, b" ", false),
        op(None, b" [", false),
        op(Some(TIME), b"] \"", false),
        op(Some(REQUEST), b"\" ", true),
        op(Some(STATUS), b" ", false),
        op(Some(BYTES), b" ", false),
    ];
    if kind == "vhost_combined" {
        ops.insert(0, op(Some(VHOST), b" ", false));
    }
    Layout::new(Kind::fields(Vec::new(), ops), false, Vec::new(), true)
}
