// FlowSpec, FlowTable: a vertex of a typed dataflow graph, and the keyed state of one instance.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataflow/kernel.h"
#include "run/cacheline.h"
#include "run/key_table.h"
#include "run/names.h"

namespace lab {

struct FlowSpec {
  enum class Kind {
    kSource,  // emits the rows of streams unchanged
    kStateless,
    kKeyed,    // has one state per key
    kPartial,  // has one sum per key and block, emitted at the block's marker and then dropped
    kSort,     // sorts the rows of a block by the columns in `order`
  };
  static constexpr Names<5> kKinds = {"source", "stateless", "keyed", "partial", "sort"};  // in this order

  // How rows arrive from the input vertices.
  enum class Route {
    kForward,  // by a call from the same worker's instance of the only input
    kHash,     // over links from all instances of all inputs, to the owner of the key (HASH)
    kDeal,     // over links from all instances of all inputs, to each instance in turn (RR)
  };
  static constexpr Names<3> kRoutes = {"forward", "hash", "deal"};

  // How kSort compares fields.
  enum class Field { kSigned, kUnsigned, kFloat };
  static constexpr Names<3> kFields = {"signed", "unsigned", "float"};

  std::string name;  // the vertex's name in errors
  Kind kind = Kind::kStateless;
  Route route = Route::kForward;
  std::vector<std::int32_t> inputs;      // vertices added before; empty for a source
  std::int32_t degree = 1;               // number of instances, on the first workers
  FlowKernel items = nullptr;            // null for kSource and kSort
  FlowKernel markers = nullptr;          // null without an action at markers
  StartKernel start = nullptr;           // null if the initial state of a new key is all zeros
  std::int64_t start_bytes = 0;          // size of the initial state of a new key
  std::int64_t entry_bytes = 0;          // size of the stored state of a key
  std::int64_t max_outputs = 1;          // maximum number of outputs of one call of a function
  bool keeps_key = false;                // whether outputs must have the key of the item or entry
  bool is_answer = false;                // whether outputs belong to the answer; all such vertices have equal columns
  bool keyed = false;                    // whether outputs have keys, in their second column
  std::vector<std::int32_t> itemsizes;   // item sizes of the outputs; the first column is the int64 timestamp
  std::vector<Field> fields;             // kSort only: kinds of these columns
  std::vector<std::int32_t> order;       // kSort only: all columns, in the order of comparison
  std::vector<std::uint8_t> descending;  // kSort only: by column, whether the greatest value comes first

  // State of an instance after the last marker of a run, from which another run can resume.
  struct KeyedState {
    std::vector<std::byte> start;    // the initial state of a new key
    std::vector<std::byte> entries;  // the entries of the instance's table
  };
  std::optional<KeyedState> initial_state;  // state of the only instance after the preceding run, if any

  std::string called() const { return name.empty() ? "" : "operator " + name + ": "; }
};

// The keys of an instance: a table, and the size of the table's entries. Kernels read the table's first fields
// (oplus/window_tables.py).
class FlowTable {
 public:
  // Head of an entry, before its state: a stamp and the key.
  static constexpr std::size_t kHeadBytes = 16;

  explicit FlowTable(std::int64_t entry_bytes)
      : stride_(kHeadBytes + (static_cast<std::size_t>(entry_bytes) + 7) / 8 * 8) {}
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  static std::byte* make(void* table, std::int64_t key);  // a MakeEntry, which notes a failed allocation

  // Returns the key of entry `entry`; entries are numbered in the order of their creation.
  std::int64_t key(std::int64_t entry) const noexcept {
    return WindowTable::key_of(table_.bytes(stride_).data() + static_cast<std::size_t>(entry) * stride_);
  }
  std::int64_t keys() const noexcept { return static_cast<std::int64_t>(table_.count()); }
  void clear() noexcept { table_.clear(); }
  std::span<const std::byte> entries() const noexcept { return table_.bytes(stride_); }
  // Throws std::bad_alloc, and std::invalid_argument if the size is not a multiple of the entry size.
  void assign(std::span<const std::byte> entries) {
    if (entries.size() % stride_ != 0)
      throw std::invalid_argument("stored entries of " + std::to_string(entries.size()) +
                                  " bytes are not a multiple of the entry size, " + std::to_string(stride_));
    table_.assign(entries, stride_);
  }
  bool starved() const noexcept { return starved_; }
  std::size_t bytes() const noexcept { return table_.allocated(stride_); }
  std::size_t growth_bytes() const noexcept { return table_.growth_bytes(stride_); }

 private:
  WindowTable table_;  // must be the first member
  std::size_t stride_;
  bool starved_ = false;  // whether an allocation failed
};

// Calls f.template operator()<T>() with the type of a column.
template <typename F>
auto with_type(FlowSpec::Field field, std::int32_t size, F f) {
  using Field = FlowSpec::Field;
  if (field == Field::kFloat) return size == 4 ? f.template operator()<float>() : f.template operator()<double>();
  if (field == Field::kUnsigned) {
    if (size == 1) return f.template operator()<std::uint8_t>();
    if (size == 2) return f.template operator()<std::uint16_t>();
    return size == 4 ? f.template operator()<std::uint32_t>() : f.template operator()<std::uint64_t>();
  }
  if (size == 1) return f.template operator()<std::int8_t>();
  if (size == 2) return f.template operator()<std::int16_t>();
  return size == 4 ? f.template operator()<std::int32_t>() : f.template operator()<std::int64_t>();
}

}  // namespace lab
