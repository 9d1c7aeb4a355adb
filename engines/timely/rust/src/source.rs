//! Feeds a worker's share of the input to its dataflow: at full speed, or when events are due.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use timely::dataflow::ProbeHandle;
use timely::dataflow::operators::vec::input::Handle;
use timely::worker::Worker;

use crate::events::Event;
use crate::job::{BULK, Job, Stream};
use crate::recorder::Clock;

/// Most batches of a source that the dataflow has not finished. Timely itself has no back-pressure.
const MOST_UNFINISHED: usize = 8;
/// A parked thread resumes late by up to about this time, so it wakes early and does not park again.
const WAKE_EARLY: Duration = Duration::from_micros(100);

/// The inputs of a worker: events that commute, and those that synchronize.
#[derive(Default)]
pub struct Inputs {
    pub bulk: Input,
    pub synchronizing: Input,
    batch: Vec<Event>,
}

pub type Input = Handle<i64, Event>;

impl Inputs {
    fn advance_to(&mut self, ts: i64) {
        if *self.bulk.time() < ts {
            self.bulk.advance_to(ts);
            self.synchronizing.advance_to(ts);
        }
    }

    /// Sends rows of a stream.
    fn send(&mut self, stream: &Stream, rows: Range<usize>) {
        if let Some(kind) = stream.only_kind() {
            self.batch.extend(rows.map(|row| stream.event(row)));
            let input = if kind == BULK { &mut self.bulk } else { &mut self.synchronizing };
            input.send_batch(&mut self.batch);
            self.batch.clear();
            return;
        }
        for row in rows {
            let bulk = stream.kind(row) == BULK;
            let input = if bulk { &mut self.bulk } else { &mut self.synchronizing };
            input.send(stream.event(row));
        }
        self.bulk.flush();
        self.synchronizing.flush();
    }
}

/// When the events of a stream were handed over; without a load, only how many.
pub struct Sent {
    pub stream: u32,
    pub events: usize,
    pub at_ns: Vec<i64>,
}

/// Reads the streams of a worker in total order; stream i belongs to worker i % workers.
pub struct Source {
    streams: Vec<Stream>,
    sent: Vec<Sent>,
    clock: Clock,
    batch: usize,
    /// Whether the source waits until a batch is full.
    full: bool,
    next_beat: usize,
}

impl Source {
    pub fn new(job: &Job, clock: Clock, worker: usize, workers: usize) -> Self {
        let numbers = (worker..job.number("streams")).step_by(workers);
        let streams: Vec<Stream> = numbers.map(|number| job.stream(number)).collect();
        let sent = streams.iter().map(|stream| Sent {
            stream: stream.number,
            events: 0,
            at_ns: Vec::with_capacity(stream.due_ns.len()),
        });
        Source {
            sent: sent.collect(),
            streams,
            clock,
            batch: job.number("batch"),
            full: job.is_set("full"),
            next_beat: 0,
        }
    }

    /// Returns the keys of all bulk events.
    pub fn keys(&self) -> impl Iterator<Item = u32> + '_ {
        self.streams.iter().flat_map(Stream::keys)
    }

    /// Hands over all events, as fast as the dataflow finishes them; returns a record of each transfer.
    pub fn run(
        mut self,
        worker: &mut Worker,
        mut inputs: Inputs,
        probe: &ProbeHandle<i64>,
    ) -> Vec<Sent> {
        let mut unfinished = VecDeque::with_capacity(MOST_UNFINISHED);
        while let Some(index) = self.earliest() {
            let ts = self.next_ts(index);
            inputs.advance_to(ts);
            while unfinished.len() == MOST_UNFINISHED && probe.less_than(&unfinished[0]) {
                worker.step_or_park(None);
            }
            if unfinished.len() == MOST_UNFINISHED {
                unfinished.pop_front();
            }
            unfinished.push_back(ts);
            self.send(index, self.batch, &mut inputs);
            worker.step();
        }
        self.sent
    }

    /// Hands over every event when it is due; returns a record of each transfer.
    ///
    /// The input's time advances to that of sent events and heartbeats, because later events are unknown until they
    /// are due. A worker that has sent its last event opens its frontier.
    pub fn run_paced(mut self, worker: &mut Worker, mut inputs: Inputs) -> Vec<Sent> {
        let mut last_ts = i64::MIN;
        while let Some(due_ns) = self.next_due_ns() {
            let now_ns = self.clock.now_ns();
            if due_ns <= now_ns {
                let latest_due_ns = if self.full { due_ns } else { now_ns };
                for index in 0..self.streams.len() {
                    let count = self.unsent_due(index).partition_point(|&due| due <= latest_due_ns);
                    self.send(index, count.min(self.batch), &mut inputs);
                    last_ts = last_ts.max(self.last_ts(index));
                }
                inputs.advance_to(self.bounded(last_ts));
                worker.step();
                continue;
            }
            let mut wake_ns = due_ns;
            let beats = &self.streams[0];
            if let Some(&beat_ns) = beats.beat_due_ns.get(self.next_beat) {
                if beat_ns <= now_ns {
                    inputs.advance_to(self.bounded(beats.beat_ts[self.next_beat] + 1));
                    self.next_beat += 1;
                    worker.step();
                    continue;
                }
                wake_ns = wake_ns.min(beat_ns);
            }
            let wait = Duration::from_nanos((wake_ns - now_ns) as u64);
            worker.step_or_park(Some(wait.saturating_sub(WAKE_EARLY)));
        }
        self.sent
    }

    /// Returns which stream has the next event in total order.
    fn earliest(&self) -> Option<usize> {
        let unsent = (0..self.streams.len()).filter(|&index| self.unsent(index) > 0);
        unsent.min_by_key(|&index| self.next_ts(index)) // the first of several
    }

    fn unsent(&self, index: usize) -> usize {
        self.streams[index].ts.len() - self.sent[index].events
    }

    fn next_ts(&self, index: usize) -> i64 {
        self.streams[index].ts[self.sent[index].events]
    }

    fn last_ts(&self, index: usize) -> i64 {
        self.sent[index].events.checked_sub(1).map_or(i64::MIN, |last| self.streams[index].ts[last])
    }

    /// Returns the earlier of a time and the time of the next event, which may wait for a batch.
    fn bounded(&self, ts: i64) -> i64 {
        self.earliest().map_or(ts, |index| ts.min(self.next_ts(index)))
    }

    /// Sends at most `most` events of a stream.
    fn send(&mut self, index: usize, most: usize, inputs: &mut Inputs) {
        let (stream, sent) = (&self.streams[index], &mut self.sent[index]);
        let rows = sent.events..stream.ts.len().min(sent.events.saturating_add(most));
        if rows.is_empty() {
            return;
        }
        if !stream.due_ns.is_empty() {
            sent.at_ns.resize(rows.end, self.clock.now_ns());
        }
        inputs.send(stream, rows.clone());
        sent.events = rows.end;
    }

    /// Returns when the source has to hand over events next; None: all were sent.
    fn next_due_ns(&self) -> Option<i64> {
        let all = 0..self.streams.len();
        if !self.full {
            return all.filter_map(|index| self.unsent_due(index).first().copied()).min();
        }
        let next = |index| self.unsent_due(index).iter().take(self.batch).copied();
        let mut due: Vec<i64> = all.flat_map(next).collect();
        let last = due.len().min(self.batch).checked_sub(1)?;
        Some(*due.select_nth_unstable(last).1)
    }

    fn unsent_due(&self, index: usize) -> &[i64] {
        &self.streams[index].due_ns[self.sent[index].events..]
    }
}
