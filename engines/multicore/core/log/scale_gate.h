// ScaleGate: implements the ordered log as a skip list, for comparison (`tuple_buffer = "scalegate"`). It follows
// Gulisano et al., "ScaleJoin" (2016), and the structure of their public Java code: p = 1/2, four levels, one node for
// each tuple. A source searches from its last insertion (`update`), links its node with one CAS per level, then stores
// `written`. Readers walk level 0 and judge readiness by the `written` pointers.
//
// Correct answers need these differences from the paper:
// - Ties: nodes are sorted by (ts, source, row). Rows at the timestamp from which their source joined again come after
//   those of sources that joined earlier. The paper sorts by ts alone, with ties in order of arrival.
// - Readiness: a reader may stand on a source's latest node, but may not pass it. So no tuple is lost (the elastic Java
//   variant skips such nodes), and the last row of a source is delivered without a later row behind it.
// - A watermark tuple for flow control (LogOptions::acknowledged_rows) is a node behind its row. A reader acknowledges
//   it by releasing its entry.
// - A frontier past the last row is its own node (a dummy tuple, as in the paper), until the readers have passed it.
// - A source may reuse its node x iff every reader stands past x and no source's `update` is at or before x. Nodes are
//   compared by position. The first reader that passes a node writes its position.
//
// Control entries are inserted behind the furthest reader, while no reader walks.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "log/readers.h"
#include "log/tuple_buffer.h"
#include "run/cacheline.h"
#include "run/merge_flag.h"

namespace lab {

class ScaleGate final : public TupleBuffer {
 public:
  explicit ScaleGate(const LogOptions& options);
  ~ScaleGate() override;

  using TupleBuffer::add_source;
  using TupleBuffer::publish;
  int add_source(const LogColumns& rows, std::int64_t from_ts) override;
  void publish(int source, std::int64_t end_row, std::int64_t frontier, bool more) override;
  std::int64_t room(int source, std::int64_t min_rows) override;
  void close(int source) override;
  void rejoin(int source, std::int64_t from_ts) override;
  std::int64_t consumed(int source) override;
  bool advance() noexcept override;
  bool control(std::int64_t id) override;
  int add_reader() override;
  void add_reader_at(int reader, int like) override;
  void remove_reader(int reader) override;
  std::span<const LogRun> read(int reader) override;
  void release(int reader, std::size_t runs) override;
  bool ended(int reader) override;
  std::int64_t next_row(int reader, int source) const override { return readers_.rows(reader, source); }
  const LogColumns& columns(std::int32_t source) const override { return rows_[static_cast<std::size_t>(source)]; }

  // Returns the number of nodes for which a source has memory; the source reuses them. Only the owner calls it.
  std::size_t nodes(int source) noexcept { return writer(source).nodes.size() * kGrowth; }

 private:
  static constexpr int kLevels = 4;
  static constexpr std::size_t kGrowth = 64;  // nodes
  static constexpr std::size_t kReadAtOnce = 64;

  // Nodes are sorted by (ts, rank, order, sequence). `order` is the row, counted over all owners of the slot.
  struct Node {
    std::int64_t ts = std::numeric_limits<std::int64_t>::min();
    std::int64_t rank = -1;  // the source; above it, at the timestamp of its join, Writer::join
    std::int64_t order = -1;
    std::int64_t row = 0;  // or the id of a control entry
    // 0: a row. Below 0: a frontier or a watermark tuple, before the row of the same order. Above 0: control entries.
    std::int32_t sequence = 0;
    std::int32_t height = 1;
    const Node* anchor = this;               // of a control entry: the ordinary node that it follows
    std::atomic<std::uint64_t> position{0};  // in the total order, from 1; 0: no reader passed it, or a control entry
    std::array<std::atomic<Node*>, kLevels> next{};  // set before the node is linked, then by CAS

    static constexpr std::int64_t rank_of(std::int32_t source, std::int64_t join) noexcept {
      return join << 32 | source;
    }
    std::int32_t source() const noexcept { return static_cast<std::int32_t>(rank); }
    std::int64_t join() const noexcept { return rank >> 32; }
  };

  struct alignas(kCacheLine) Writer {
    // The last linked node. Written by the owner (and by add_source), read by readers.
    std::atomic<const Node*> written{nullptr};
    std::atomic<bool> open{false};
    // The owner uses no node before this one: update[kLevels - 1]. Written by the owner, read by other owners.
    std::atomic<const Node*> low{nullptr};
    // Only the owner uses the fields below.
    alignas(kCacheLine) std::array<Node*, kLevels> update{};
    std::int64_t base = 0;          // number of rows of the slot's former owners
    std::int64_t end = 0;           // first row not published
    std::int64_t acknowledged = 0;  // rows before the last watermark tuple
    std::int64_t last_ts = 0;       // of the last node
    std::int64_t joined_ts = 0;     // timestamp from which the owner added the source, or the source joined again
    std::int64_t join = 0;          // number of that `rejoin`; an added source takes that of the node before it, if any
    std::int64_t room_end = 0;
    std::uint32_t random = 0;
    std::vector<Node*> free_nodes;
    std::deque<Node*> used_nodes;  // in order of their links
    std::vector<std::unique_ptr<Node[]>> nodes;
  };

  struct alignas(kCacheLine) Cursor {
    // The reader sets it while it walks the nodes. Read by threads that need the readers to stand still.
    std::atomic<bool> walking{false};
    // Only the reader uses the fields below; the holder of the flag may use them while the reader does not walk.
    const Node* node = nullptr;                                     // the last node passed
    std::uint64_t position = 0;                                     // of that node's anchor
    std::int64_t bound = std::numeric_limits<std::int64_t>::min();  // lower bound of later rows' ts
    std::array<LogRun, kReadAtOnce> runs{};
    std::array<std::uint64_t, kReadAtOnce> positions{};
    std::size_t begin = 0;  // runs [begin, end) are read, not released
    std::size_t end = 0;
  };

  static bool less(const Node& a, const Node& b) noexcept;
  std::span<const Writer> used_writers() const noexcept {
    // seq_cst: pairs with `add_source`, which then opens the slot. A scan that misses the slot came before it opened.
    return {writers_.data(), writers_used_.load(std::memory_order_seq_cst)};
  }
  Writer& writer(int source) noexcept { return writers_[static_cast<std::size_t>(source)]; }
  Cursor& cursor(int reader) noexcept { return cursors_[static_cast<std::size_t>(reader)]; }

  Node* allocate(Writer& mine);
  static void set_key(Node& node, int source, const Writer& mine, std::int64_t ts, std::int32_t sequence) noexcept;
  void reclaim(Writer& mine);
  void insert(Writer& mine, Node* node) noexcept;
  void insert_frontier(int source, std::int64_t frontier);
  void insert_acknowledged(int source);
  void grow(Writer& mine);
  void walk(Cursor& at) noexcept;
  const Node* furthest() noexcept;
  void link_joining(Node* behind, int source, std::int64_t from_ts, std::int64_t join);
  void drop_floor() noexcept;
  bool stand_still() noexcept;
  bool insert_controls();
  bool all_closed() const noexcept;

  const LogOptions options_;
  LogReaders readers_;
  std::vector<LogColumns> rows_;
  std::vector<Writer> writers_;
  // Number of slots of `writers_` that ever had an owner; they are the first slots. Written under the flag before the
  // slot opens.
  std::atomic<std::size_t> writers_used_{0};
  std::vector<Cursor> cursors_;
  Node head_;
  MergeFlag flag_;
  // The last node of the furthest reader that has left, until another reader has come as far. No node before it may
  // change, because that reader has seen these nodes. Written under the flag; sources read the position; 0: none.
  const Node* floor_ = nullptr;
  std::atomic<std::uint64_t> floor_position_{0};
  std::int64_t joins_ = 0;  // number of `rejoin` calls; under the flag
  // True: readers must stand still. Written by the holder of the flag, read by readers (a store/load pair with
  // `walking`).
  alignas(kCacheLine) std::atomic<bool> pause_{false};
  // Set by each publication or insertion since the last `advance`.
  alignas(kCacheLine) std::atomic<bool> news_{false};
  std::atomic<int> waiting_controls_{0};
  std::mutex mutex_;  // guards the fields below
  std::vector<std::int64_t> controls_;
  std::vector<std::unique_ptr<Node>> control_nodes_;
  bool final_ = false;
};

}  // namespace lab
