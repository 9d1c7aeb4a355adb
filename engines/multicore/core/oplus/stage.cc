// Implements OperatorStage, except switches (oplus/reconfigure.cc); see oplus/stage.h.
#include "oplus/stage.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <stdexcept>
#include <utility>

namespace lab {

OperatorStage::OperatorStage(const OplusOptions& options, InstanceThreads& threads, const OperatorSpec& spec,
                             std::vector<std::int32_t> itemsizes)
    : options_(options), threads_(threads), spec_(checked(spec)), itemsizes_(std::move(itemsizes)) {
  check_output(itemsizes_);
  workers_ = std::vector<Worker>(static_cast<std::size_t>(options_.max_instances));
  pool_ = std::make_shared<OutputPool>(itemsizes_, spec_.max_outputs);
  for (Worker& worker : workers_) {
    worker.out = std::make_unique<OutputBuffer>(pool_);
    const auto inputs = static_cast<std::size_t>(spec_.inputs);
    worker.processed = std::make_unique<std::atomic<std::int64_t>[]>(inputs);
    worker.windows = std::make_unique<std::atomic<std::int64_t>[]>(inputs);
  }
}

void OperatorStage::map(std::vector<std::int32_t> owner) {
  InstanceMapping first{first_instances(options_.workers), std::move(owner)};
  check_assignment(spec_, first, options_.max_instances);
  epochs_.push_back({std::move(first), {}});
}

void OperatorStage::start(std::unique_ptr<Handover> handover, const InputTimes& input) {
  handover_ = std::move(handover);
  first_stage_ = this;
  start_instances(input);
}

void OperatorStage::start(std::unique_ptr<ChainLog> link, OperatorStage& before, const InputTimes& input) {
  input_log_ = &link->output_log();
  handover_ = std::move(link);
  previous_stage_ = &before;
  first_stage_ = before.first_stage_;
  start_instances(input);
  before.next_stage_ = this;
  before.publish_into(*input_log_, 0, 0);
}

void OperatorStage::publish_into(OutputLog& log, std::int32_t first_thread, std::int32_t readers) {
  output_log_ = &log;
  first_reader_ = first_thread;
  end_reader_ = first_thread + readers;
  for (std::int32_t i = 0; i < options_.max_instances; ++i) {
    at(i).out->limit_waiting(log.spill(i));
    // Without measurement, no reader needs the causes.
    if (options_.load && options_.measure) at(i).instance->forward_causes(at(i).causes);
  }
}

void OperatorStage::start_instances(const InputTimes& input) {
  input_ = input;
  const InstanceMapping& first = epochs_.front().assignment;
  handover_->start(options_.max_instances, first);
  // relaxed: threads start after all of this
  assignment_.store(&first, std::memory_order_relaxed);
  reach_.store(first.reach(), std::memory_order_relaxed);
  for (std::int32_t i = 0; i < options_.max_instances; ++i) {
    Worker& worker = at(i);
    Recorder& recorder = threads_.meter(i).recorder;
    if (spec_.is_join()) {
      worker.instance =
          std::make_unique<JoinInstance>(i, spec_, handover_->streams(i), *worker.out, recorder, threads_.failure());
    } else {
      worker.instance =
          std::make_unique<KeyedInstance>(i, spec_, handover_->streams(i), *worker.out, recorder, threads_.failure(),
                                          *handover_->state(i), handover_->has_switch_time(), handover_->marks());
    }
    worker.instance->adopt(first.owner.data());
    worker.active.store(first.has(i), std::memory_order_relaxed);
  }
}

bool OperatorStage::take_turn(std::int32_t index) {
  Worker& worker = at(index);
  // Check the awaited switch first, because it may make this instance inactive.
  if (worker.awaited_switch >= 0) {
    // seq_cst: pairs with the store in `apply_switch`, whose notify must not miss a sleeper; acquire: the new mapping.
    if (applied_.load(std::memory_order_seq_cst) < worker.awaited_switch) return false;
    worker.awaited_switch = -1;
  }
  if (!active(index)) return engaged(index) && publish_and_leave(index);
  if (worker.finished) return false;
  // The log may now have room for waiting outputs. Waiting outputs do not stop the instance from reading, unless room
  // is certain to come.
  const bool has_waiting = output_log_ != nullptr && worker.out->waiting() != 0;
  const bool published = has_waiting && publish_outputs(index);
  if (worker.input_ended) {
    if (worker.out->waiting() != 0) return published;
    finish_instance(index);
    return true;
  }
  if (published) return true;
  if (has_waiting && output_log_->will_have_room(index)) return false;
  if (process_ready_runs(index)) return true;
  TupleBuffer& log = handover_->log(index);
  const int reader = handover_->reader(index);
  if (log.ended(reader)) {
    // A switch at one event time concerns all instances, including those without later tuples.
    if (worker.pending_switch >= 0 && handover_->has_switch_time()) {
      reach_barrier(index);
    } else {
      end_input(index);
    }
    return true;
  }
  const InstanceMapping& now = assignment();
  const bool fed = handover_->feed(threads_.meter(index).recorder, now);
  if (fed) threads_.notify(now.instances);
  return fed || !log.read(reader).empty() || tidy(index);
}

// Processes and releases a batch of runs from the log, at most up to a switch. Returns false if no run is ready.
bool OperatorStage::process_ready_runs(std::int32_t index) {
  Worker& worker = at(index);
  const std::span<const LogRun> runs = handover_->log(index).read(handover_->reader(index));
  if (runs.empty()) return false;
  worker.batch.clear();
  std::int64_t rows = 0;
  std::size_t taken = 0;
  bool at_switch = false;
  for (; taken < runs.size() && rows < options_.batch_rows && !at_switch; ++taken) {
    LogRun part = runs[taken];
    if (part.source == kControlEntry) {
      process_runs(index, worker.batch);
      worker.batch.clear();
      worker.pending_switch = part.begin;
      worker.switch_watermark = worker.instance->watermark();
      worker.had_tuple = worker.instance->tuples() != 0;
      if (handover_->switch_time(&worker.switch_watermark)) {
        worker.had_tuple = true;
        at_switch = part.end > worker.switch_watermark;  // no more tuples up to that watermark will come
      }
      continue;
    }
    if (part.source == kWatermarkEntry) {
      process_runs(index, worker.batch);
      worker.batch.clear();
      // Between operators, the entry carries the promise of the earlier operator's instances: their watermark plus 1.
      const std::int64_t watermark = input_log_ == nullptr ? part.end : part.end - 1;
      if (worker.pending_switch >= 0 && (!worker.had_tuple || watermark > worker.switch_watermark)) {
        at_switch = true;
        break;
      }
      advance_watermark(index, watermark);
      continue;
    }
    part.begin += worker.skipped_rows;
    worker.skipped_rows = 0;
    if (worker.pending_switch >= 0) {
      process_runs(index, worker.batch);  // updates the rows read of each stream
      worker.batch.clear();
      const std::int64_t before = rows_until(index, part, worker.had_tuple, worker.switch_watermark);
      if (before != part.end) {
        at_switch = true;
        worker.skipped_rows = before - runs[taken].begin;
        part.end = before;
      }
    }
    if (part.begin < part.end) worker.batch.push_back(part);
    rows += part.end - part.begin;
    if (at_switch) break;
  }
  process_runs(index, worker.batch);
  release_runs(index, taken);
  if (output_log_ != nullptr) publish_outputs(index);
  if (at_switch) reach_barrier(index);
  return true;
}

void OperatorStage::release_runs(std::int32_t index, std::size_t runs) {
  handover_->log(index).release(handover_->reader(index), runs);
  if (input_log_ != nullptr && input_log_->starved()) threads_.notify(previous_stage_->reach());
}

// Returns the first row of `part` (the first place, if interleaved) with a time above `until`, or its end if there is
// none. Without an earlier tuple, returns its beginning.
std::int64_t OperatorStage::rows_until(std::int32_t index, const LogRun& part, bool had_tuple, std::int64_t until) {
  if (!had_tuple) return part.begin;
  const std::span<const OperatorStream> streams = handover_->streams(index);
  if (part.source != kInterleavedEntry) {
    const OperatorStream& stream = streams[static_cast<std::size_t>(part.source)];
    return *std::ranges::partition_point(std::views::iota(part.begin, part.end),
                                         [&](std::int64_t row) { return stream.ts(row) <= until; });
  }
  const std::uint8_t* const sources = handover_->log(index).order().of(part.begin);
  std::vector<std::int64_t> next(streams.size());
  for (std::size_t s = 0; s < next.size(); ++s) next[s] = at(index).instance->rows_of(s);
  std::int64_t place = part.begin;
  for (; place < part.end; ++place) {
    const std::size_t s = sources[place - part.begin];
    if (streams[s].ts(next[s]++) > until) break;
  }
  return place;
}

void OperatorStage::process_runs(std::int32_t index, std::span<const LogRun> runs) {
  if (runs.empty()) return;
  Worker& worker = at(index);
  WorkMeter& meter = threads_.meter(index);
  std::int64_t rows = 0;
  for (const LogRun& part : runs) rows += part.end - part.begin;
  const std::int64_t compared = worker.instance->compared();
  const std::int64_t before = meter.recorder.tick();
  worker.instance->process(runs, handover_->log(index).order());
  if (input_log_ == nullptr) publish_counts(worker);
  if (!meter.on()) return;
  const std::int64_t after = meter.recorder.tick();
  // Queues count the rows that they hand over; tuples between operators are not events.
  if (input_log_ == nullptr && !handover_->has_switch_time()) {
    meter.recorder.consumed(static_cast<double>(rows) / active_count());
  }
  meter.worked(before, after, worker.instance->compared() - compared);
  count_outputs(index);
}

// Counts outputs at full speed; under a load, outputs are counted with their latencies.
void OperatorStage::count_outputs(std::int32_t index) noexcept {
  if (output_log_ != nullptr || options_.load) return;
  Worker& worker = at(index);
  const std::int64_t outputs = worker.out->rows();
  threads_.meter(index).recorder.made(outputs - std::exchange(worker.counted_outputs, outputs));
}

void OperatorStage::advance_watermark(std::int32_t index, std::int64_t watermark) {
  if (!input_.end) return;
  // Promises may reach beyond the last tuple, so limit the watermark to the known end of the input. An earlier stage
  // has already limited its promises.
  const std::int64_t limited_watermark = input_log_ == nullptr ? std::min(watermark, *input_.end) : watermark;
  WorkMeter& meter = threads_.meter(index);
  const std::int64_t before = meter.recorder.tick();
  OperatorInstance& instance = *at(index).instance;
  instance.advance(limited_watermark,
                   instance.expires_by(limited_watermark) ? due_of_time(index, limited_watermark) : -1);
  if (!meter.on()) return;
  meter.worked(before, meter.recorder.tick(), 0);
  count_outputs(index);
}

// Removes some entries of closed windows and records the time as work. Returns false if no entry was left.
bool OperatorStage::tidy(std::int32_t index) {
  WorkMeter& meter = threads_.meter(index);
  const std::int64_t before = meter.recorder.tick();
  if (!at(index).instance->tidy()) return false;
  if (meter.on()) meter.worked(before, meter.recorder.tick(), 0);
  return true;
}

// Returns when `watermark` was due, in ns after the start; -1 without a load.
std::int64_t OperatorStage::due_of_time(std::int32_t index, std::int64_t watermark) const noexcept {
  if (!options_.load) return -1;
  // Tuples between operators carry later times than their causes, so they may raise a watermark before the sources
  // reach that time. Then the last of these tuples is the cause. Skip inactive instances: a switch may be
  // changing their position.
  if (previous_stage_ != nullptr && first_stage_->is_running(index) && previous_stage_->is_running(index) &&
      watermark > first_stage_->at(index).instance->watermark()) {
    return previous_stage_->at(index).instance->due_of_last();
  }
  return due_of_watermark(input_.streams, watermark);
}

void OperatorStage::publish_counts(Worker& worker) noexcept {
  // relaxed: statistics.
  worker.compared.store(worker.instance->compared(), std::memory_order_relaxed);
  for (std::int32_t i = 0; i < spec_.inputs; ++i) {
    const auto input = static_cast<std::size_t>(i);
    worker.processed[input].store(worker.instance->processed(i), std::memory_order_relaxed);
    worker.windows[input].store(worker.instance->in_window(i), std::memory_order_relaxed);
  }
}

// Moves waiting outputs into the output log and promises the instance's watermark. Returns whether it published
// anything.
bool OperatorStage::publish_outputs(std::int32_t index) {
  Worker& worker = at(index);
  std::int64_t watermark = worker.instance->started() ? worker.instance->watermark() : OutputLog::kNever;
  if (spec_.keeps_time && watermark != OutputLog::kNever && !worker.input_ended) --watermark;
  if (!output_log_->move(index, *worker.out, worker.causes, watermark)) return false;
  if (output_log_->advance()) notify_readers();
  return true;
}

void OperatorStage::notify_readers() noexcept {
  if (next_stage_ != nullptr) {
    threads_.notify(next_stage_->reach());
  } else {
    threads_.notify(first_reader_, end_reader_);
  }
}

// Ends the input of an instance: advances it to the input's last time, and publishes its last outputs.
void OperatorStage::end_input(std::int32_t index) {
  Worker& worker = at(index);
  // For every instance, time has passed up to the last tuple, even if that tuple does not concern the instance. Behind
  // another operator, time has also passed up to that operator's watermark: its instances have finished, since this log
  // has ended. Every instance active at its end has that watermark, which became visible when it closed its source.
  if (previous_stage_ == nullptr) {
    if (input_.end) advance_watermark(index, *input_.end);
  } else {
    const std::int32_t other = previous_stage_->assignment().instances.front();
    advance_watermark(index, std::max(worker.instance->watermark(), previous_stage_->at(other).instance->watermark()));
  }
  worker.input_ended = true;
  if (output_log_ != nullptr) publish_outputs(index);
  if (output_log_ == nullptr || worker.out->waiting() == 0) finish_instance(index);
}

// Closes the outputs of an instance that has published them all. Without an output log, the last instance ends the run.
void OperatorStage::finish_instance(std::int32_t index) {
  at(index).finished = true;
  if (threads_.meter(index).on()) count_outputs(index);  // outputs of windows that a switch expired
  if (output_log_ != nullptr) {
    output_log_->close(index);
    if (output_log_->advance()) notify_readers();
  }
  // All instances read the same switches before the end, so the number of active ones is final here. acq_rel: the
  // reader of the results sees the stores of each instance.
  const std::int32_t active_instances = active_count();
  const bool is_last = ended_.fetch_add(1, std::memory_order_acq_rel) == active_instances - 1;
  if (is_last && output_log_ == nullptr) threads_.finish();
}

std::int64_t OperatorStage::events() const noexcept {
  const std::int64_t delivered = handover_ ? handover_->delivered() : 0;
  if (delivered >= 0) return delivered;
  if (!handover_) return 0;
  std::int64_t fewest = -1;
  for (const std::int32_t i : assignment().instances) {
    const std::int64_t read = at(i).instance->tuples();
    if (fewest < 0 || read < fewest) fewest = read;
  }
  return std::max<std::int64_t>(0, fewest);
}

std::int64_t OperatorStage::compared() const noexcept {
  std::int64_t total = 0;
  for (const Worker& worker : workers_) total += worker.instance->compared();
  return total;
}

std::int64_t OperatorStage::kernel_calls() const noexcept {
  std::int64_t total = 0;
  for (const Worker& worker : workers_) total += worker.instance->kernel_calls();
  return total;
}

std::int64_t OperatorStage::spilled() const noexcept {
  std::int64_t total = 0;
  for (std::int32_t i = 0; output_log_ != nullptr && i < options_.max_instances; ++i)
    total += output_log_->spill(i).rows();
  return total;
}

std::int64_t OperatorStage::spilled_peak() const noexcept {
  std::int64_t peak = 0;
  for (std::int32_t i = 0; output_log_ != nullptr && i < options_.max_instances; ++i)
    peak = std::max(peak, output_log_->spill(i).peak());
  return peak;
}

}  // namespace lab
