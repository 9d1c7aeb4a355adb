//! Sums of values between two barriers (DGS paper, appendix F).

use std::collections::BTreeMap;

use timely::dataflow::StreamVec;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::Operator;
use timely::dataflow::operators::vec::Broadcast;

use crate::events::{Event, Pending, Row, end_of, reached};
use crate::recorder::Recorder;

/// Broadcasts barriers; each worker sums its share of the values, and the first worker adds the shares.
pub fn event_window<'scope>(
    values: StreamVec<'scope, i64, Event>,
    barriers: StreamVec<'scope, i64, Event>,
    streams: usize,
    recorder: Recorder,
) -> StreamVec<'scope, i64, Row> {
    total(shares(values, barriers.broadcast(), streams, recorder))
}

/// Returns each barrier with the sum of this worker's values since the barrier before.
fn shares<'scope>(
    values: StreamVec<'scope, i64, Event>,
    barriers: StreamVec<'scope, i64, Event>,
    streams: usize,
    recorder: Recorder,
) -> StreamVec<'scope, i64, Event> {
    values.binary_frontier(barriers, Pipeline, Pipeline, "shares", |capability, _| {
        let mut held = Some(capability);
        let (mut values, mut barriers) = (Pending::new(streams), Pending::new(streams));
        let mut sum = 0_i64;
        move |(value_input, value_frontier), (barrier_input, barrier_frontier), output| {
            value_input.for_each(|_, batch| values.receive(batch));
            barrier_input.for_each(|_, batch| barriers.receive(batch));
            let Some(capability) = &mut held else { return };
            let reached = reached(&[value_frontier, barrier_frontier], |&ts| ts);
            let mut session = output.session(&capability);
            loop {
                let barrier = barriers.take_first_before(end_of(reached));
                let end = barrier.as_ref().map_or(end_of(reached), Event::place);
                for value in values.drain_before(end) {
                    sum = sum.wrapping_add(value.value);
                    recorder.record_done(&value);
                }
                let Some(barrier) = barrier else { break };
                recorder.record_done(&barrier);
                session.give(Event { value: sum, ..barrier });
                sum = 0;
            }
            drop(session);
            match reached {
                Some(ts) => capability.downgrade(&ts),
                None => held = None,
            }
        }
    })
}

/// Adds the shares of each barrier when all workers have passed it.
fn total<'scope>(shares: StreamVec<'scope, i64, Event>) -> StreamVec<'scope, i64, Row> {
    shares.unary_frontier(Exchange::new(|_: &Event| 0), "total", |capability, _| {
        let mut held = Some(capability);
        let mut sums = BTreeMap::new();
        move |(input, frontier), output| {
            input.for_each(|_, batch| {
                for share in batch.drain(..) {
                    let row =
                        sums.entry(share.place()).or_insert(Row { value: 0, ..Row::of(&share) });
                    row.value = row.value.wrapping_add(share.value);
                }
            });
            let Some(capability) = &mut held else { return };
            let reached = reached(&[frontier], |&ts| ts);
            let open = sums.split_off(&end_of(reached));
            output
                .session(&capability)
                .give_iterator(std::mem::replace(&mut sums, open).into_values());
            match reached {
                Some(ts) => capability.downgrade(&ts),
                None => held = None,
            }
        }
    })
}
