// Implements the routes of rows to consumers; see layers/route.h.
#include "layers/route.h"

#include <algorithm>
#include <stdexcept>

namespace lab {
namespace {

// Maps int64 to uint64 such that the order is preserved.
std::uint64_t order_preserving(std::int64_t ts) noexcept {
  return static_cast<std::uint64_t>(ts) ^ (std::uint64_t{1} << 63);
}

}  // namespace

std::size_t RouteByTime::consumer_of(std::int64_t ts) noexcept {
  const std::uint64_t time = order_preserving(ts);
  if (time >= first_ && time <= last_) return consumer_;
  const std::uint64_t slice = time / width_;
  first_ = slice * width_;
  const std::uint64_t rest = std::numeric_limits<std::uint64_t>::max() - first_;
  last_ = first_ + std::min(rest, width_ - 1);
  const std::uint64_t hash = mix_key(static_cast<std::int64_t>(slice ^ mix_key(salt_)));
  consumer_ = static_cast<std::size_t>((hash >> 32) * consumers_ >> 32);
  return consumer_;
}

void RouteByTime::send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) {
  const std::int64_t* ts = static_cast<const std::int64_t*>(columns[0]) + from;
  const std::size_t first = consumer_of(ts[0]);
  // Rows come in order of time and mostly lie in one slice.
  bool one_consumer = true;
  for (std::int64_t i = 1; i < rows && one_consumer; ++i) one_consumer = consumer_of(ts[i]) == first;
  if (one_consumer) {
    out.send(first, columns, from, rows);
    return;
  }
  to_.resize(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < to_.size(); ++i) to_[i] = static_cast<std::int32_t>(consumer_of(ts[i]));
  out.distribute(columns, from, rows, to_.data());
}

void RouteInTurn::send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) {
  to_.resize(static_cast<std::size_t>(rows));
  for (std::int32_t& to : to_) {
    to = next_;
    if (++next_ == consumers_) next_ = 0;
  }
  out.distribute(columns, from, rows, to_.data());
}

void RouteByKey::send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) {
  to_.resize(static_cast<std::size_t>(rows));
  spec_.divide(columns, from, rows, to_.data());
  for (std::int32_t& to : to_) to = consumer_of_[static_cast<std::size_t>(to)];
  out.distribute(columns, from, rows, to_.data());
}

void RouteByKeys::send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) {
  // The rows are consecutive rows of the stream.
  const RowNumber first(static_cast<const std::int64_t*>(columns[RowNumber::kColumn])[from]);
  to_.resize(static_cast<std::size_t>(rows * routed_words(consumers_)));
  try {
    route_rows(stream_, first.row(), first.row() + rows, owner_, consumers_, to_.data(), rows);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(error_prefix_ + error.what());
  }
  out.multicast(columns, from, rows, to_.data());
}

void RouteToAll::send(LayerOut& out, const void* const* columns, std::int64_t from, std::int64_t rows) {
  to_.clear();
  for (std::int32_t first = 0; first < consumers_; first += kRoutedAtOnce) {
    const std::int32_t unused = kRoutedAtOnce - std::min(kRoutedAtOnce, consumers_ - first);  // bits of the word
    to_.resize(to_.size() + static_cast<std::size_t>(rows), ~std::uint64_t{0} >> unused);
  }
  out.multicast(columns, from, rows, to_.data());
}

}  // namespace lab
