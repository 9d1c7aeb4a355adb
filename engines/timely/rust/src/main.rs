//! Runs one job on Timely Dataflow, controlled by commands on standard input: `go` starts the dataflow
//! and its clock, and `answer` writes its rows. The reply to each is a line on standard output. The
//! process ends when standard input ends.

mod event_window;
mod events;
mod fraud_detection;
mod job;
mod page_view_join;
mod recorder;
mod source;

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Barrier};

use timely::dataflow::ProbeHandle;
use timely::dataflow::operators::Probe;
use timely::dataflow::operators::vec::{Filter, Input, Map};
use timely::worker::Worker;

use crate::events::Row;
use crate::job::Job;
use crate::recorder::{Clock, Done, Part, Recorder};
use crate::source::{Inputs, Sent, Source};

/// The results of a worker after the run.
struct Finished {
    parts: Vec<Part>,
    sent: Vec<Sent>,
    done: Vec<Done>,
}

/// Holds all workers back until each has built its dataflow, and then until the clock starts.
#[derive(Clone)]
struct Gate {
    built: Arc<Barrier>,
    open: Arc<Barrier>,
    clock: Clock,
}

fn main() {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("the folder of a job"));
    let job = Arc::new(Job::read(&folder));
    let workers = job.number("workers");
    let barrier = || Arc::new(Barrier::new(workers + 1));
    let gate = Gate { built: barrier(), open: barrier(), clock: Clock::default() };
    let config = match workers {
        1 => timely::Config::thread(),
        _ => timely::Config::process(workers),
    };
    let running = {
        let (job, gate) = (job.clone(), gate.clone());
        timely::execute(config, move |worker| run(worker, &job, &gate)).expect("timely starts")
    };
    gate.built.wait();
    reply("ready");
    if next_command() != Some("go".to_owned()) {
        std::process::exit(0); // The workers still wait for the clock.
    }
    gate.clock.start();
    gate.open.wait();
    let finished: Vec<Finished> =
        running.join().into_iter().map(|worker| worker.expect("a worker that ended")).collect();
    let took_ns = gate.clock.now_ns();
    let events: usize =
        finished.iter().flat_map(|worker| &worker.sent).map(|sent| sent.events).sum();
    reply(&format!("done {took_ns} {events}"));
    if next_command() == Some("answer".to_owned()) {
        let parts = write(&finished, &folder).expect("the answer can be written");
        reply(&format!("written {parts}"));
        next_command();
    }
}

fn reply(line: &str) {
    println!("{line}");
    io::stdout().flush().expect("standard output is open");
}

/// Returns the next line of standard input; None: it has ended.
fn next_command() -> Option<String> {
    io::stdin().lines().next().map(|line| line.expect("a line"))
}

/// Builds the dataflow of a worker, waits for the clock, and runs it to its end.
fn run(worker: &mut Worker, job: &Job, gate: &Gate) -> Finished {
    let paced = job.is_set("offered");
    let source = Source::new(job, gate.clock.clone(), worker.index(), worker.peers());
    let recorder = Recorder::new(gate.clock.clone(), paced);
    let probe = ProbeHandle::new();
    let mut inputs = Inputs::default();
    let parts = build(worker, job, &source, &mut inputs, &probe, &recorder);
    gate.built.wait();
    gate.open.wait();
    let sent =
        if paced { source.run_paced(worker, inputs) } else { source.run(worker, inputs, &probe) };
    while worker.has_dataflows() {
        worker.step_or_park(None);
    }
    Finished {
        parts: parts.iter().map(|part| part.take()).collect(),
        sent,
        done: recorder.take_done(),
    }
}

fn build(
    worker: &mut Worker,
    job: &Job,
    source: &Source,
    inputs: &mut Inputs,
    probe: &ProbeHandle<i64>,
    recorder: &Recorder,
) -> Vec<Rc<RefCell<Part>>> {
    // The first worker stores all rows of sums and models; every worker stores its share of other rows.
    let outputs = job.number("expected_outputs");
    let capacity = if worker.index() == 0 { outputs } else { outputs.div_ceil(worker.peers()) };
    let (keys, streams) = (job.number("keys"), job.number("streams"));
    worker.dataflow(|scope| {
        let bulk = scope.input_from(&mut inputs.bulk);
        let synchronizing = scope.input_from(&mut inputs.synchronizing);
        let records = recorder.clone();
        let rows = match (job.text("workload"), job.text("variant")) {
            ("event_window", "automatic") => {
                vec![event_window::event_window(bulk, synchronizing, streams, records)]
            }
            ("page_view_join", "automatic") => {
                vec![page_view_join::automatic(bulk, synchronizing, keys, streams, records)]
            }
            ("page_view_join", "manual") => {
                vec![page_view_join::manual(
                    bulk,
                    synchronizing,
                    keys,
                    streams,
                    records,
                    source.keys(),
                )]
            }
            ("fraud_detection", "automatic") => {
                fraud_detection::fraud_detection(scope, bulk, synchronizing, streams, records)
                    .into()
            }
            ("nothing", "ceiling") => vec![bulk.filter(|_| false).map(|event| Row::of(&event))],
            (workload, variant) => panic!("no dataflow for {workload} in variant {variant}"),
        };
        let stored = rows.into_iter().map(|rows| recorder.store(rows.probe_with(probe), capacity));
        stored.collect()
    })
}

/// Writes a file per part and, under a load, the times of all events; returns the number of parts.
fn write(finished: &[Finished], folder: &Path) -> io::Result<usize> {
    let parts: Vec<&Part> = finished.iter().flat_map(|worker| &worker.parts).collect();
    for (number, part) in parts.iter().enumerate() {
        let mut bytes = Vec::with_capacity(part.rows.len() * (Row::BYTES + size_of::<i64>()));
        for (index, row) in part.rows.iter().enumerate() {
            row.write(&mut bytes);
            bytes.extend(part.emit_ns.get(index).into_iter().flat_map(|ns| ns.to_le_bytes()));
        }
        fs::write(folder.join(format!("{number}.part")), bytes)?;
    }
    for sent in finished.iter().flat_map(|worker| &worker.sent) {
        let mut done_ns = vec![-1; sent.at_ns.len()];
        // Several workers may process a broadcast event; it is done when the last of them is.
        for done in finished.iter().flat_map(|worker| &worker.done) {
            if done.stream == sent.stream {
                let latest_ns = &mut done_ns[done.row as usize];
                *latest_ns = done.at_ns.max(*latest_ns);
            }
        }
        for (name, times) in [("sent_ns", &sent.at_ns), ("done_ns", &done_ns)] {
            let bytes: Vec<u8> = times.iter().flat_map(|ns| ns.to_le_bytes()).collect();
            fs::write(folder.join(format!("{}.{name}", sent.stream)), bytes)?;
        }
    }
    Ok(parts.len())
}
