// Implements stages/spec.h.
#include "stages/spec.h"

#include <cinttypes>
#include <stdexcept>

#include "run/errors.h"
#include "run/output_pool.h"

namespace lab {
namespace {

// The parts of StageSpec::called, without allocation.
const char* name_prefix(const StageSpec& spec) noexcept { return spec.name.empty() ? "" : "operator "; }
const char* name_suffix(const StageSpec& spec) noexcept { return spec.name.empty() ? "" : ": "; }

}  // namespace

StageSpec checked(StageSpec spec) {
  using Kind = StageSpec::Kind;
  const std::string where = "operator " + spec.name + ": ";
  check_output(spec.itemsizes);
  if (spec.process == nullptr) throw std::invalid_argument(where + "the operator has no function");
  if (spec.max_outputs < 1) throw std::invalid_argument(where + "max_outputs must be at least 1");
  if ((spec.kind == Kind::kStateless) != (spec.state_bytes == 0) || spec.state_bytes < 0) {
    throw std::invalid_argument(where + "state_bytes must be above 0, or 0 for a stateless operator");
  }
  if (spec.kind == Kind::kPartitioned && (spec.partitions < 1 || spec.partition == nullptr)) {
    throw std::invalid_argument(where + "a partitioned operator needs a key function and at least 1 partition");
  }
  return spec;
}

std::int64_t StageSpec::run(const StageCall& call, std::int64_t begin, std::int64_t end, Emit& out) const {
  const std::int64_t next = process(&call, begin, end, &out) - 1;
  if (next < begin) {
    throw std::runtime_error(called() + "its function " + (partition != nullptr ? "or its key function " : "") +
                             "raised an exception");
  }
  if (out.refused != 0) {
    throw std::runtime_error(called() + "its function emitted " + std::to_string(out.refused) +
                             " records beyond max_outputs; raise it in the operator");
  }
  if (next < end && partition != nullptr) KeyStates::check_memory(call, *this);
  return next;
}

void KeyStates::check_memory(const StageCall& call, const StageSpec& spec) {
  const auto* const tables = static_cast<const KeyStates*>(call.state);
  for (std::int64_t p = 0; p < call.partitions; ++p) {
    const KeyStates& states = tables[p];
    if (!states.lacks_memory_) continue;
    throw NoMemory("%s%s%sout of memory: the table of keys of partition %" PRId64
                   ", with %zu keys, cannot grow to %zu bytes; use fewer keys, a smaller state, or more memory",
                   name_prefix(spec), spec.name.c_str(), name_suffix(spec), p, states.table_.count(),
                   states.table_.growth_bytes(states.stride_));
  }
}

void StageSpec::divide(const void* const* columns, std::int64_t base, std::int64_t records, std::int32_t* to) const {
  if (partition(columns, base, records, partitions, to) - 1 != records) fail_by_key();
}

void StageSpec::fail_for_memory() const {
  throw NoMemory("%s%s%sout of memory", name_prefix(*this), name.c_str(), name_suffix(*this));
}

void StageSpec::fail_by_key() const { throw std::runtime_error(called() + "its key function raised an exception"); }

void StageSpec::fail_without_progress() const { throw std::runtime_error(called() + "its function makes no progress"); }

}  // namespace lab
