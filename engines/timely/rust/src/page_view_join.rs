//! Views joined with the metadata of their page (DGS paper, figure 5 and appendix F).

use timely::dataflow::StreamVec;
use timely::dataflow::channels::pact::{Exchange, ParallelizationContract, Pipeline};
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::vec::{Broadcast, Filter};

use crate::events::{Event, Pending, Row, end_of, reached};
use crate::recorder::Recorder;

const VIEW: i32 = 0;
const UPDATE: i32 = 1;
const NO_USER: i64 = -1;

type Events<'scope> = StreamVec<'scope, i64, Event>;
type Rows<'scope> = StreamVec<'scope, i64, Row>;

/// Sends views and updates to the worker of their page.
pub fn automatic<'scope>(
    views: Events<'scope>,
    updates: Events<'scope>,
    pages: usize,
    streams: usize,
    recorder: Recorder,
) -> Rows<'scope> {
    let by_page = || Exchange::new(|event: &Event| u64::from(event.key));
    join(views, updates, by_page, pages, streams, recorder, |_| true)
}

/// Leaves views where they are and sends updates to all workers, each of which drops those it does not need.
///
/// `viewed_pages` has the pages in this worker's streams. One worker of each page emits its updates.
pub fn manual<'scope>(
    views: Events<'scope>,
    updates: Events<'scope>,
    pages: usize,
    streams: usize,
    recorder: Recorder,
    viewed_pages: impl Iterator<Item = u32>,
) -> Rows<'scope> {
    let (worker, workers) = (views.scope().index(), views.scope().peers());
    let emits = move |page: u32| page as usize % workers == worker;
    let mut relevant: Vec<bool> = (0..pages as u32).map(emits).collect();
    viewed_pages.for_each(|page| relevant[page as usize] = true);
    let updates = updates.broadcast().filter(move |update| relevant[update.key as usize]);
    join(views, updates, || Pipeline, pages, streams, recorder, emits)
}

fn join<'scope, P>(
    views: Events<'scope>,
    updates: Events<'scope>,
    pact: impl Fn() -> P,
    pages: usize,
    streams: usize,
    recorder: Recorder,
    emits: impl Fn(u32) -> bool + 'static,
) -> Rows<'scope>
where
    P: ParallelizationContract<i64, Vec<Event>>,
{
    views.binary_frontier(updates, pact(), pact(), "join", |capability, _| {
        let mut held = Some(capability);
        let (mut views, mut updates) = (Pending::new(streams), Pending::new(streams));
        let mut metadata = vec![0_i64; pages];
        move |(view_input, view_frontier), (update_input, update_frontier), output| {
            view_input.for_each(|_, batch| views.receive(batch));
            update_input.for_each(|_, batch| updates.receive(batch));
            let Some(capability) = &mut held else { return };
            let reached = reached(&[view_frontier, update_frontier], |&ts| ts);
            let mut session = output.session(&capability);
            loop {
                let update = updates.take_first_before(end_of(reached));
                let end = update.as_ref().map_or(end_of(reached), Event::place);
                for view in views.drain_before(end) {
                    session.give(Row {
                        kind: VIEW,
                        other: metadata[view.key as usize],
                        ..Row::of(&view)
                    });
                    recorder.record_done(&view);
                }
                let Some(update) = update else { break };
                let replaced = std::mem::replace(&mut metadata[update.key as usize], update.value);
                if emits(update.key) {
                    session.give(Row {
                        kind: UPDATE,
                        value: NO_USER,
                        other: replaced,
                        ..Row::of(&update)
                    });
                    recorder.record_done(&update);
                }
            }
            drop(session);
            match reached {
                Some(ts) => capability.downgrade(&ts),
                None => held = None,
            }
        }
    })
}
