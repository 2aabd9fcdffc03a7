//! What holds of every scan of any bytes.

use flex_core::counts::Columns;
use flex_core::scan::Found;

const LARGEST: i64 = 1 << 44;

pub fn hold(found: &Found, log: &[u8], limit: usize) {
    let columns = found.counts.columns();
    lines(found, log);
    rows(found, &columns);
    hours(found, &columns);
    sample(found, &columns, limit);
    assert!(columns.text.len() <= 3 * log.len() + columns.day.len(), "memory grows faster than the log");
}

/// What is handed over in pieces is as much as what is handed over at once.
pub fn add_up(pieces: &[Found], whole: &Found) {
    let sum = |value: fn(&Found) -> i64| pieces.iter().map(value).sum::<i64>();
    for class in 0..whole.lines.len() {
        let lines = pieces.iter().map(|piece| piece.lines[class]).sum::<u64>();
        assert_eq!(lines, whole.lines[class], "lines of a class in pieces");
    }
    let values: [fn(&Found) -> i64; 4] = [
        |found| found.counts.columns().requests.iter().sum(),
        |found| found.counts.columns().bytes.iter().sum(),
        |found| found.counts.hours.iter().map(|hour| hour.requests).sum(),
        |found| found.counts.hours.iter().map(|hour| hour.bytes).sum(),
    ];
    for value in values {
        assert_eq!(sum(value), value(whole), "requests or bytes in pieces");
    }
    let last = pieces.iter().map(|piece| piece.last_time).max();
    assert_eq!(last.unwrap_or_default(), whole.last_time, "the last time in pieces");
}

fn lines(found: &Found, log: &[u8]) {
    let ends = log.iter().filter(|byte| **byte == b'\n').count() as u64;
    let open = log.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
    assert_eq!(found.lines.iter().sum::<u64>(), ends, "a line is of no class, or of two");
    assert_eq!(found.pending, open, "the last line's length");
    assert_eq!(found.reasons.iter().sum::<u64>(), found.lines[3], "a malformed line has one reason");
    assert!(found.first_time <= found.last_time, "times");
    for (start, _, line) in &found.bad {
        let begin = *start as usize;
        assert!(begin <= log.len() && line.len() <= 200, "a sample of a malformed line");
        assert!(begin == 0 || log[begin - 1] == b'\n', "a malformed line begins behind a line's end");
    }
}

fn rows(found: &Found, columns: &Columns) {
    let key = |row: usize| (columns.day[row], columns.site[row], target(columns, row));
    assert!((1..columns.day.len()).all(|row| key(row - 1) < key(row)), "rows are sorted, and none is there twice");
    assert!(found.counts.sites.is_sorted_by(|one, other| one < other), "sites are sorted, and none is there twice");
    assert_eq!(columns.requests.iter().sum::<i64>() as u64, found.lines[0], "requests of all targets");
    for row in 0..columns.day.len() {
        let text = target(columns, row);
        assert!(text.starts_with(b"/") && text.iter().all(u8::is_ascii_graphic), "a target can be shown");
        assert!((columns.site[row] as usize) < found.counts.sites.len(), "a row's site");
        assert_eq!(columns.last[row].div_euclid(86_400), columns.day[row], "a row's day");
        assert!(columns.last[row] <= found.last_time && columns.last[row] >= found.first_time, "a row's time");
        assert!(
            (0..=LARGEST).contains(&columns.size[row]) && columns.size[row] <= columns.bytes[row],
            "a target's size"
        );
        assert!(columns.bytes[row] <= LARGEST * columns.requests[row] && columns.requests[row] > 0, "a row's bytes");
    }
}

fn hours(found: &Found, columns: &Columns) {
    let hours = &found.counts.hours;
    assert!(hours.is_sorted_by_key(|hour| (hour.site, hour.hour)), "hours are sorted");
    let twice = hours.windows(2).any(|pair| (pair[0].site, pair[0].hour) == (pair[1].site, pair[1].hour));
    assert!(!twice, "no hour is there twice");
    let requests = hours.iter().map(|hour| hour.requests).sum::<i64>() as u64;
    assert_eq!(requests, found.lines[0] + found.lines[1], "requests of all hours");
    let bytes = hours.iter().map(|hour| hour.bytes).sum::<i64>();
    assert!(bytes >= columns.bytes.iter().sum::<i64>(), "bytes of all hours");
}

fn sample(found: &Found, columns: &Columns, limit: usize) {
    let sample = &found.counts.sample;
    assert!(sample.len() <= limit, "the sample's size");
    for sampled in sample {
        assert!(sampled.level >= found.counts.level, "a sampled target's level");
        let day = columns.day[sampled.row as usize];
        assert_eq!(sampled.time.div_euclid(86_400), day, "a sampled access is of its row's day");
    }
    let all = columns.requests.iter().sum::<i64>() as usize;
    assert!(found.counts.level > 0 || sample.len() == all, "a sample of level 0 is all there is");
}

fn target(columns: &Columns, row: usize) -> &[u8] {
    &columns.text[columns.offsets[row] as usize..columns.offsets[row + 1] as usize]
}
