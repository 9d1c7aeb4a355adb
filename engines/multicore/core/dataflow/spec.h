// A vertex of a typed dataflow graph as the runtime is given it, and what an instance of it keeps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/kernel.h"
#include "run/cacheline.h"
#include "run/key_table.h"
#include "run/names.h"

namespace lab {

struct FlowSpec {
  enum class Kind {
    kSource,  // rows of streams, as they are
    kStateless,
    kKeyed,    // a state for each key
    kPartial,  // what a block adds up to for each key, given at its marker and forgotten
    kSort,     // rows of a block by key, then by their fields
  };
  static constexpr Names<5> kKinds = {"source", "stateless", "keyed", "partial", "sort"};  // in this order

  // How rows come from the vertices that it reads.
  enum class Route {
    kForward,  // from the same worker's instance of one vertex, by a call
    kHash,     // over links from all instances of all of them, to the instance that has the key (HASH)
    kDeal,     // over links, to each instance in turn (RR)
  };
  static constexpr Names<3> kRoutes = {"forward", "hash", "deal"};

  // How fields are compared, by kSort.
  enum class Field { kSigned, kUnsigned, kFloat };
  static constexpr Names<3> kFields = {"signed", "unsigned", "float"};

  std::string name;  // what errors call it
  Kind kind = Kind::kStateless;
  Route route = Route::kForward;
  std::vector<std::int32_t> inputs;  // vertices that were added before; none: a source
  std::int32_t degree = 1;           // instances, on the first workers
  FlowKernel items = nullptr;        // null: kSource, kSort
  FlowKernel marks = nullptr;        // null: nothing at markers
  StartKernel start = nullptr;       // null: zeroed, and stays so
  std::int64_t start_bytes = 0;      // of the state of a key that is seen first
  std::int64_t entry_bytes = 0;      // of what is kept for a key
  std::int64_t max_outputs = 1;      // of one call of a function
  bool keeps_key = false;            // what it gives has the key of the item or entry; else that is an error
  bool gives = false;                // whether what it gives is of the answer; vertices that do have the same columns
  bool keyed = false;                // whether what it gives has keys, which are its second column
  std::vector<std::int32_t> itemsizes;  // of what it gives; the first column is the int64 timestamp
  std::vector<Field> fields;            // of these columns; kSort only

  std::string called() const { return name.empty() ? "" : "operator " + name + ": "; }
};

// The keys of an instance: a table, and how large its entries are. Kernels read the table's head (oplus/window_tables.py).
class FlowTable {
 public:
  // Of an entry, before what is kept: a stamp and the key.
  static constexpr std::size_t kHeadBytes = 16;

  explicit FlowTable(std::int64_t entry_bytes)
      : stride_(kHeadBytes + (static_cast<std::size_t>(entry_bytes) + 7) / 8 * 8) {}
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  static std::byte* make(void* table, std::int64_t key);  // a MakeEntry; notes where there is no memory

  // Of entry `entry`, in the order in which they were made.
  std::int64_t key(std::int64_t entry) const noexcept {
    return WindowTable::key_of(table_.bytes(stride_).data() + static_cast<std::size_t>(entry) * stride_);
  }
  std::int64_t keys() const noexcept { return static_cast<std::int64_t>(table_.count()); }
  void clear() noexcept { table_.clear(); }
  bool starved() const noexcept { return starved_; }
  std::size_t bytes() const noexcept { return table_.allocated(stride_); }
  std::size_t wanted() const noexcept { return table_.wanted(stride_); }

 private:
  WindowTable table_;  // first
  std::size_t stride_;
  bool starved_ = false;
};

}  // namespace lab
