#include "operator_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <limits>
#include <stdexcept>

#include "clock.h"
#include "run_parts.h"

namespace lab {
namespace {

constexpr std::int32_t kSpins = 50;  // see runtime.cc
constexpr std::int32_t kYields = 20;

}  // namespace

OperatorRuntime::OperatorRuntime(OperatorOptions options, OperatorSpec spec)
    : options_(std::move(options)), spec_(spec) {
  if (options_.instances < 1 || options_.instances > options_.most_instances) {
    throw std::invalid_argument("instances must be between 1 and most_instances");
  }
  if (options_.most_instances > kMaxLogReaders) {
    throw std::invalid_argument("most_instances must be at most " + std::to_string(kMaxLogReaders));
  }
  if (options_.batch < 1) throw std::invalid_argument("batch must be at least 1");
  if (options_.batch_rows < 1) throw std::invalid_argument("batch_rows must be at least 1");
  check_ring_blocks(options_.ring_blocks);
  if (options_.grid_steps < 1) throw std::invalid_argument("grid_steps must be at least 1");
  check_output(options_.output_itemsizes);
  if (options_.load) check_load(*options_.load);
  if (spec_.window.advance < 1 || spec_.window.size < spec_.window.advance) {
    throw std::invalid_argument("a window advances by at least 1 and at most its size");
  }
  if (spec_.buckets < 1) throw std::invalid_argument("buckets must be at least 1");
  spec_.max_outputs = std::max<std::int64_t>(1, spec_.max_outputs);
  // A block must fit into the log whole.
  options_.log.rows_in_flight = std::max(options_.log.rows_in_flight, options_.batch);
  static_cast<void>(make_tuple_buffer(options_.tuple_buffer, options_.log));  // says what is wrong with them
  if (options_.shared_nothing && spec_.is_join()) {
    throw std::invalid_argument("shared-nothing instances run keyed operators");
  }
  const auto count = static_cast<std::size_t>(options_.most_instances);
  workers_ = std::vector<Worker>(count);
  parkers_ = std::vector<Parker>(count);
  pool_ = std::vector<Parker>(count);
  for (Worker& worker : workers_) {
    worker.out = std::make_unique<OutputBuffer>(options_.output_itemsizes, spec_.max_outputs);
    worker.out->reserve(options_.reserved_rows);
    worker.recorder = std::make_unique<Recorder>(options_.measure, options_.grid_steps);
    const auto inputs = static_cast<std::size_t>(spec_.inputs);
    worker.processed = std::make_unique<std::atomic<std::int64_t>[]>(inputs);
    worker.windows = std::make_unique<std::atomic<std::int64_t>[]>(inputs);
    if (!options_.measure) continue;
    // calloc: pages that no step touches cost nothing.
    const auto steps = static_cast<std::size_t>(options_.grid_steps);
    worker.steps = {static_cast<LoadStep*>(std::calloc(steps, sizeof(LoadStep))), &std::free};
    if (!worker.steps) throw std::bad_alloc();
  }
  if (!options_.load) return;
  generator_ = std::make_unique<Generator>(*options_.load, options_.spare_core, options_.measure, options_.grid_steps);
}

OperatorRuntime::~OperatorRuntime() {
  if (go_ != nullptr) abandon();
}

std::int32_t OperatorRuntime::add_stream(StreamView stream, std::int32_t input, ProcessKernel kernel,
                                         RouteKernel router, std::vector<ColumnShape> shapes) {
  if (input < 0 || input >= spec_.inputs) throw std::invalid_argument("no such input");
  const bool due = options_.load.has_value();
  check_stream(stream, sources_.size(), due);
  stream.index = static_cast<std::int32_t>(sources_.size());
  views_.push_back(std::move(stream));
  const StreamView& view = views_.back();
  sources_.push_back(std::make_unique<Source>(view, options_.batch, options_.ring_blocks,
                                              due && options_.load->whole_blocks, options_.measure));
  streams_.push_back({&view, input, kernel, router});
  shapes_.push_back(std::move(shapes));
  Source* source = sources_.back().get();
  Feed& feed = feeds_.emplace_back();
  feed.source = source;
  feed.reader = source->ring.add_reader();
  feed.pumped = !due;
  if (view.size() != 0) last_ts_ = std::max(last_ts_, view.ts.back());
  return view.index;
}

void OperatorRuntime::map(std::vector<std::int32_t> owner) {
  if (owner.size() != static_cast<std::size_t>(spec_.buckets)) throw std::invalid_argument("one owner per bucket");
  for (const std::int32_t instance : owner) {
    if (instance < 0 || instance >= options_.instances) throw std::invalid_argument("a bucket of no instance");
  }
  epochs_.push_back({options_.instances, std::move(owner), {}});
}

void OperatorRuntime::start() {
  if (go_ != nullptr) throw std::logic_error("a runtime starts once");
  if (epochs_.empty()) throw std::logic_error("map before start");
  if (options_.shared_nothing) {
    handover_ = std::make_unique<Queues>(spec_, options_.tuple_buffer, options_.log, streams_, shapes_, feeds_);
  } else {
    auto state = spec_.is_join() ? nullptr : std::make_unique<WindowState>(spec_.window, spec_.buckets);
    auto log = make_tuple_buffer(options_.tuple_buffer, options_.log);
    handover_ = std::make_unique<SharedLog>(std::move(log), streams_, feeds_, std::move(state));
  }
  handover_->start(options_.most_instances, options_.instances);
  owner_.store(&epochs_.front().owner, std::memory_order_relaxed);  // relaxed: threads start after it
  const std::int32_t active = options_.instances;
  active_.store(active, std::memory_order_relaxed);  // relaxed: threads start after it
  for (std::int32_t i = 0; i < options_.most_instances; ++i) {
    Worker& worker = workers_[static_cast<std::size_t>(i)];
    if (spec_.is_join()) {
      worker.instance = std::make_unique<JoinInstance>(i, spec_, handover_->streams(i), *worker.out, *worker.recorder);
    } else {
      worker.instance = std::make_unique<KeyedInstance>(i, spec_, handover_->streams(i), *worker.out,
                                                        *worker.recorder, *handover_->state(i));
    }
    worker.instance->adopt(epochs_.front().owner.data());
    worker.active.store(i < active, std::memory_order_relaxed);  // relaxed: threads start after it
  }
  go_ = std::make_unique<std::latch>(1);
  try {
    for (std::int32_t i = 0; i < options_.most_instances; ++i) {
      workers_[static_cast<std::size_t>(i)].thread = std::thread([this, i] { work(i); });
    }
    if (generator_) {
      std::vector<std::int32_t> everybody;
      for (std::int32_t i = 0; i < options_.most_instances; ++i) everybody.push_back(i);
      for (const auto& source : sources_) generator_->add(source.get(), everybody);
      generator_thread_ = std::thread([this] {
        go_->wait();
        generator_->run(start_ns(), parkers_, failed_);
      });
    }
  } catch (...) {
    abandon();
    throw;
  }
}

void OperatorRuntime::abandon() {
  if (!workers_.front().thread.joinable()) return;
  failed_.store(true, std::memory_order_seq_cst);  // pairs with the loads in `work`, `meet` and Generator::run
  go_->count_down();
  join();
}

void OperatorRuntime::join() {
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
  if (generator_thread_.joinable()) generator_thread_.join();
}

std::int64_t OperatorRuntime::run() {
  if (go_ == nullptr) start();
  if (!workers_.front().thread.joinable()) throw std::logic_error("a runtime runs once");
  const std::int64_t begin = now_ns();
  start_ns_.store(begin, std::memory_order_relaxed);  // relaxed: those who wait are released after it
  const std::int64_t warm_up_ns = options_.load ? options_.load->warm_up_ns : 0;
  for (Worker& worker : workers_) worker.recorder->begin(begin, warm_up_ns);
  go_->count_down();  // release: publishes the above; pairs with the waits
  join();
  const std::int64_t finish = now_ns();
  std::int64_t refused = 0;
  for (const Worker& worker : workers_) {
    if (!worker.error.empty()) throw std::runtime_error(worker.error);
    refused += worker.out->refused();
  }
  if (refused != 0) {
    throw std::runtime_error("functions emitted " + std::to_string(refused) +
                             " records beyond max_outputs; raise it in the operator");
  }
  return finish - begin;
}

std::int64_t OperatorRuntime::since_start() const noexcept {
  const std::int64_t start = start_ns();
  return start == 0 ? 0 : now_ns() - start;
}

void OperatorRuntime::notify_all() noexcept {
  for (Parker& parker : parkers_) parker.notify();
  for (Parker& parker : pool_) parker.notify();
}

void OperatorRuntime::notify_active() noexcept {
  // relaxed: who joins or leaves meanwhile is told by `apply`.
  const std::int32_t active = active_.load(std::memory_order_relaxed);
  for (std::int32_t i = 0; i < active; ++i) parkers_[static_cast<std::size_t>(i)].notify();
}

void OperatorRuntime::fail(std::int32_t index, const std::string& what) noexcept {
  workers_[static_cast<std::size_t>(index)].error = "instance " + std::to_string(index) + ": " + what;
  failed_.store(true, std::memory_order_seq_cst);  // pairs with the loads in `work` and `meet`
  notify_all();
  wake_waiter();
}

void OperatorRuntime::wake_waiter() noexcept {
  { const std::lock_guard lock(epochs_mutex_); }  // whoever waits has seen the flag, or waits by now
  switched_.notify_all();
}

void OperatorRuntime::work(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  pin_thread(options_.cores, index);
  go_->wait();
  try {
    Backoff backoff(options_.oversubscribed ? 0 : kSpins, kYields);
    // seq_cst: an instance about to sleep must see a failure, or the end, whose notify did not see it asleep.
    while (!failed_.load(std::memory_order_seq_cst) && !over()) {
      if (turn(index)) {
        backoff.reset();
        continue;
      }
      switch (backoff.next()) {
        case Backoff::Step::kSpin:
          spin_pause();
          break;
        case Backoff::Step::kYield:
          ++worker.counters.yields;
          std::this_thread::yield();
          break;
        case Backoff::Step::kSleep: {
          // In the pool it sleeps where only changes, the end and failures wake it.
          std::vector<Parker>& place = worker.active.load(std::memory_order_seq_cst) ? parkers_ : pool_;
          Parker& parker = place[static_cast<std::size_t>(index)];
          const std::uint32_t ticket = parker.prepare();
          if (turn(index) || over() || failed_.load(std::memory_order_seq_cst)) {
            parker.cancel();
          } else {
            ++worker.counters.sleeps;
            parker.commit(ticket);
          }
          break;
        }
      }
    }
  } catch (const std::exception& error) {
    fail(index, error.what());
  }
}

bool OperatorRuntime::turn(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  // seq_cst: the store in `apply` is followed by a notify (parker.h). Also acquire: what `apply` set up for us.
  if (!worker.active.load(std::memory_order_seq_cst)) return false;
  if (worker.done.load(std::memory_order_relaxed)) return false;  // relaxed: own store
  if (read(index)) return true;
  TupleBuffer& log = handover_->log(index);
  const int reader = handover_->reader(index);
  if (log.ended(reader)) {
    // A switch by decree is everybody's, also of those that have no tuple left behind it.
    if (worker.pending >= 0 && handover_->by_decree()) {
      meet(index);
    } else {
      end(index);
    }
    return true;
  }
  const bool fed = handover_->feed(*worker.recorder, owner_.load(std::memory_order_relaxed)->data(),
                                   active_.load(std::memory_order_relaxed));
  if (fed) notify_active();
  return fed || !log.read(reader).empty();
}

bool OperatorRuntime::read(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  TupleBuffer& log = handover_->log(index);
  const int reader = handover_->reader(index);
  const std::span<const LogRun> runs = log.read(reader);
  if (runs.empty()) return false;
  worker.batch.clear();
  std::int64_t rows = 0;
  std::size_t taken = 0;
  bool at_switch = false;
  for (; taken < runs.size() && rows < options_.batch_rows && !at_switch; ++taken) {
    LogRun part = runs[taken];
    if (part.source == kControlEntry) {
      process(worker, worker.batch);
      worker.batch.clear();
      worker.pending = part.begin;
      worker.gamma = worker.instance->watermark();
      worker.any = worker.instance->tuples() != 0;
      if (handover_->decreed(&worker.gamma)) {
        worker.any = true;
        at_switch = part.end > worker.gamma;  // nothing up to there is to come
      }
      continue;
    }
    if (part.source == kWatermarkEntry) {
      process(worker, worker.batch);
      worker.batch.clear();
      if (worker.pending >= 0 && worker.any && part.end > worker.gamma) {
        at_switch = true;
        break;
      }
      advance(worker, part.end);
      continue;
    }
    part.begin += worker.skip;
    worker.skip = 0;
    if (worker.pending >= 0) {
      const std::int64_t before = rows_until(index, part, worker.any, worker.gamma);
      if (before != part.end) {
        at_switch = true;
        worker.skip = before - runs[taken].begin;
        part.end = before;
      }
    }
    while (part.begin < part.end) {  // in pieces that lie in one piece
      const LogRun piece = handover_->place(part);
      worker.batch.push_back(piece);
      rows += piece.end - piece.begin;
      part.begin += piece.end - piece.begin;
    }
    if (at_switch) break;
  }
  process(worker, worker.batch);
  log.release(reader, taken);
  if (at_switch) meet(index);
  return true;
}

std::int64_t OperatorRuntime::rows_until(std::int32_t index, LogRun part, bool any, std::int64_t until) {
  if (!any) return part.begin;
  const std::int64_t* ts = handover_->streams(index)[static_cast<std::size_t>(part.source)].view->ts.data();
  while (part.begin < part.end) {
    const LogRun piece = handover_->place(part);
    const std::int64_t* first = std::upper_bound(ts + piece.begin, ts + piece.end, until);
    part.begin += first - (ts + piece.begin);
    if (first != ts + piece.end) break;
  }
  return part.begin;
}

void OperatorRuntime::process(Worker& worker, std::span<const LogRun> runs) {
  if (runs.empty()) return;
  std::int64_t rows = 0;
  for (const LogRun& part : runs) rows += part.end - part.begin;
  const std::int64_t compared = worker.instance->compared();
  const std::int64_t before = worker.recorder->tick();
  worker.instance->process(runs);
  if (!options_.measure) return;
  const std::int64_t after = worker.recorder->tick();
  if (!handover_->by_decree()) {  // queues count what they hand over
    worker.recorder->consumed(static_cast<double>(rows) / active_.load(std::memory_order_relaxed));
  }
  const std::int64_t step = std::clamp<std::int64_t>((after - start_ns()) / Recorder::kStepNs, 0, options_.grid_steps - 1);
  LoadStep& load = worker.steps.get()[step];
  load.busy_ns += after - before;
  load.compared += worker.instance->compared() - compared;
  worker.used_steps = std::max(worker.used_steps, step + 1);
  // relaxed: statistics, one writer.
  worker.busy_ns.store(worker.busy_ns.load(std::memory_order_relaxed) + after - before, std::memory_order_relaxed);
  publish_counts(worker);
}

void OperatorRuntime::advance(Worker& worker, std::int64_t watermark) {
  // Promises may reach beyond the last tuple, the watermark does not, but to where the input is known to end.
  if (last_ts_ == std::numeric_limits<std::int64_t>::min()) return;  // there are no tuples
  const std::int64_t reached = std::min(watermark, options_.end_watermark.value_or(last_ts_));
  worker.recorder->tick();
  worker.instance->advance(reached, due_of_watermark(streams_, reached));
}

void OperatorRuntime::publish_counts(Worker& worker) noexcept {
  // relaxed: statistics.
  worker.compared.store(worker.instance->compared(), std::memory_order_relaxed);
  for (std::int32_t i = 0; i < spec_.inputs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    worker.processed[at].store(worker.instance->processed(i), std::memory_order_relaxed);
    worker.windows[at].store(worker.instance->in_window(i), std::memory_order_relaxed);
  }
}

void OperatorRuntime::meet(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  const std::int64_t number = worker.pending;
  worker.pending = -1;
  // acq_rel: what each instance did before is seen by the last to come, which does the switch for all.
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == active_.load(std::memory_order_relaxed) - 1) {
    apply(index, number);
    return;
  }
  Parker& parker = parkers_[static_cast<std::size_t>(index)];
  Backoff backoff(options_.oversubscribed ? 0 : kSpins, kYields);
  // seq_cst: pairs with the store in `apply`, whose notify must not miss a sleeper; acquire: the new mapping.
  const auto ready = [&] {
    return applied_.load(std::memory_order_seq_cst) >= number || failed_.load(std::memory_order_seq_cst);
  };
  while (!ready()) {
    switch (backoff.next()) {
      case Backoff::Step::kSpin:
        spin_pause();
        break;
      case Backoff::Step::kYield:
        std::this_thread::yield();
        break;
      case Backoff::Step::kSleep: {
        const std::uint32_t ticket = parker.prepare();
        // The others may need what only we would feed or merge: they do it themselves, so this may sleep.
        if (ready()) {
          parker.cancel();
        } else {
          parker.commit(ticket);
        }
        break;
      }
    }
  }
}

void OperatorRuntime::apply(std::int32_t index, std::int64_t number) {
  Worker& me = workers_[static_cast<std::size_t>(index)];
  const std::lock_guard lock(epochs_mutex_);
  Epoch& epoch = epochs_[static_cast<std::size_t>(number)];
  const std::int32_t before = active_.load(std::memory_order_relaxed);
  const std::int32_t after = epoch.instances;
  std::vector<OperatorInstance*> instances;
  for (const Worker& worker : workers_) instances.push_back(worker.instance.get());
  Change change;
  change.before = before;
  change.after = after;
  change.performer = index;
  change.old_owner = owner_.load(std::memory_order_relaxed);
  change.new_owner = &epoch.owner;
  epoch.done.moved_bytes = handover_->change(change, instances);
  for (std::int32_t i = before; i < after; ++i) {
    Worker& joining = workers_[static_cast<std::size_t>(i)];
    joining.skip = handover_->by_decree() ? 0 : me.skip;
    joining.pending = -1;
    publish_counts(joining);
  }
  owner_.store(&epoch.owner, std::memory_order_relaxed);
  active_.store(after, std::memory_order_relaxed);
  for (std::int32_t i = 0; i < std::max(before, after); ++i) {
    workers_[static_cast<std::size_t>(i)].instance->adopt(epoch.owner.data());
  }
  epoch.done.before = before;
  epoch.done.event_ts = me.gamma;
  epoch.done.done_ns = since_start();
  arrived_.store(0, std::memory_order_relaxed);  // relaxed: published by the store below
  // seq_cst, each with a notify behind it: pairs with the loads in `turn` and `meet`.
  for (std::int32_t i = 0; i < std::max(before, after); ++i) {
    workers_[static_cast<std::size_t>(i)].active.store(i < after, std::memory_order_seq_cst);
  }
  applied_.store(number, std::memory_order_seq_cst);
  notify_all();
  switched_.notify_all();
}

void OperatorRuntime::end(std::int32_t index) {
  Worker& worker = workers_[static_cast<std::size_t>(index)];
  // Time has passed up to the last tuple for all, also for those that had no part in it.
  advance(worker, options_.end_watermark.value_or(last_ts_));
  worker.done.store(true, std::memory_order_relaxed);  // relaxed: own
  // All instances read the same switches before the end, so `active_` is final here.
  if (ended_.fetch_add(1, std::memory_order_acq_rel) == active_.load(std::memory_order_relaxed) - 1) {
    over_.store(true, std::memory_order_seq_cst);  // pairs with the loads in `work`
    notify_all();
    wake_waiter();
  }
}

std::int64_t OperatorRuntime::reconfigure(std::int32_t instances, std::vector<std::int32_t> owner) {
  if (instances < 1 || instances > options_.most_instances) {
    throw std::invalid_argument("instances must be between 1 and " + std::to_string(options_.most_instances));
  }
  if (owner.size() != static_cast<std::size_t>(spec_.buckets)) throw std::invalid_argument("one owner per bucket");
  for (const std::int32_t instance : owner) {
    if (instance < 0 || instance >= instances) throw std::invalid_argument("a bucket of no active instance");
  }
  std::int64_t number = 0;
  if (handover_ == nullptr) throw std::logic_error("start before reconfigure");
  if (called_ > 0 && handover_->by_decree()) static_cast<void>(await(called_));  // one at a time
  if (over() || failed_.load(std::memory_order_seq_cst)) return -1;
  {
    const std::lock_guard lock(epochs_mutex_);
    number = static_cast<std::int64_t>(epochs_.size());
    Switch called;
    called.called_ns = since_start();
    called.after = instances;
    epochs_.push_back({instances, std::move(owner), called});
  }
  if (!handover_->call(number)) return -1;
  called_ = number;
  notify_active();
  return number;
}

std::optional<Switch> OperatorRuntime::await(std::int64_t number) {
  std::unique_lock lock(epochs_mutex_);
  const auto applied = [&] { return applied_.load(std::memory_order_relaxed) >= number; };  // relaxed: the mutex orders
  switched_.wait(lock, [&] { return applied() || over() || failed_.load(std::memory_order_seq_cst); });
  if (!applied()) return std::nullopt;
  // One that was overtaken was not applied: the later one was, in its stead.
  return epochs_[static_cast<std::size_t>(applied_.load(std::memory_order_relaxed))].done;
}

std::optional<Snapshot> OperatorRuntime::snapshot() const {
  if (over() || failed_.load(std::memory_order_seq_cst)) return std::nullopt;
  Snapshot result;
  result.time_ns = since_start();
  result.instances = active_.load(std::memory_order_relaxed);  // relaxed: statistics, all of it
  result.processed.assign(static_cast<std::size_t>(spec_.inputs), 0);
  if (spec_.is_join()) result.windows.assign(static_cast<std::size_t>(spec_.inputs), 0);
  for (std::int32_t w = 0; w < options_.most_instances; ++w) {
    const Worker& worker = workers_[static_cast<std::size_t>(w)];
    result.busy_ns.push_back(worker.busy_ns.load(std::memory_order_relaxed));
    result.compared += worker.compared.load(std::memory_order_relaxed);
    if (w >= result.instances) continue;
    for (std::size_t i = 0; i < result.processed.size(); ++i) {
      const std::int64_t processed = worker.processed[i].load(std::memory_order_relaxed);
      result.processed[i] = w == 0 ? processed : std::min(result.processed[i], processed);
      if (w == 0 && spec_.is_join()) result.windows[i] = worker.windows[i].load(std::memory_order_relaxed);
    }
  }
  return result;
}

std::int64_t OperatorRuntime::rows() const noexcept {
  std::int64_t total = 0;
  for (const Worker& worker : workers_) total += worker.out->rows();
  return total;
}

void OperatorRuntime::collect(std::span<void* const> columns) const {
  std::vector<const OutputBuffer*> buffers;
  for (const Worker& worker : workers_) buffers.push_back(worker.out.get());
  merge_outputs(buffers, columns);
}

std::vector<std::int64_t> OperatorRuntime::sum(Histogram Recorder::*of) const {
  std::vector<const Histogram*> all;
  for (const Worker& worker : workers_) all.push_back(&((*worker.recorder).*of));
  return sum_counts(all);
}

std::vector<std::int64_t> OperatorRuntime::latency_counts() const { return sum(&Recorder::steady); }
std::vector<std::int64_t> OperatorRuntime::warm_up_counts() const { return sum(&Recorder::warm_up); }

std::vector<std::int64_t> OperatorRuntime::service_counts() const { return sum(&Recorder::service); }

std::vector<std::int64_t> OperatorRuntime::lag_counts() const {
  return generator_ ? generator_->lag().counts() : std::vector<std::int64_t>{};
}

std::vector<Progress> OperatorRuntime::progress() const {
  std::vector<const Recorder*> all;
  for (const Worker& worker : workers_) all.push_back(worker.recorder.get());
  if (generator_) all.push_back(&generator_->recorder);
  std::vector<Progress> steps = sum_progress(all);
  if (handover_ == nullptr || !handover_->by_decree()) return steps;
  // Queues count a tuple when they route it, which may be a moment before the generator notes that it has sent it.
  std::int64_t waiting = 0;
  std::int64_t behind = 0;
  for (Progress& step : steps) {
    waiting += step.emitted;
    behind += step.consumed;
    step.consumed = &step == &steps.back() ? behind : std::min(behind, waiting);
    waiting -= step.consumed;
    behind -= step.consumed;
  }
  return steps;
}

std::vector<std::vector<LoadStep>> OperatorRuntime::load_steps() const {
  std::vector<std::vector<LoadStep>> result;
  for (const Worker& worker : workers_) {
    result.emplace_back(worker.steps.get(), worker.steps.get() + worker.used_steps);
  }
  return result;
}

std::vector<Switch> OperatorRuntime::switches() const {
  const std::lock_guard lock(epochs_mutex_);
  std::vector<Switch> result;
  for (std::size_t i = 1; i < epochs_.size(); ++i) result.push_back(epochs_[i].done);
  return result;
}

std::int64_t OperatorRuntime::events() const noexcept {
  const std::int64_t delivered = handover_ ? handover_->delivered() : 0;
  if (delivered >= 0) return delivered;
  std::int64_t least = -1;
  for (std::int32_t i = 0; i < active_.load(std::memory_order_relaxed); ++i) {
    const std::int64_t read = workers_[static_cast<std::size_t>(i)].instance->tuples();
    if (least < 0 || read < least) least = read;
  }
  return std::max<std::int64_t>(0, least);
}

std::int64_t OperatorRuntime::compared() const noexcept {
  std::int64_t total = 0;
  for (const Worker& worker : workers_) total += worker.instance->compared();
  return total;
}

Counters OperatorRuntime::counters() const noexcept {
  Counters total;
  for (const Worker& worker : workers_) {
    total.kernel_calls += worker.instance->kernel_calls();
    total.sleeps += worker.counters.sleeps;
    total.yields += worker.counters.yields;
  }
  return total;
}

}  // namespace lab
