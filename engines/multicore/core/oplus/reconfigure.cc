// Implements the changes of an OperatorStage's mapping; see oplus/stage.h.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "oplus/stage.h"

namespace lab {

// Stops an instance at the barrier of its pending switch. The last instance to arrive applies the switch.
void OperatorStage::reach_barrier(std::int32_t index) {
  Worker& worker = at(index);
  const std::int64_t number = worker.pending_switch;
  worker.pending_switch = -1;
  while (tidy(index)) {  // another instance may get the buckets
  }
  // Load the expected number before this instance counts as arrived: from then on, the last arrival may change it.
  const std::int32_t expected = active_count();
  // acq_rel: the last to arrive sees the earlier stores of each instance; it makes the switch for all.
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == expected - 1) {
    apply_switch(index, number);
  } else {
    worker.awaited_switch = number;  // `take_turn` finds no work until the switch is applied
  }
}

// Publishes the waiting outputs of an instance that is no longer active, then closes its source. Returns whether it
// made progress.
bool OperatorStage::publish_and_leave(std::int32_t index) {
  const std::lock_guard lock(epochs_mutex_);  // no switch makes the instance active again meanwhile
  Worker& worker = at(index);
  if (!worker.leaving.load(std::memory_order_relaxed)) return true;  // relaxed: written under the mutex
  const bool published = publish_outputs(index);
  if (worker.out->waiting() != 0) return published;
  output_log_->close(index);
  worker.leaving.store(false, std::memory_order_seq_cst);  // pairs with `engaged`
  if (output_log_->advance()) notify_readers();
  return true;
}

// Changes the mapping while all active instances stand at the barrier, then releases them. Instance `index` makes the
// change.
void OperatorStage::apply_switch(std::int32_t index, std::int64_t number) {
  Worker& me = at(index);
  const std::lock_guard lock(epochs_mutex_);
  Epoch& epoch = epochs_[static_cast<std::size_t>(number)];
  std::vector<OperatorInstance*> instances;
  for (const Worker& worker : workers_) instances.push_back(worker.instance.get());
  const Change change(assignment(), epoch.assignment, index);
  // In the order of Algorithm 4: a joining instance becomes a source of TB_out before it becomes a reader of TB_in. A
  // leaving one stops being a reader before it stops being a source.
  for (const std::int32_t i : change.joining) {
    if (output_log_ == nullptr) break;
    // relaxed: under the mutex. An instance that is still leaving has remained a source.
    if (at(i).leaving.load(std::memory_order_relaxed)) {
      at(i).leaving.store(false, std::memory_order_seq_cst);  // pairs with `engaged`
    } else {
      output_log_->join(i, change.before.instances);
    }
  }
  epoch.report.moved_bytes = handover_->change(change, instances);
  for (const std::int32_t i : change.leaving) {
    if (output_log_ == nullptr) break;
    if (at(i).out->waiting() == 0) {
      output_log_->close(i);
    } else {
      at(i).leaving.store(true, std::memory_order_seq_cst);  // pairs with `engaged`; stored before `active` is cleared
    }
  }
  for (const std::int32_t i : change.joining) {
    Worker& joining = at(i);
    joining.skipped_rows = handover_->has_switch_time() ? 0 : me.skipped_rows;
    joining.pending_switch = -1;
    publish_counts(joining);
  }
  assignment_.store(&epoch.assignment, std::memory_order_release);  // pairs with `add_to`
  reach_.store(std::max(change.after.reach(), reach_.load(std::memory_order_relaxed)),
               std::memory_order_seq_cst);  // see `reach`
  for (const std::int32_t i : change.all) at(i).instance->adopt(change.after.owner.data());
  epoch.report.before = change.before.instances;
  epoch.report.event_ts = me.switch_watermark;
  epoch.report.done_ns = threads_.since_start();
  arrived_.store(0, std::memory_order_relaxed);  // relaxed: published by the store below
  // seq_cst, each followed by a notify: pairs with the loads in `active` and `take_turn`.
  for (const std::int32_t i : change.all) at(i).active.store(change.after.has(i), std::memory_order_seq_cst);
  applied_.store(number, std::memory_order_seq_cst);
  if (output_log_ != nullptr) output_log_->advance();  // rows that only leaving instances delayed may now be ready
  threads_.notify_all();
  switched_.notify_all();
}

std::int64_t OperatorStage::reconfigure(InstanceMapping next) {
  check_assignment(spec_, next, options_.max_instances);
  std::int64_t number = 0;
  if (handover_ == nullptr) throw std::logic_error("start before reconfigure");
  if (last_request_ > 0 && handover_->has_switch_time()) static_cast<void>(await(last_request_));  // one at a time
  if (threads_.finished() || threads_.failed()) return -1;
  {
    const std::lock_guard lock(epochs_mutex_);
    number = static_cast<std::int64_t>(epochs_.size());
    Switch requested;
    requested.called_ns = threads_.since_start();
    requested.after = next.instances;
    epochs_.push_back({std::move(next), std::move(requested)});
  }
  if (!handover_->append_switch(number)) return -1;
  last_request_ = number;
  threads_.notify(reach());
  return number;
}

std::optional<Switch> OperatorStage::await(std::int64_t number) {
  std::unique_lock lock(epochs_mutex_);
  const auto applied = [&] { return applied_.load(std::memory_order_relaxed) >= number; };  // relaxed: the mutex orders
  switched_.wait(lock, [&] { return applied() || threads_.finished() || threads_.failed(); });
  if (!applied()) return std::nullopt;
  // An overtaken switch was not applied; the later one replaced it.
  return epochs_[static_cast<std::size_t>(applied_.load(std::memory_order_relaxed))].report;
}

void OperatorStage::wake_waiter() noexcept {
  {
    const std::lock_guard lock(epochs_mutex_);
  }  // now each waiter has seen that the run is over, or is waiting already
  switched_.notify_all();
}

void OperatorStage::add_to(Snapshot& into) const {
  // acquire: pairs with the store in `apply_switch`; null before the start. A statistic, like all fields here.
  if (const InstanceMapping* const now = assignment_.load(std::memory_order_acquire); now != nullptr) {
    into.active = now->instances;
  }
  into.processed.assign(static_cast<std::size_t>(spec_.inputs), 0);
  // With queues, count delivered tuples: an instance sees only its own tuples, and several may have a copy of one
  // tuple.
  const bool queues = handover_ && handover_->has_switch_time();
  for (std::size_t s = 0; queues && s < input_.streams.size(); ++s) {
    into.processed[static_cast<std::size_t>(input_.streams[s].input)] += handover_->delivered_of(s);
  }
  if (spec_.counts_pairs()) into.windows.assign(static_cast<std::size_t>(spec_.inputs), 0);
  for (const Worker& worker : workers_) into.compared += worker.compared.load(std::memory_order_relaxed);
  for (const std::int32_t w : into.active) {
    if (queues) break;
    const Worker& worker = at(w);
    const bool first = w == into.active.front();
    for (std::size_t i = 0; i < into.processed.size(); ++i) {
      const std::int64_t processed = worker.processed[i].load(std::memory_order_relaxed);
      into.processed[i] = first ? processed : std::min(into.processed[i], processed);
      if (first && spec_.counts_pairs()) into.windows[i] = worker.windows[i].load(std::memory_order_relaxed);
    }
  }
}

std::vector<Switch> OperatorStage::switches() const {
  const std::lock_guard lock(epochs_mutex_);
  std::vector<Switch> result;
  for (std::size_t i = 1; i < epochs_.size(); ++i) result.push_back(epochs_[i].report);
  return result;
}

}  // namespace lab
