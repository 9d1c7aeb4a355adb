// StageSpec, KeyStates: the specification of an operator of a pipeline, and the states of its keys.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "run/cacheline.h"
#include "run/key_table.h"
#include "run/names.h"
#include "stages/kernel.h"

namespace lab {

struct StageSpec {
  enum class Kind { kStateless, kPartitioned, kStateful };
  static constexpr Names<3> kKinds = {"stateless", "partitioned", "stateful"};  // in this order

  std::string name;  // the operator's name in errors
  Kind kind = Kind::kStateless;
  StageKernel process = nullptr;
  PartitionKernel partition = nullptr;  // null unless the operator is partitioned
  std::int32_t partitions = 1;
  std::int64_t state_bytes = 0;         // size of the state, or of the state per key
  std::int64_t max_outputs = 1;         // maximum number of outputs per record
  std::vector<std::int32_t> itemsizes;  // item sizes of output fields; the first field is the int64 timestamp

  // Returns the prefix of the operator's error messages.
  std::string called() const { return name.empty() ? "" : "operator " + name + ": "; }

  // Returns the number of 8-byte words of a state.
  std::size_t words() const noexcept { return (static_cast<std::size_t>(state_bytes) + 7) / 8; }

  // Processes entries [begin, end) of a call; see StageKernel. Throws std::runtime_error if the user's function fails
  // or emits too many records.
  std::int64_t run(const StageCall& call, std::int64_t begin, std::int64_t end, Emit& out) const;

  // Writes the partitions of the `records` records from `base` on. Throws std::runtime_error if the key function fails.
  void divide(const void* const* columns, std::int64_t base, std::int64_t records, std::int32_t* to) const;

  [[noreturn]] void fail_for_memory() const;  // throws NoMemory
  [[noreturn]] void fail_by_key() const;
  [[noreturn]] void fail_without_progress() const;
};

// Returns the specification unchanged. Throws std::invalid_argument if a value is out of range.
StageSpec checked(StageSpec spec);

// The states of a partition's keys. Aligned to cache lines, since neighbouring partitions belong to different workers.
class alignas(kCacheLine) KeyStates {
 public:
  // An entry of the table is a stamp, the key, and the state (run/key_table.h).
  static constexpr std::size_t kHeadBytes = 16;

  KeyStates() = default;
  explicit KeyStates(const StageSpec& spec) : stride_(kHeadBytes + spec.words() * 8) {}

  // Throws NoMemory if memory ran out for one of the tables of a call. `spec`: the operator's specification.
  static void check_memory(const StageCall& call, const StageSpec& spec);

  // Makes a call find its states in `partitions` adjacent tables, one per partition, beginning with this table.
  void serve(StageCall& call, std::int64_t partitions = 1) noexcept {
    call.state = this;
    call.find = &KeyStates::find;
    call.partitions = partitions;
  }

  std::span<const std::byte> entries() const noexcept { return table_.bytes(stride_); }
  // Throws std::bad_alloc, and std::invalid_argument if the size is not a multiple of the entry size.
  void assign(std::span<const std::byte> entries) {
    if (entries.size() % stride_ != 0)
      throw std::invalid_argument("stored entries of " + std::to_string(entries.size()) +
                                  " bytes are not a multiple of the entry size, " + std::to_string(stride_));
    table_.assign(entries, stride_);
  }

 private:
  static void* find(void* states, std::int64_t key) {
    auto* self = static_cast<KeyStates*>(states);
    try {
      return self->table_.find(key, self->stride_).entry + kHeadBytes;
    } catch (const std::bad_alloc&) {
      self->lacks_memory_ = true;
      return nullptr;  // the kernel stops there; `StageSpec::run` throws afterwards
    }
  }

  WindowTable table_;  // first member: kernels read its head and look up keys themselves
  std::size_t stride_ = 0;
  bool lacks_memory_ = false;  // whether memory ran out in `find`; an exception cannot pass through compiled code
};
// Law: stages/kernels.py relies on this size and layout.
static_assert(sizeof(KeyStates) == 128 && std::is_standard_layout_v<KeyStates>);

}  // namespace lab
