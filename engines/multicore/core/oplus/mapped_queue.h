// Queues tuples from a map instance to an aggregate instance. The ring holds each tuple's time, its key and the columns
// that f_U reads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "oplus/instance.h"
#include "run/column_ring.h"

namespace lab {

// A column that mapped tuples carry over from a stream.
struct CarriedColumn {
  std::size_t column = 0;     // index in StreamView::columns; scalar
  std::int32_t itemsize = 0;  // 0 if only another stream has the column
};

// Describes a stream for map instances.
struct MappedStream {
  MapKernel map = nullptr;
  std::vector<CarriedColumn> carried;
};

// The holder of the map instance's flag writes the queue; the log publishes the rows to the reader.
class MappedQueue {
 public:
  // `rows`: a power of two.
  MappedQueue(const OperatorStream& from, std::span<const CarriedColumn> carried, std::int64_t rows)
      : from_(from), memory_(itemsizes(carried), rows, "rows of a queue") {
    void* const* column = memory_.columns();
    ts_ = static_cast<std::int64_t*>(*column++);
    key_ = static_cast<std::int64_t*>(*column++);
    view_.index = from.view->index;
    view_.ts = {ts_, static_cast<std::size_t>(rows)};
    view_.columns = {ts_, key_};
    for (const CarriedColumn& origin : carried) {
      view_.columns.push_back(origin.itemsize == 0 ? nullptr : *column);
      if (origin.itemsize == 0) continue;
      copies_.push_back({static_cast<const std::byte*>(from.view->columns[origin.column]),
                         static_cast<std::byte*>(*column++), static_cast<std::size_t>(origin.itemsize)});
    }
    if (!from.view->due.empty()) {
      due_.resize(static_cast<std::size_t>(rows));
      view_.due = due_;
    }
    stream_ = {&view_, from.input, from.process, nullptr, memory_.mask()};
  }
  MappedQueue(const MappedQueue&) = delete;
  MappedQueue& operator=(const MappedQueue&) = delete;

  const OperatorStream& stream() const noexcept { return stream_; }  // as the aggregate instance reads it
  std::int64_t rows() const noexcept { return rows_; }               // total added

  // Sets the number of rows that the reader has released.
  void consumed(std::int64_t rows) noexcept { end_ = rows + memory_.size(); }
  bool full() const noexcept { return rows_ == end_; }

  // Adds a tuple with `key`, a key of row `row` of the stream. The queue must not be full.
  void add(std::int64_t key, std::int64_t row) noexcept {
    const auto at = static_cast<std::size_t>(memory_.item_of(rows_));
    const auto from = static_cast<std::size_t>(row);
    ts_[at] = from_.view->ts[from];
    key_[at] = key;
    if (!due_.empty()) due_[at] = from_.view->due[from];
    for (const Copy& copy : copies_) copy.item(at, from);
    ++rows_;
  }

 private:
  struct Copy {
    const std::byte* source;
    std::byte* target;
    std::size_t size;

    void item(std::size_t to, std::size_t from) const noexcept {
      // A copy of a constant size compiles to a load and a store.
      if (size == 8) {
        std::memcpy(target + 8 * to, source + 8 * from, 8);
      } else if (size == 4) {
        std::memcpy(target + 4 * to, source + 4 * from, 4);
      } else {
        std::memcpy(target + size * to, source + size * from, size);
      }
    }
  };

  static std::vector<std::int32_t> itemsizes(std::span<const CarriedColumn> carried) {
    std::vector<std::int32_t> sizes{8, 8};
    for (const CarriedColumn& column : carried) {
      if (column.itemsize != 0) sizes.push_back(column.itemsize);
    }
    return sizes;
  }

  const OperatorStream& from_;
  ColumnRing memory_;
  std::int64_t* ts_ = nullptr;
  std::int64_t* key_ = nullptr;
  std::vector<Copy> copies_;
  std::vector<std::int64_t> due_;
  StreamView view_;
  OperatorStream stream_;
  std::int64_t rows_ = 0;
  std::int64_t end_ = 0;  // rows before this one have room
};

}  // namespace lab
