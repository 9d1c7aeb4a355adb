// ScaleGate: the ordered log as a skip list, for comparison (`tuple_buffer = "scalegate"`). After Gulisano et al.,
// "ScaleJoin" (2016), and the structure of its public Java code: p = 1/2, four levels, a node per tuple, inserted
// by its source with one CAS per level from where the source inserted last (`update`), then `written`; readers walk
// level 0 and judge readiness by the written pointers.
//
// What differs, because answers need it:
// - ties: nodes are sorted by (ts, source, row), not by ts alone with ties in order of arrival;
// - readiness: a reader may stand on a source's latest node, but not go past it; so no tuple is lost (the elastic
//   Java variant skips such nodes), and the last row of a source is delivered without another one behind it;
// - a watermark tuple for flow control (LogOptions::acknowledged_rows) is a node behind its row, which a reader
//   acknowledges as it releases what it has read;
// - a frontier past the last row is a node of its own (a dummy tuple, as there), until the readers have passed it;
// - nodes are used again by their source: node x iff every reader stands past x and no source's `update` is at or
//   before x. The order of that is the node's position, which the first reader to pass it writes.
// Control entries are put behind the reader that is furthest, while no reader walks.
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
  int add_source(const LogColumns& rows, std::int64_t from_ts) override;
  void publish(int source, std::int64_t end_row, std::int64_t frontier) override;
  std::int64_t room(int source, std::int64_t wanted) override;
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

  // Returns how many nodes a source has memory for; they are used again. Owner only.
  std::size_t nodes(int source) noexcept { return writer(source).nodes.size() * kGrowth; }

 private:
  static constexpr int kLevels = 4;
  static constexpr std::size_t kGrowth = 64;  // nodes
  static constexpr std::size_t kReadAtOnce = 64;

  // The order: (ts, source, order, sequence). `order` is the row, counted over all owners of the slot.
  struct Node {
    std::int64_t ts = std::numeric_limits<std::int64_t>::min();
    std::int64_t order = -1;
    std::int64_t row = 0;  // or the id of a control entry
    std::int32_t source = -1;
    // Below 0: a frontier or a watermark tuple, before the row of the same order; above 0: control entries.
    std::int32_t sequence = 0;
    std::int32_t height = 1;
    const Node* anchor = this;               // of a control entry: the node that it stands behind
    std::atomic<std::uint64_t> position{0};  // in the total order, from 1; 0: no reader was there, or a control entry
    std::array<std::atomic<Node*>, kLevels> next{};  // set before the node is linked, then by CAS
  };

  struct alignas(kCacheLine) Writer {
    // The last node, linked. Written by the owner (and by add_source), read by readers.
    std::atomic<const Node*> written{nullptr};
    std::atomic<bool> open{false};
    // The owner uses no node before this one: it is update[kLevels - 1]. Written by the owner, read by other owners.
    std::atomic<const Node*> low{nullptr};
    // The owner's own.
    alignas(kCacheLine) std::array<Node*, kLevels> update{};
    std::int64_t base = 0;          // rows of the former owners of the slot
    std::int64_t end = 0;           // first row not published
    std::int64_t acknowledged = 0;  // rows before the last watermark tuple
    std::int64_t last_ts = 0;       // of the last node
    std::int64_t room_end = 0;
    std::uint32_t random = 0;
    std::vector<Node*> free;
    std::deque<Node*> used;  // in list order
    std::vector<std::unique_ptr<Node[]>> nodes;
  };

  struct alignas(kCacheLine) Cursor {
    // Written by the reader: it is looking at nodes. Read by who wants the readers to stand still.
    std::atomic<bool> walking{false};
    // The reader's own (and, while it does not walk, the holder's of the flag).
    const Node* node = nullptr;                                     // the last node passed
    std::uint64_t position = 0;                                     // of that node's anchor
    std::int64_t bound = std::numeric_limits<std::int64_t>::min();  // no later row is below
    std::array<LogRun, kReadAtOnce> runs{};
    std::array<std::uint64_t, kReadAtOnce> positions{};
    std::size_t begin = 0;  // runs [begin, end) are read and not released
    std::size_t end = 0;
  };

  static bool less(const Node& a, const Node& b) noexcept;
  Writer& writer(int source) noexcept { return writers_[static_cast<std::size_t>(source)]; }
  Cursor& cursor(int reader) noexcept { return cursors_[static_cast<std::size_t>(reader)]; }

  Node* allocate(Writer& mine);
  void reclaim(Writer& mine);
  void insert(Writer& mine, Node* node) noexcept;
  void insert_frontier(int source, std::int64_t frontier);
  void insert_acknowledged(int source);
  void grow(Writer& mine);
  void walk(Cursor& at) noexcept;
  const Node* furthest() noexcept;
  bool joins_behind(const Node& node, int source, std::int64_t from_ts) noexcept;
  void link_joining(Node* behind, int source, std::int64_t from_ts);
  void drop_floor() noexcept;
  bool stand_still() noexcept;
  bool insert_controls();
  bool all_closed() const noexcept;

  const LogOptions options_;
  LogReaders readers_;
  std::vector<LogColumns> rows_;
  std::vector<Writer> writers_;
  std::vector<Cursor> cursors_;
  Node head_;
  MergeFlag flag_;
  // Where the furthest reader stood that has left, as long as no other has come so far: what it has seen is not to
  // be changed. Under the flag; the position is read by sources, 0: none.
  const Node* floor_ = nullptr;
  std::atomic<std::uint64_t> floor_position_{0};
  // Readers stand still. Written by the holder of the flag, read by readers (a store/load pair with `walking`).
  alignas(kCacheLine) std::atomic<bool> pause_{false};
  // Something was published, or inserted, since the last `advance`.
  alignas(kCacheLine) std::atomic<bool> news_{false};
  std::atomic<int> waiting_controls_{0};
  std::mutex mutex_;  // guards the fields below
  std::vector<std::int64_t> controls_;
  std::vector<std::unique_ptr<Node>> control_nodes_;
  bool any_source_ = false;
  bool final_ = false;
};

}  // namespace lab
