// What the runtimes share: checks of what they are given, pinning, and sums over their threads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "run/generator.h"
#include "run/histogram.h"
#include "run/instance_threads.h"
#include "run/recorder.h"
#include "run/source.h"

namespace lab {

// One step of the grid, over all threads.
struct Progress {
  std::int64_t emitted = 0;
  std::int64_t consumed = 0;
  std::int64_t outputs = 0;
  std::int64_t p50_ns = -1;  // -1: no outputs; else the end of a bucket of `CoarseLatency`
  std::int64_t p99_ns = -1;
  std::int64_t max_ns = -1;
};

// All throw std::invalid_argument.
void check_ring_blocks(std::uint64_t blocks);
void check_output(std::span<const std::int32_t> itemsizes);  // the first field is an int64 timestamp
void check_load(const LoadOptions& load);
// Timestamps and heartbeats ascend and stay below the end of time; due times go with a load, one for each of them.
void check_stream(const StreamView& stream, std::size_t index, bool has_load);

// Pins the calling thread to cores[index mod size]; advice: failure only costs speed. Empty: nothing.
void pin_thread(std::span<const std::int32_t> cores, std::int32_t index) noexcept;

// Counts by bucket; they end with the last bucket that is used.
std::vector<std::int64_t> sum_counts(std::span<const Histogram* const> histograms);
std::vector<Progress> sum_progress(std::span<const Recorder* const> recorders);
std::vector<std::int64_t> sum_lag(const Generator* generator);  // null: without a load

// Of the threads of operators, and of their generator, null without a load.
std::vector<std::int64_t> sum_counts(const InstanceThreads& threads, Histogram Recorder::*of);
std::vector<Progress> sum_progress(const InstanceThreads& threads, const Generator* generator);

}  // namespace lab
