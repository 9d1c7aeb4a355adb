// LayerOperator: one instance of an operator O+ in a query graph of LayersRun: keyed windows, or a join of all pairs.
//
// Rows arrive by number, since tuples may have lists, and kernels read them in place. Each of several instances of a
// keyed operator gets the rows that have one of its keys. Each instance of a join gets all rows, and compares the pairs
// whose earlier tuple it stores. Its windows are private, as in shared-nothing instances.
//
// Stamps. An output's due time is that of the tuple, or promise, that caused it (Causes). Its delivery time is that of
// the last tuple read before the output was made. If time alone ended its window, the delivery time is the time at
// which it is made.
//
// Time. When the input has no more times before t, later outputs of an instance come from windows that reach beyond t.
// The instance promises the end of the earliest of these windows. A promise of t alone could deadlock. An output that
// `update` emits at t has the end of its window as its time. In a link of such outputs, a sink may wait for another
// instance to promise that time. That instance may wait for an injector, the injector for room at the first instance,
// and that one for room in the link. With the end of the window, the argument of layers/out.h holds. A row that an
// instance has taken at t was ready, so every injector promises t or more on all its links before it sleeps. Hence
// every instance that waits for rows promises the end of t's window or more, and no sink with earlier rows waits for
// it.
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
  std::vector<std::int32_t> owner;      // the instance of each bucket of keys
  std::vector<std::int32_t> itemsizes;  // item sizes of its outputs
  std::optional<std::int64_t> end;      // time at the end, if beyond the last tuple
};

class LayerOperator final : public LayerRelay {
 public:
  // `of` and `streams` must outlive it. `end`: time at the end; none: there are no tuples. `stop`: see run/errors.h;
  // `spill_rows`: limit of rows that wait to be sent.
  LayerOperator(WorkMeter& meter, std::size_t stamps, std::int64_t unit, bool every_time, std::int32_t index,
                const LayersOperator& of, std::span<const OperatorStream> streams, std::optional<std::int64_t> end,
                const std::atomic<bool>& stop, std::int64_t spill_rows);

  std::int64_t compared() const noexcept { return instance_->compared(); }  // pairs
  std::int64_t refused() const noexcept { return made_.refused(); }         // records beyond `max_outputs`

 private:
  void process(const LayerPiece& piece) override;
  bool pass_time(std::int64_t frontier) override;
  // Does not advance while rows wait to be processed.
  std::int64_t promised(std::int64_t frontier) const noexcept override;

  template <typename Work>
  void guarded(Work work);
  bool process_runs();
  bool send_made();

  const LayersOperator& of_;
  const std::span<const OperatorStream> streams_;
  const std::optional<std::int64_t> end_;
  std::unique_ptr<WindowState> state_;  // null for joins
  const Spill spill_;
  OutputBuffer made_;
  Causes causes_;  // of the rows in `made_`, with a load
  std::unique_ptr<OperatorInstance> instance_;
  // Rows read but not yet processed. A log's pieces end where another source's rows begin, and one call for a unit is
  // cheaper.
  std::vector<LogRun> runs_;
  std::int64_t rows_ = 0;             // rows in `runs_`
  std::int64_t taken_ns_ = 0;         // when an injector delivered the last row read
  std::vector<const void*> columns_;  // columns of the rows being sent
  std::vector<std::int64_t> due_, taken_;
};

}  // namespace lab
