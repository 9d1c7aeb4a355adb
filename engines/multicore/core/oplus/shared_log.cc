// Implements Change, SharedLog, and the switches of every log that several instances read; see oplus/handover.h.
#include <algorithm>
#include <iterator>

#include "oplus/handover.h"

namespace lab {
namespace {

// Marks the rows that a feeder moves, for the mapping `owner`.
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

Change::Change(const InstanceMapping& old, const InstanceMapping& next, std::int32_t by)
    : before(old), after(next), performer(by) {
  const std::vector<std::int32_t>&from = old.instances, &to = next.instances;
  std::ranges::set_difference(to, from, std::back_inserter(joining));
  std::ranges::set_difference(from, to, std::back_inserter(leaving));
  std::ranges::set_union(from, to, std::back_inserter(all));
}

void SharedLog::start(std::int32_t, const InstanceMapping& initial) {
  if (marks_ != nullptr) marks_->switch_over(feeds_, initial);
  feeder_.start();
  for (std::int32_t i = 0; i < initial.count(); ++i) log_->add_reader();
}

bool SharedLog::feed(Recorder& recorder, const InstanceMapping& now) {
  if (marks_ == nullptr) return feeder_.feed(recorder);
  Marker marker(*marks_, now.owner.data());
  return feeder_.feed(recorder, &marker);
}

bool append_switch_to(TupleBuffer& log, std::int64_t number) {
  if (!log.control(number)) return false;
  log.advance();
  return true;
}

void change_readers(TupleBuffer& log, const Change& change, std::span<OperatorInstance* const> instances) {
  const auto performer = static_cast<std::size_t>(change.performer);
  for (const std::int32_t i : change.joining) {
    instances[static_cast<std::size_t>(i)]->copy_position(*instances[performer]);
    log.add_reader_at(i, change.performer);
  }
  for (const std::int32_t i : change.leaving) log.remove_reader(i);  // last: the performer may be one of them
}

std::int64_t SharedLog::change(const Change& change, std::span<OperatorInstance* const> instances) {
  if (marks_ != nullptr) marks_->switch_over(feeds_, change.after);
  change_readers(*log_, change, instances);
  return 0;
}

}  // namespace lab
