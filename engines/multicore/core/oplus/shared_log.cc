#include "oplus/handover.h"

namespace lab {
namespace {

class Marker final : public RowMarker {
 public:
  Marker(RowMarks& marks, const std::int32_t* owner) : marks_(marks), owner_(owner) {}
  void mark(std::size_t source, std::int64_t begin, std::int64_t end) noexcept override {
    marks_.mark(source, begin, end, owner_);
  }

 private:
  RowMarks& marks_;
  const std::int32_t* const owner_;
};

}  // namespace

void SharedLog::start(std::int32_t, std::int32_t active) {
  if (marks_ != nullptr) marks_->switch_over(feeds_, active);
  feeder_.start();
  for (std::int32_t i = 0; i < active; ++i) log_->add_reader();
}

bool SharedLog::feed(Recorder& recorder, const std::int32_t* owner, std::int32_t) {
  if (marks_ == nullptr) return feeder_.feed(recorder);
  Marker marker(*marks_, owner);
  return feeder_.feed(recorder, &marker);
}

bool call_in(TupleBuffer& log, std::int64_t number) {
  if (!log.control(number)) return false;
  log.advance();
  return true;
}

void change_readers(TupleBuffer& log, const Change& change, std::span<OperatorInstance* const> instances) {
  const auto performer = static_cast<std::size_t>(change.performer);
  for (std::int32_t i = change.after; i < change.before; ++i) log.remove_reader(i);
  for (std::int32_t i = change.before; i < change.after; ++i) {
    instances[static_cast<std::size_t>(i)]->stand_like(*instances[performer]);
    log.add_reader_at(i, change.performer);
  }
}

std::int64_t SharedLog::change(const Change& change, std::span<OperatorInstance* const> instances) {
  if (marks_ != nullptr) marks_->switch_over(feeds_, change.after);
  change_readers(*log_, change, instances);
  return 0;
}

}  // namespace lab
