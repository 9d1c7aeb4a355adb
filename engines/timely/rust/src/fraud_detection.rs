//! Fraudulent transactions by a model that every rule retrains (DGS paper, appendix F).
//!
//! The model travels on a feedback loop. Its logical time is (event time, number of the window), so
//! that two rules with the same event time have different logical times.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::operators::vec::Broadcast;
use timely::dataflow::operators::{ConnectLoop, Enter, Leave, LoopVariable};
use timely::dataflow::{Scope, StreamVec};
use timely::order::Product;

use crate::events::{Event, Pending, Row, end_of, reached};
use crate::recorder::Recorder;

const FRAUD: i32 = 0;
const AGGREGATE: i32 = 1;
const MODULUS: i64 = 1000;

/// Event time, and the number of earlier rules.
type Time = Product<i64, u64>;
type Stream<'scope, D> = StreamVec<'scope, Time, D>;

/// The model of a window.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Model {
    window: u64,
    value: i64,
}

/// A rule with the sum of one worker's transactions since the rule before.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Share {
    rule: Event,
    sum: i64,
}

/// Returns frauds, and the aggregates of windows.
pub fn fraud_detection<'scope>(
    scope: Scope<'scope, i64>,
    transactions: StreamVec<'scope, i64, Event>,
    rules: StreamVec<'scope, i64, Event>,
    streams: usize,
    recorder: Recorder,
) -> [StreamVec<'scope, i64, Row>; 2] {
    let rules = rules.broadcast();
    scope.iterative::<u64, _, _>(|inner| {
        let (handle, models) = inner.loop_variable(1);
        let (frauds, shares) =
            detect(transactions.enter(inner), rules.enter(inner), models, streams, recorder);
        let (aggregates, models) = train(shares);
        models.broadcast().connect_loop(handle);
        [frauds.leave(scope), aggregates.leave(scope)]
    })
}

/// Compares this worker's transactions with the model of their window, and sums them up.
fn detect<'scope>(
    transactions: Stream<'scope, Event>,
    rules: Stream<'scope, Event>,
    models: Stream<'scope, Model>,
    streams: usize,
    recorder: Recorder,
) -> (Stream<'scope, Row>, Stream<'scope, Share>) {
    let mut builder = OperatorBuilder::new("detect".to_owned(), transactions.scope());
    let mut transaction_input = builder.new_input(transactions, Pipeline);
    let mut rule_input = builder.new_input(rules, Pipeline);
    let mut model_input = builder.new_input(models, Pipeline);
    let (fraud_output, frauds) = builder.new_output();
    let (share_output, shares) = builder.new_output();
    let mut fraud_output = OutputBuilder::from(fraud_output);
    let mut share_output = OutputBuilder::from(share_output);

    builder.build(move |mut capabilities| {
        let mut held = capabilities.pop().zip(capabilities.pop());
        let (mut transactions, mut rules) = (Pending::new(streams), Pending::new(streams));
        let mut models = BTreeMap::from([(0, 0)]);
        let (mut window, mut sum) = (0, 0_i64);
        move |frontiers| {
            transaction_input.for_each(|_, batch| transactions.receive(batch));
            rule_input.for_each(|_, batch| rules.receive(batch));
            model_input.for_each(|_, batch| {
                models.extend(batch.drain(..).map(|model: Model| (model.window, model.value)));
            });
            let Some((for_shares, for_frauds)) = &mut held else { return };
            let reached = reached(&[&frontiers[0], &frontiers[1]], |time: &Time| time.outer);
            let mut fraud_output = fraud_output.activate();
            let mut share_output = share_output.activate();
            let mut fraud_session = fraud_output.session(&for_frauds);
            while let Some(&model) = models.get(&window) {
                let rule = rules.take_first_before(end_of(reached));
                let end = rule.as_ref().map_or(end_of(reached), Event::place);
                for transaction in transactions.drain_before(end) {
                    if transaction.value.rem_euclid(MODULUS) == model {
                        fraud_session.give(Row { kind: FRAUD, ..Row::of(&transaction) });
                    }
                    sum = sum.wrapping_add(transaction.value);
                    recorder.record_done(&transaction);
                }
                let Some(rule) = rule else { break };
                recorder.record_done(&rule);
                let at_rule = for_shares.delayed(&Product::new(rule.ts, window));
                share_output.session(&at_rule).give(Share { rule, sum });
                models.remove(&window);
                (window, sum) = (window + 1, 0);
            }
            drop(fraud_session);
            let waiting =
                [transactions.first(), rules.first()].into_iter().flatten().map(|event| event.ts);
            match waiting.chain(reached).min() {
                Some(ts) => {
                    for_shares.downgrade(&Product::new(ts, window));
                    for_frauds.downgrade(&Product::new(ts, window));
                }
                None => held = None,
            }
        }
    });
    (frauds, shares)
}

/// Adds the shares of each rule when all workers have passed it; returns aggregates and models.
fn train<'scope>(shares: Stream<'scope, Share>) -> (Stream<'scope, Row>, Stream<'scope, Model>) {
    let mut builder = OperatorBuilder::new("train".to_owned(), shares.scope());
    let mut input = builder.new_input(shares, Exchange::new(|_: &Share| 0));
    let (row_output, rows) = builder.new_output();
    let (model_output, models) = builder.new_output();
    let mut row_output = OutputBuilder::from(row_output);
    let mut model_output = OutputBuilder::from(model_output);

    builder.build(move |initial| {
        drop(initial);
        let mut windows = BTreeMap::new();
        move |frontiers| {
            input.for_each(|message, batch| {
                for share in batch.drain(..) {
                    let time = *message.stamp().iter().next().expect("a message of one time");
                    let (_, total) = windows.entry(time.inner).or_insert_with(|| {
                        let capabilities = (message.delayed(&time, 0), message.delayed(&time, 1));
                        (capabilities, Share { sum: 0, ..share })
                    });
                    total.sum = total.sum.wrapping_add(share.sum);
                }
            });
            let mut row_output = row_output.activate();
            let mut model_output = model_output.activate();
            while let Some(first) = windows.first_entry() {
                let ((for_row, _), _) = first.get();
                if frontiers[0].frontier().less_equal(for_row.time()) {
                    break;
                }
                let (window, ((for_row, for_model), Share { rule, sum })) = first.remove_entry();
                row_output.session(&for_row).give(Row {
                    kind: AGGREGATE,
                    value: sum,
                    ..Row::of(&rule)
                });
                let value = sum.wrapping_add(rule.value).rem_euclid(MODULUS);
                model_output.session(&for_model).give(Model { window: window + 1, value });
            }
        }
    });
    (rows, models)
}
