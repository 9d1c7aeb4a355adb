// Implements the log between two operators of a query: TB_out of the first and TB_in of the next. All instances of the
// next operator read it.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "oplus/handover.h"
#include "oplus/output_log.h"

namespace lab {

class ChainLog final : public Handover {
 public:
  // `process` and `state` belong to the next operator.
  ChainLog(std::unique_ptr<OutputLog> published, ProcessKernel process, std::unique_ptr<WindowState> state)
      : published_(std::move(published)), process_(process), state_(std::move(state)) {}

  OutputLog& published() noexcept { return *published_; }

  void start(std::int32_t most, const InstanceMapping& first) override {
    published_->start(most, first.instances);  // all operators start with the same instances
    for (std::int32_t i = 0; i < most; ++i) {
      const OutputLog::Ring& ring = published_->ring(0, i);
      streams_.push_back({&ring.view, 0, process_, nullptr, ring.memory.mask()});
    }
    for (std::int32_t i = 0; i < first.count(); ++i) published_->log().add_reader();
  }
  TupleBuffer& log(std::int32_t) override { return published_->log(); }
  int reader(std::int32_t instance) override { return instance; }
  std::span<const OperatorStream> streams(std::int32_t) override { return streams_; }
  WindowState* state(std::int32_t) override { return state_.get(); }
  bool feed(Recorder&, const InstanceMapping&) override { return published_->advance(); }
  bool call(std::int64_t number) override { return call_in(published_->log(), number); }
  bool has_switch_time() const noexcept override { return false; }
  bool switch_time(std::int64_t*) const noexcept override { return false; }
  std::int64_t delivered() const noexcept override { return -1; }
  std::int64_t change(const Change& change, std::span<OperatorInstance* const> instances) override {
    change_readers(published_->log(), change, instances);
    return 0;
  }

 private:
  const std::unique_ptr<OutputLog> published_;
  const ProcessKernel process_;
  std::unique_ptr<WindowState> state_;
  std::vector<OperatorStream> streams_;
};

}  // namespace lab
