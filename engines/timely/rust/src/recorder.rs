//! Records the rows of a worker's answer and, under a load, the times at which events and rows were done.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use timely::dataflow::StreamVec;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Operator;
use timely::progress::Timestamp;

use crate::events::{Event, Row};

/// The clock of the run, which starts once.
#[derive(Clone, Default)]
pub struct Clock(Arc<OnceLock<Instant>>);

impl Clock {
    pub fn start(&self) {
        self.0.set(Instant::now()).expect("the clock starts once");
    }

    pub fn now_ns(&self) -> i64 {
        self.0.get().expect("the clock has started").elapsed().as_nanos() as i64
    }
}

/// The rows that reached one sink, and the time of each under a load.
#[derive(Default)]
pub struct Part {
    pub rows: Vec<Row>,
    pub emit_ns: Vec<i64>,
}

/// When an event was done.
#[derive(Clone, Copy)]
pub struct Done {
    pub stream: u32,
    pub row: u32,
    pub at_ns: i64,
}

/// The records of one worker, shared by its operators.
#[derive(Clone)]
pub struct Recorder {
    clock: Clock,
    paced: bool,
    done: Rc<RefCell<Vec<Done>>>,
}

impl Recorder {
    pub fn new(clock: Clock, paced: bool) -> Self {
        Recorder { clock, paced, done: Rc::default() }
    }

    /// Records that an event is done now.
    pub fn record_done(&self, event: &Event) {
        if self.paced {
            let Event { stream, row, .. } = *event;
            self.done.borrow_mut().push(Done { stream, row, at_ns: self.clock.now_ns() });
        }
    }

    pub fn take_done(&self) -> Vec<Done> {
        self.done.take()
    }

    /// Stores the rows of a stream; memory for `capacity` rows is allocated by this call.
    pub fn store<T: Timestamp>(
        &self,
        rows: StreamVec<'_, T, Row>,
        capacity: usize,
    ) -> Rc<RefCell<Part>> {
        let part = Rc::new(RefCell::new(Part::default()));
        // Write the memory, so that the system allocates its pages before the clock starts.
        part.borrow_mut()
            .rows
            .resize(capacity, Row::of(&Event { ts: -1, value: -1, stream: 1, row: 1, key: 1 }));
        part.borrow_mut().rows.clear();
        let (stored, clock, paced) = (part.clone(), self.clock.clone(), self.paced);
        rows.sink(Pipeline, "store", move |(input, _)| {
            input.for_each(|_, batch| {
                let mut part = stored.borrow_mut();
                part.rows.append(batch);
                if paced {
                    let rows = part.rows.len();
                    part.emit_ns.resize(rows, clock.now_ns());
                }
            });
        });
        part
    }
}
