// Implements Run; see run/run.h.
#include "run/run.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace lab {
namespace {

bool is_schedule(std::span<const std::int64_t> due) {
  return std::is_sorted(due.begin(), due.end()) && (due.empty() || (due.front() >= 0 && due.back() <= kLatestDueNs));
}

void check_stream(const StreamView& stream, std::size_t index, bool has_load) {
  const std::string name = "stream " + std::to_string(index);
  if (!std::is_sorted(stream.ts.begin(), stream.ts.end())) {
    throw std::invalid_argument("timestamps of " + name + " decrease");
  }
  if (!std::is_sorted(stream.heartbeats.begin(), stream.heartbeats.end())) {
    throw std::invalid_argument("heartbeats of " + name + " decrease");
  }
  const bool reaches_end = (!stream.ts.empty() && stream.ts.back() == kEndOfTime) ||
                           (!stream.heartbeats.empty() && stream.heartbeats.back() == kEndOfTime);
  if (reaches_end)
    throw std::invalid_argument(
        name + " has the largest int64 as a timestamp or heartbeat; it is reserved for the end of time");
  if (stream.due.size() != (has_load ? stream.ts.size() : 0) ||
      stream.heartbeat_due.size() != (has_load ? stream.heartbeats.size() : 0)) {
    throw std::invalid_argument(name + (has_load ? " needs a due time for each event and heartbeat"
                                                 : " has due times, but the run has no load"));
  }
  if (!is_schedule(stream.due) || !is_schedule(stream.heartbeat_due)) {
    throw std::invalid_argument("due times of " + name + " must not decrease, and be between 0 and 146 years in ns");
  }
}

}  // namespace

void check(const RunSettings& settings) {
  const auto refuse = [](const char* name, std::uint64_t limit) {
    throw std::invalid_argument(name + (" must be between 1 and " + std::to_string(limit)));
  };
  if (settings.workers < 1 || settings.workers > RunSettings::kMaxWorkers) {
    refuse("workers", RunSettings::kMaxWorkers);
  }
  if (settings.ring_blocks < 1 || settings.ring_blocks > RunSettings::kMaxRingBlocks) {
    refuse("ring_blocks", RunSettings::kMaxRingBlocks);
  }
  if (settings.batch < 1) throw std::invalid_argument("batch must be at least 1");
  if (settings.core_count < 0) throw std::invalid_argument("core_count must not be negative");
  if (settings.grid_steps < 1) throw std::invalid_argument("grid_steps must be at least 1");
  if (!settings.load) return;
  for (const std::int64_t time_ns : {settings.load->warm_up_ns, settings.load->end_ns}) {
    if (time_ns < 0 || time_ns > kLatestDueNs)
      throw std::invalid_argument("warm_up_ns and end_ns must be between 0 and 146 years");
  }
  if (settings.load->tick_ns < 0) throw std::invalid_argument("tick_ns must not be negative");
}

StreamView& Run::add_view(StreamView stream) {
  if (started()) throw std::logic_error("add streams before start");
  check_stream(stream, views_.size(), settings().load.has_value());
  stream.index = static_cast<std::int32_t>(views_.size());
  if (settings().load && settings().load->tick_ns != 0) {
    const std::int64_t tick_ns = settings().load->tick_ns;
    std::vector<std::int64_t>& times = arrivals_.emplace_back(stream.ts.size(), kEndOfTime);
    stream.ts = times;
    stream.columns.at(0) = stream.arrivals = times.data();
    stream.tick_ns = tick_ns;
    std::vector<std::int64_t>& beats = arrivals_.emplace_back(stream.heartbeat_due.size());
    std::ranges::transform(stream.heartbeat_due, beats.begin(), [tick_ns](auto due) { return due / tick_ns - 1; });
    stream.heartbeats = beats;
  }
  if (settings().load && settings().load->received) stream.received = &received_.emplace_back();
  return views_.emplace_back(std::move(stream));
}

Source& Run::add_source(const StreamView& view, bool stamped) {
  const RunSettings& run_settings = settings();
  const bool whole_blocks = run_settings.load && run_settings.load->whole_blocks;
  sources_.push_back(
      std::make_unique<Source>(view, run_settings.batch, run_settings.ring_blocks, whole_blocks, stamped));
  return *sources_.back();
}

Feed& Run::add_feed(const StreamView& view) {
  Feed& feed = feeds_.emplace_back();
  feed.source = &add_source(view, false);
  feed.reader = feed.source->ring.add_reader();
  feed.pumped = !settings().load;
  return feed;
}

void Run::make_threads(std::int32_t count, const char* thread_name) {
  const RunSettings& run_settings = settings();
  const std::int32_t cores = run_settings.core_count == 0 ? count : run_settings.core_count;
  threads_.emplace(count, Backoff::of_threads(count > cores, run_settings.load.has_value()), run_settings.measure,
                   run_settings.grid_steps);
  thread_name_ = thread_name;
  if (!run_settings.load) return;
  // If rows arrive from outside, the free core is for the thread that receives them.
  const bool received = run_settings.load->received;
  const bool spin = count < cores && !received;
  generator_ = std::make_unique<Generator>(*run_settings.load, spin, run_settings.measure, run_settings.grid_steps,
                                           received ? &receipts_ : nullptr);
}

std::vector<std::int32_t> Run::readers_of(std::size_t) const {
  std::vector<std::int32_t> threads(meters().size());
  std::iota(threads.begin(), threads.end(), 0);
  return threads;
}

void Run::start() {
  run_threads_.claim();
  prepare();
  RunThreads::Plan plan;
  plan.count = thread_count();
  const std::vector<std::int32_t>& cores = settings().cores;
  const auto size = static_cast<std::int32_t>(cores.size());
  for (std::int32_t i = 0; size != 0 && i < plan.count; ++i) {
    plan.cores.push_back(cores[static_cast<std::size_t>((turn_of(i) % size + size) % size)]);
  }
  plan.pinned = settings().pinned;
  plan.thread_name = thread_name_;
  plan.body = [this](std::int32_t index) { work(index); };
  plan.fail = [this] {
    threads_->fail();
    wake_others();
  };
  if (generator_) {
    for (std::size_t i = 0; i < sources_.size(); ++i) generator_->add(sources_[i].get(), readers_of(i));
    plan.helper = [this] { generator_->run(threads_->start_ns(), threads_->parkers(), threads_->failure()); };
  }
  run_threads_.start(std::move(plan));
}

std::int64_t Run::run(const std::function<void()>& poll) {
  if (!started()) start();
  const std::optional<LoadOptions>& load = settings().load;
  const std::int64_t duration_ns =
      run_threads_.run([&](std::int64_t begin_ns) { threads_->begin(begin_ns, load ? load->warm_up_ns : 0); }, poll);
  check_end();
  return duration_ns;
}

void Run::receive(std::size_t stream, std::int64_t rows, std::int64_t heartbeats) noexcept {
  Received& received = received_[stream];
  // release: the columns, and the rows before the heartbeats; pairs with `Source::notice_received`.
  received.rows.store(rows, std::memory_order_release);
  received.heartbeats.store(heartbeats, std::memory_order_release);
  receipts_.notify();
}

std::int64_t Run::rows() const {
  std::int64_t total = 0;
  for (const OutputBuffer* buffer : outputs()) total += buffer->rows();
  return total;
}

std::int64_t Run::outputs_grown() const {
  const std::vector<const OutputBuffer*> buffers = outputs();
  return buffers.empty() ? 0 : buffers.front()->pool().grown();
}

void Run::collect(std::span<void* const> columns) const { merge_outputs(outputs(), columns); }

std::vector<std::int64_t> Run::sum(Histogram Recorder::* histogram) const {
  std::vector<const Histogram*> histograms;
  for (const auto& meter : meters()) histograms.push_back(&(meter->recorder.*histogram));
  return sum_counts(histograms);
}

std::vector<std::int64_t> Run::lag_counts() const {
  if (!generator_) return {};
  const Histogram* const lag = &generator_->lag();
  return sum_counts({&lag, 1});
}

std::vector<Progress> Run::progress() const {
  std::vector<const Recorder*> recorders;
  for (const auto& meter : meters()) recorders.push_back(&meter->recorder);
  if (generator_) recorders.push_back(&generator_->recorder);
  return sum_progress(recorders);
}

Counters Run::sum_counters() const noexcept {
  Counters total;
  for (const auto& meter : meters()) {
    for (const auto field : {&Counters::synchronizations, &Counters::parked, &Counters::kernel_calls, &Counters::sleeps,
                             &Counters::yields, &Counters::room_waits}) {
      total.*field += meter->counters.*field;
    }
  }
  return total;
}

Run::Counts Run::counters() const {
  Counts result;
  count(result);
  const Counters total = sum_counters();
  result.insert(result.end(), {{"sleeps", total.sleeps},
                               {"yields", total.yields},
                               {"outputs_grown", outputs_grown()},
                               {"real_time_generator", real_time_generator() ? 1 : 0}});
  return result;
}

}  // namespace lab
