//! Events and rows of the answer, and events that wait for their turn.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use timely::progress::Timestamp;
use timely::progress::frontier::MutableAntichain;

/// The place of an event in the total order of the input: event time, stream, and row of the stream.
pub type Place = (i64, u32, u32);

/// An event of any kind; a kind has at most one column, `value`.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Event {
    pub ts: i64,
    pub value: i64,
    pub stream: u32,
    pub row: u32,
    pub key: u32,
}

impl Event {
    pub fn place(&self) -> Place {
        (self.ts, self.stream, self.row)
    }
}

/// A row of the answer, with the event that made it.
#[derive(Clone, Copy)]
pub struct Row {
    pub ts: i64,
    pub stream: u32,
    pub row: u32,
    pub kind: i32,
    pub key: u32,
    pub value: i64,
    pub other: i64,
}

impl Row {
    pub const BYTES: usize = 40;

    pub fn of(event: &Event) -> Self {
        let Event { ts, stream, row, key, value } = *event;
        Row { ts, stream, row, kind: 0, key, value, other: 0 }
    }

    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.ts.to_le_bytes());
        bytes.extend(self.stream.to_le_bytes());
        bytes.extend(self.row.to_le_bytes());
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend(self.key.to_le_bytes());
        bytes.extend(self.value.to_le_bytes());
        bytes.extend(self.other.to_le_bytes());
    }
}

/// Events that an operator has received, by stream: each stream arrives in its order.
///
/// A message at time t may also have events after t, because a source sends batches. A frontier at t
/// means that all events before t have arrived; others at t may follow.
pub struct Pending(Vec<VecDeque<Event>>);

impl Pending {
    pub fn new(streams: usize) -> Self {
        Pending(vec![VecDeque::new(); streams])
    }

    /// Takes all events of a message.
    pub fn receive(&mut self, batch: &mut Vec<Event>) {
        for run in batch.chunk_by(|event, next| event.stream == next.stream) {
            self.0[run[0].stream as usize].extend(run);
        }
        batch.clear();
    }

    /// Returns the first event in total order.
    pub fn first(&self) -> Option<&Event> {
        self.0.iter().filter_map(VecDeque::front).min_by_key(|event| event.place())
    }

    /// Removes the first event in total order if it is before a place.
    pub fn take_first_before(&mut self, end: Place) -> Option<Event> {
        let first = *self.first().filter(|event| event.place() < end)?;
        self.0[first.stream as usize].pop_front()
    }

    /// Removes all events before a place, stream by stream.
    pub fn drain_before(&mut self, end: Place) -> impl Iterator<Item = Event> + '_ {
        self.0.iter_mut().flat_map(move |events| {
            let count = events.partition_point(|event| event.place() < end);
            events.drain(..count)
        })
    }
}

/// Returns the first place at which events may still arrive when all inputs have reached a time.
pub fn end_of(reached: Option<i64>) -> Place {
    (reached.unwrap_or(i64::MAX), 0, 0)
}

/// Returns the event time that all inputs of an operator have reached; None if all have ended.
pub fn reached<T: Timestamp>(
    frontiers: &[&MutableAntichain<T>],
    event_time: impl Fn(&T) -> i64,
) -> Option<i64> {
    let least = |frontier: &&MutableAntichain<T>| frontier.frontier().iter().map(&event_time).min();
    frontiers.iter().filter_map(least).min()
}
