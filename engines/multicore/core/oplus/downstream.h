// Runs the downstream readers (STRETCH, section 5, figure 3): d threads that read the output log of the last operator,
// TB_out. Each reader takes all output tuples during the run, in the same order. The latency of an output ends when
// reader 0 takes it. The paper leaves a downstream operator's work open. Here reader 0 stores the tuples as the answer.
// Each reader also counts and hashes the tuples, so that a run can check that all readers have received the same
// tuples.
#pragma once
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "oplus/options.h"
#include "oplus/output_log.h"
#include "oplus/stage.h"
#include "run/instance_threads.h"
#include "run/sink.h"

namespace lab {

class Downstream {
 public:
  // `log`: the log into which `last` publishes, already started. It has one copy per reader, or one copy for all
  // readers.
  Downstream(const OplusOptions& options, InstanceThreads& threads, OutputLog& log, const OperatorStage& last);

  // Touches memory for `rows` rows. Call before the run.
  void reserve(std::int64_t rows) { pool_->reserve(rows, 1); }

  // Does one piece of a reader's work, like OperatorStage::take_turn. Only the reader's thread calls it.
  bool take_turn(std::int32_t reader);

  const OutputBuffer& answer() const noexcept { return *out_; }

  // Throws std::runtime_error unless all readers have received the same tuples, in order. Call after the run.
  void check() const;

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  // Written by the reader's thread; read after the run.
  struct alignas(kCacheLine) Reader {
    std::int64_t rows = 0;
    std::int64_t last_ts = kNever;
    std::int64_t disordered = 0;  // rows timed before their predecessor
    std::uint64_t sum = 0;        // of the rows' hashes; with several readers
    bool done = false;
  };

  void take(std::int32_t reader, std::span<const LogRun> runs);
  void take_rows(std::int32_t reader, const OutputLog::Ring& ring, std::int64_t item, std::int64_t rows);
  void keep(const OutputLog::Ring& ring, std::int64_t item, std::int64_t rows);
  static void account(Recorder& recorder, const OutputLog::Ring& ring, const LogRun& run);
  std::uint64_t sum_of(const OutputLog::Ring& ring, std::int64_t item, std::int64_t rows) const noexcept;
  std::int32_t copy_of(std::int32_t reader) const noexcept { return log_.copies() == 1 ? 0 : reader; }
  int place_of(std::int32_t reader) const noexcept { return log_.copies() == 1 ? reader : 0; }  // index in its log

  const OplusOptions& options_;
  InstanceThreads& threads_;
  OutputLog& log_;
  const OperatorStage& last_;
  const RowMover mover_;
  std::shared_ptr<OutputPool> pool_;
  std::unique_ptr<OutputBuffer> out_;  // of reader 0
  std::vector<Reader> readers_;
  alignas(kCacheLine) std::atomic<std::int32_t> ended_{0};  // readers that have finished
};

}  // namespace lab
