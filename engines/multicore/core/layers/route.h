// LayerRoute: selects the consumer of each row. The choice depends only on the row, so all producers and runs agree.
//
// Rows without a key are distributed by event time. Time is cut into slices, and a hash assigns each slice to a
// consumer. So rows of equal event time go to the same consumer, whatever their producer, and keep their order.
// Distribution in turn, as in Storm and in Viper's evaluation, instead orders rows of equal time by consumer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "layers/out.h"
#include "oplus/instance.h"
#include "stages/spec.h"

namespace lab {

// The number of a row of an input stream. The row stays in place; only its number crosses the graph, as an int64.
class RowNumber {
 public:
  static constexpr std::size_t kColumn = 1;  // the column of row numbers, after the timestamp

  RowNumber(std::int32_t stream, std::int64_t row) noexcept
      : value_(static_cast<std::int64_t>(stream) << kRowBits | row) {}
  explicit RowNumber(std::int64_t value) noexcept : value_(value) {}

  std::int64_t value() const noexcept { return value_; }
  std::int32_t stream() const noexcept { return static_cast<std::int32_t>(value_ >> kRowBits); }
  std::int64_t row() const noexcept { return value_ & ((std::int64_t{1} << kRowBits) - 1); }

 private:
  static constexpr int kRowBits = 48;  // leaves 15 bits for the stream

  std::int64_t value_;
};

class LayerRoute {
 public:
  virtual ~LayerRoute() = default;

  // Sends rows [from, from + rows), at most a unit. Throws std::runtime_error if a user's function fails.
  virtual void send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) = 0;
};

// Sends all rows to one consumer.
class RouteToOne final : public LayerRoute {
 public:
  void send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) override {
    out.send(0, columns, from, rows);
  }
};

// Sends slice s of event time, `width` long, to consumer hash(s, salt) mod `consumers`.
class RouteByTime final : public LayerRoute {
 public:
  RouteByTime(std::uint64_t width, std::int64_t salt, std::size_t consumers)
      : width_(width), salt_(salt), consumers_(consumers) {}

  void send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) override;

  std::size_t consumer_of(std::int64_t ts) noexcept;

 private:
  const std::uint64_t width_;
  const std::int64_t salt_;
  const std::size_t consumers_;
  // The current slice, in times shifted so that the lowest int64 is 0.
  std::uint64_t first_ = 1;
  std::uint64_t last_ = 0;
  std::size_t consumer_ = 0;
  std::vector<std::int32_t> to_;
};

// Sends the producer's row i to consumer i mod `consumers`.
class RouteInTurn final : public LayerRoute {
 public:
  explicit RouteInTurn(std::size_t consumers) : consumers_(static_cast<std::int32_t>(consumers)) {}

  void send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) override;

 private:
  const std::int32_t consumers_;
  std::int32_t next_ = 0;
  std::vector<std::int32_t> to_;
};

// Sends a row of partition p to consumer p mod `consumers`.
class RouteByKey final : public LayerRoute {
 public:
  // `spec` must outlive the route.
  RouteByKey(const StageSpec& spec, std::size_t consumers) : spec_(spec) {
    for (std::int32_t p = 0; p < spec.partitions; ++p) {
      consumer_of_.push_back(p % static_cast<std::int32_t>(consumers));
    }
  }

  void send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) override;

 private:
  const StageSpec& spec_;
  std::vector<std::int32_t> consumer_of_;  // by partition
  std::vector<std::int32_t> to_;
};

// Sends a row by number (layers/operator.h) to each instance that owns one of its keys (STRETCH, algorithm 1).
class RouteByKeys final : public LayerRoute {
 public:
  // `owner`: the instance of each bucket of keys. `stream` and `owner` must outlive the route. `error_prefix`: text
  // before each error.
  RouteByKeys(const OperatorStream& stream, const std::int32_t* owner, std::size_t consumers, std::string error_prefix)
      : stream_(stream),
        owner_(owner),
        consumers_(static_cast<std::int32_t>(consumers)),
        error_prefix_(std::move(error_prefix)) {}

  void send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) override;

 private:
  const OperatorStream& stream_;
  const std::int32_t* const owner_;
  const std::int32_t consumers_;
  const std::string error_prefix_;
  std::vector<std::uint64_t> to_;
};

// Sends all rows to all consumers, for joins of all pairs.
class RouteToAll final : public LayerRoute {
 public:
  explicit RouteToAll(std::size_t consumers) : consumers_(static_cast<std::int32_t>(consumers)) {}

  void send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) override;

 private:
  const std::int32_t consumers_;
  std::vector<std::uint64_t> to_;
};

}  // namespace lab
