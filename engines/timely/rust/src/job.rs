//! The job's settings and the columns of its input, as `process.py` writes them.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::events::Event;

/// The kind of most events; they do not depend on each other.
pub const BULK: i32 = 0;

/// The settings in `job.properties`.
pub struct Job {
    folder: PathBuf,
    settings: HashMap<String, String>,
}

/// One stream of the input. Due times and heartbeats are empty without a load.
#[derive(Clone)]
pub struct Stream {
    pub number: u32,
    pub ts: Vec<i64>,
    pub due_ns: Vec<i64>,
    pub beat_ts: Vec<i64>,
    pub beat_due_ns: Vec<i64>,
    value: Vec<i64>,
    key: Vec<u32>,
    tag: Vec<i32>,
    /// The kinds of this stream.
    kinds: Vec<i32>,
    /// How many kinds all streams have.
    all_kinds: i32,
}

impl Job {
    pub fn read(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join("job.properties")).expect("job.properties");
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        let settings = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Job { folder: folder.to_owned(), settings }
    }

    pub fn text(&self, name: &str) -> &str {
        self.settings.get(name).unwrap_or_else(|| panic!("job.properties has no {name}"))
    }

    pub fn number(&self, name: &str) -> usize {
        self.text(name).parse().unwrap_or_else(|_| panic!("{name} is {:?}", self.text(name)))
    }

    pub fn is_set(&self, name: &str) -> bool {
        self.text(name) == "yes"
    }

    /// Reads a stream into memory.
    pub fn stream(&self, number: usize) -> Stream {
        let kinds = self.text(&format!("kinds_of.{number}"));
        let all_kinds = self.number("kinds") as i32;
        let tag = self.column(number, "tag", i32::from_le_bytes);
        Stream {
            number: number as u32,
            ts: self.longs(number, "ts"),
            due_ns: self.longs(number, "due_ns"),
            beat_ts: self.longs(number, "beat_ts"),
            beat_due_ns: self.longs(number, "beat_due_ns"),
            value: self.longs(number, "value"),
            key: tag.iter().map(|tag| (tag / all_kinds) as u32).collect(),
            tag,
            kinds: kinds.split(',').map(|kind| kind.parse().expect("a kind")).collect(),
            all_kinds,
        }
    }

    fn longs(&self, number: usize, name: &str) -> Vec<i64> {
        self.column(number, name, i64::from_le_bytes)
    }

    /// Returns a column; empty without its file.
    fn column<T, const N: usize>(
        &self,
        number: usize,
        name: &str,
        parse: fn([u8; N]) -> T,
    ) -> Vec<T> {
        let path = self.folder.join(format!("{number}.{name}"));
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                panic!("{}: {error}", path.display())
            }
            found => found.unwrap_or_default(),
        };
        bytes.chunks_exact(N).map(|chunk| parse(chunk.try_into().expect("N bytes"))).collect()
    }
}

impl Stream {
    /// Returns the kind of all events; None if the stream has several kinds.
    pub fn only_kind(&self) -> Option<i32> {
        if let [kind] = self.kinds[..] { Some(kind) } else { None }
    }

    pub fn kind(&self, row: usize) -> i32 {
        self.tag.get(row).map_or(self.kinds[0], |tag| tag % self.all_kinds)
    }

    pub fn event(&self, row: usize) -> Event {
        Event {
            ts: self.ts[row],
            value: self.value.get(row).copied().unwrap_or(0),
            stream: self.number,
            row: row as u32,
            key: self.key.get(row).copied().unwrap_or(0),
        }
    }

    /// Returns the keys of all bulk events.
    pub fn keys(&self) -> impl Iterator<Item = u32> + '_ {
        let bulk = (0..self.ts.len()).filter(|&row| self.kind(row) == BULK);
        bulk.map(|row| self.event(row).key)
    }
}
