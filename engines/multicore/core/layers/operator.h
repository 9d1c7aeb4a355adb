// LayerOperator: one instance of an operator O+ in a query graph of LayersRun: keyed windows, or a join of all pairs.
//
// Law: when the input has no more times before t, an instance promises the end of the earliest window that reaches
// beyond t. It never promises t itself, because such promises could deadlock. An operator whose outputs have their
// tuples' times (OperatorSpec::keeps_time) promises t: the argument of layers/out.h then holds as it stands.
//
// Why. An output that `update` emits at t has the end of its window as its time. With promises of t, a cycle of waits
// is possible:
//   1. A sink holds such an output, and waits until another instance promises the output's time.
//   2. That instance waits for rows of an injector.
//   3. The injector waits for room at the first instance.
//   4. The first instance waits for room in its link to the sink.
// A promise of the window's end breaks step 1. A row that an instance has taken at t was ready, so every injector
// promises t or more on all its links before it sleeps. Hence every instance that waits for rows promises the end of
// t's window or more, and no sink with earlier rows waits for that instance. The argument of layers/out.h then holds.
//
// Rows arrive by number and kernels read them in place, since tuples may have lists. If a keyed operator has several
// instances, each gets only the rows that have one of its keys. Each instance of a join gets all rows, and compares the
// pairs whose earlier tuple it stores. An instance's windows are private, as in shared-nothing systems.
//
// Stamps. An output's due time is that of the tuple or promise that caused the output (Causes). Its delivery time is
// that of the last tuple that was read before the output was made. If time alone ended the window, the delivery time is
// the time at which the output was made.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layers/node.h"
#include "oplus/causes.h"
#include "oplus/instance.h"

namespace lab {

// The operator O+ of a query graph.
struct LayersOperator {
  OperatorSpec spec;
  std::vector<std::int32_t> owner;      // by bucket of keys: the instance that owns it
  std::vector<std::int32_t> itemsizes;  // item sizes of its outputs
  // Event time at the end of the input; nullopt for the time of the last tuple.
  std::optional<std::int64_t> final_watermark;
};

class LayerOperator final : public LayerRelay {
 public:
  // `op` and `streams` must outlive the instance. `last_time`: event time at the end of the input; nullopt if the input
  // is empty. `stop`: see run/errors.h. `spill_rows`: limit of rows that wait to be sent.
  LayerOperator(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time, std::int32_t index,
                const LayersOperator& op, std::span<const OperatorStream> streams,
                std::optional<std::int64_t> last_time, const std::atomic<bool>& stop, std::int64_t spill_rows);

  std::int64_t compared() const noexcept { return instance_->compared(); }  // number of compared pairs
  std::int64_t refused() const noexcept { return outputs_.refused(); }      // number of records beyond `max_outputs`

 private:
  void process(const LayerPiece& piece) override;
  bool pass_time(std::int64_t frontier) override;
  // Promises nothing while rows wait to be processed.
  std::int64_t promised(std::int64_t frontier) const noexcept override;

  template <typename Work>
  void call_guarded(Work work);
  bool process_runs();
  bool send_outputs();

  const LayersOperator& op_;
  const std::span<const OperatorStream> streams_;
  const std::optional<std::int64_t> last_time_;
  std::unique_ptr<WindowState> state_;  // null for joins
  const Spill spill_;
  OutputBuffer outputs_;
  Causes causes_;  // with a load: the causes of the rows in `outputs_`
  std::unique_ptr<OperatorInstance> instance_;
  // Rows that are read but not yet processed. A log's pieces end where another source's rows begin, so it is cheaper to
  // collect `unit_` rows for one call.
  std::vector<LogRun> runs_;
  std::int64_t rows_ = 0;             // number of rows in `runs_`
  std::int64_t taken_ns_ = 0;         // time at which an injector delivered the row that was read last
  std::vector<const void*> columns_;  // columns of the rows being sent
  std::vector<std::int64_t> due_, taken_;
};

}  // namespace lab
