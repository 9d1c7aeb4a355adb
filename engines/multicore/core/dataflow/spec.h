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
    kSource,  // rows of streams, unchanged
    kStateless,
    kKeyed,    // a state for each key
    kPartial,  // the sum of a block for each key, emitted at its marker and then dropped
    kSort,     // rows of a block by key, then by their fields, in `order`
  };
  static constexpr Names<5> kKinds = {"source", "stateless", "keyed", "partial", "sort"};  // in this order

  // How rows arrive from its input vertices.
  enum class Route {
    kForward,  // from the same worker's instance of one vertex, by a call
    kHash,     // over links from all instances of all of them, to the owner of the key (HASH)
    kDeal,     // over links, to each instance in turn (RR)
  };
  static constexpr Names<3> kRoutes = {"forward", "hash", "deal"};

  // How kSort compares fields.
  enum class Field { kSigned, kUnsigned, kFloat };
  static constexpr Names<3> kFields = {"signed", "unsigned", "float"};

  std::string name;  // its name in errors
  Kind kind = Kind::kStateless;
  Route route = Route::kForward;
  std::vector<std::int32_t> inputs;     // vertices added before; empty: a source
  std::int32_t degree = 1;              // number of instances, on the first workers
  FlowKernel items = nullptr;           // null: kSource, kSort
  FlowKernel marks = nullptr;           // null: no action at markers
  StartKernel start = nullptr;          // null: zeroed, and stays so
  std::int64_t start_bytes = 0;         // of the initial state of a new key
  std::int64_t entry_bytes = 0;         // of the stored entry of a key
  std::int64_t max_outputs = 1;         // of one call of a function
  bool keeps_key = false;               // outputs must have the key of the item or entry; else that is an error
  bool gives = false;                   // its outputs belong to the answer; all such vertices have the same columns
  bool keyed = false;                   // its outputs have keys, in their second column
  std::vector<std::int32_t> itemsizes;  // of its outputs; the first column is the int64 timestamp
  std::vector<Field> fields;            // of these columns; kSort only
  std::vector<std::int32_t> order;      // kSort only: all columns, the one compared first at the front
  std::vector<std::uint8_t> falling;    // kSort only, by column: whether its greatest value comes first

  // State of an instance after the last marker of a run, from which another run can resume.
  struct Kept {
    std::vector<std::byte> start;    // the initial state of a new key
    std::vector<std::byte> entries;  // of its table
  };
  std::optional<Kept> kept;  // of the only instance, from the run before; none: there was no run

  std::string called() const { return name.empty() ? "" : "operator " + name + ": "; }
};

// The keys of an instance: a table, and the size of its entries. Kernels read the table's head
// (oplus/window_tables.py).
class FlowTable {
 public:
  // Head of an entry, before its state: a stamp and the key.
  static constexpr std::size_t kHeadBytes = 16;

  explicit FlowTable(std::int64_t entry_bytes)
      : stride_(kHeadBytes + (static_cast<std::size_t>(entry_bytes) + 7) / 8 * 8) {}
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  static std::byte* make(void* table, std::int64_t key);  // a MakeEntry; notes a failed allocation

  // Key of entry `entry`; entries are numbered in the order of creation.
  std::int64_t key(std::int64_t entry) const noexcept {
    return WindowTable::key_of(table_.bytes(stride_).data() + static_cast<std::size_t>(entry) * stride_);
  }
  std::int64_t keys() const noexcept { return static_cast<std::int64_t>(table_.count()); }
  void clear() noexcept { table_.clear(); }
  std::span<const std::byte> entries() const noexcept { return table_.bytes(stride_); }
  // Throws std::bad_alloc, and std::invalid_argument if these are no entries.
  void assign(std::span<const std::byte> entries) {
    if (entries.size() % stride_ != 0) throw std::invalid_argument("a table has entries of another size");
    table_.assign(entries, stride_);
  }
  bool starved() const noexcept { return starved_; }
  std::size_t bytes() const noexcept { return table_.allocated(stride_); }
  std::size_t growth_bytes() const noexcept { return table_.growth_bytes(stride_); }

 private:
  WindowTable table_;  // must be the first member
  std::size_t stride_;
  bool starved_ = false;
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
