// The declarations of all benchmarks. Each benchmark's file is named after the structure that it measures.
#pragma once
#include "bench.h"

namespace lab::bench {

extern const Bench block_ring_hand_over;  // run/bench/block_ring_bench.cc
extern const Bench source_pump;           // run/bench/source_bench.cc
extern const Bench source_schedule;
extern const Bench histogram_record;    // run/bench/histogram_bench.cc
extern const Bench recorder_output;     // run/bench/recorder_bench.cc
extern const Bench forest_synchronize;  // dgs/bench/forest_bench.cc
extern const Bench mailbox_long_runs;   // dgs/bench/mailbox_bench.cc
extern const Bench mailbox_batch_1;
extern const Bench mailbox_direct;
extern const Bench mailbox_synchronize;
extern const Bench output_append;  // run/bench/sink_bench.cc
extern const Bench output_merge;
extern const Bench parker_notify;                        // run/bench/parker_bench.cc
std::span<const Bench> tuple_buffer_benches() noexcept;  // log/bench/tuple_buffer_bench.cc: three forms, sizes, batches

}  // namespace lab::bench
