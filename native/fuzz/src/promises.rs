//! What holds of every scan of any bytes.

use flex_core::scan::Columns;

const LARGEST: i64 = 1 << 44;

pub fn hold(found: &Columns, log: &[u8], limit: usize) {
    lines(found, log);
    rows(found);
    hours(found);
    sample(found, limit);
    assert!(found.text.len() <= 3 * log.len() + found.day.len(), "memory grows faster than the log");
}

fn lines(found: &Columns, log: &[u8]) {
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

fn rows(found: &Columns) {
    let key = |row: usize| (found.day[row], found.site[row], target(found, row));
    assert!((1..found.day.len()).all(|row| key(row - 1) < key(row)), "rows are sorted, and none is there twice");
    assert!(found.sites.is_sorted_by(|one, other| one < other), "sites are sorted, and none is there twice");
    assert_eq!(found.requests.iter().sum::<i64>() as u64, found.lines[0], "requests of all targets");
    for row in 0..found.day.len() {
        let text = target(found, row);
        assert!(text.starts_with(b"/") && text.iter().all(u8::is_ascii_graphic), "a target can be shown");
        assert!((found.site[row] as usize) < found.sites.len(), "a row's site");
        assert_eq!(found.last[row].div_euclid(86_400), found.day[row], "a row's day");
        assert!(found.last[row] <= found.last_time && found.last[row] >= found.first_time, "a row's time");
        assert!((0..=LARGEST).contains(&found.size[row]) && found.size[row] <= found.bytes[row], "a target's size");
        assert!(found.bytes[row] <= LARGEST * found.requests[row] && found.requests[row] > 0, "a row's bytes");
    }
}

fn hours(found: &Columns) {
    let key = |row: usize| (found.hour_site[row], found.hour[row]);
    assert!((1..found.hour.len()).all(|row| key(row - 1) < key(row)), "hours are sorted, and none is there twice");
    let requests = found.hour_requests.iter().sum::<i64>() as u64;
    assert_eq!(requests, found.lines[0] + found.lines[1], "requests of all hours");
    assert!(found.hour_bytes.iter().sum::<i64>() >= found.bytes.iter().sum::<i64>(), "bytes of all hours");
}

fn sample(found: &Columns, limit: usize) {
    assert!(found.sample_row.len() <= limit, "the sample's size");
    for (i, row) in found.sample_row.iter().enumerate() {
        assert!(found.sample_level[i] >= i64::from(found.level), "a sampled target's level");
        let day = found.day[usize::try_from(*row).expect("the number of a row")];
        assert_eq!(found.sample_time[i].div_euclid(86_400), day, "a sampled access is of its row's day");
    }
    let all = found.requests.iter().sum::<i64>() as usize;
    assert!(found.level > 0 || found.sample_row.len() == all, "a sample of level 0 is all there is");
}

fn target(found: &Columns, row: usize) -> &[u8] {
    &found.text[found.offsets[row] as usize..found.offsets[row + 1] as usize]
}
