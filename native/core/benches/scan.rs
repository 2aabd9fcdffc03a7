//! How long a log takes from bytes to Parquet, part by part: `cargo bench -p flex-core -- vhost_combined access.log 9`.
//!
//! Time is that of the processor, as Linux counts it, and each part's is the least of so many rounds.

use std::fs::{File, read_to_string};
use std::io::Read;
use std::time::Duration;

use flex_core::cut::{Kind, Layout};
use flex_core::layout::{BYTES, Op, REQUEST, STATUS, TIME, VHOST};
use flex_core::scan::Scan;
use flex_core::sites::Rule;

const CHUNK: usize = 1 << 18;

fn main() -> std::io::Result<()> {
    let mut asked = std::env::args().skip(1).filter(|word| word != "--bench");
    let (Some(kind), Some(log)) = (asked.next(), asked.next()) else {
        return Ok(());
    };
    let rounds = asked.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let all = (0..rounds).map(|_| measure(&kind, &log)).collect::<std::io::Result<Vec<_>>>()?;
    for (number, part) in ["scan", "sort", "write"].iter().enumerate() {
        println!("{part:6}{:10.3?}", all.iter().map(|spent| spent[number]).min().unwrap_or_default());
    }
    Ok(())
}

fn measure(kind: &str, log: &str) -> std::io::Result<[Duration; 3]> {
    let begin = spent();
    let mut scan = Scan::new(layout(kind), Rule { fixed: fixed(kind), ..Rule::default() }, 2_000_000, false);
    let (mut file, mut chunk) = (File::open(log)?, vec![0; CHUNK]);
    loop {
        let size = file.read(&mut chunk)?;
        if size == 0 {
            break;
        }
        scan.feed(&chunk[..size]);
    }
    let scanned = spent();
    let found = scan.finish(false);
    let sorted = spent();
    let folder = std::env::temp_dir().join(format!("flex-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    found.counts.write(&folder.join("files"), &folder.join("hours"), &folder.join("sample"))?;
    let written = spent();
    std::fs::remove_dir_all(&folder)?;
    Ok([scanned - begin, sorted - scanned, written - sorted])
}

/// By this thread so far.
fn spent() -> Duration {
    let said = read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(said.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default())
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
