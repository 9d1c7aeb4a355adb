#include "contiguous_log.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

namespace lab {
namespace {

// Rows copied before readers are shown them.
constexpr std::int64_t kPieceRows = 4096;

// Items of one width from a column to a ring, `rows` of them, neither wrapping.
void copy_items(std::byte* to, const void* from, std::int64_t at, std::int64_t row, std::int64_t rows,
                std::size_t width) noexcept {
  const auto* source = static_cast<const std::byte*>(from) + static_cast<std::size_t>(row) * width;
  std::byte* target = to + static_cast<std::size_t>(at) * width;
  if (rows > 1) {
    std::memcpy(target, source, static_cast<std::size_t>(rows) * width);
    return;
  }
  switch (width) {  // constant sizes: a load and a store
    case 1: std::memcpy(target, source, 1); break;
    case 2: std::memcpy(target, source, 2); break;
    case 4: std::memcpy(target, source, 4); break;
    case 8: std::memcpy(target, source, 8); break;
    default: std::memcpy(target, source, 16);
  }
}

}  // namespace

ContiguousLog::ContiguousLog(const LogOptions& options) : OrderLog(options), kinds_(options.kinds.size()) {
  const std::int64_t size = options.ring_rows;
  if (size < 2 || size > std::int64_t{1} << 40 || !std::has_single_bit(static_cast<std::uint64_t>(size))) {
    throw std::invalid_argument("ring_rows is " + std::to_string(size) + ", wanted a power of two from 2 to 2^40");
  }
  if (options.kinds.empty() || options.kinds.size() > static_cast<std::size_t>(kMaxLogSources)) {
    throw std::invalid_argument("a contiguous log has 1 to 64 kinds, got " + std::to_string(options.kinds.size()));
  }
  const auto items = static_cast<std::size_t>(size);
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    Kind& kind = kinds_[k];
    kind.ts.resize(items);
    kind.source.resize(items);
    for (const std::int32_t width : options.kinds[k]) {
      if (width < 1 || width > 16 || !std::has_single_bit(static_cast<unsigned>(width))) {
        throw std::invalid_argument("an item of kind " + std::to_string(k) + " has " + std::to_string(width) +
                                    " bytes, wanted 1, 2, 4, 8 or 16");
      }
      kind.columns.emplace_back(items * static_cast<std::size_t>(width));
    }
    kind.view.ts = kind.ts.data();
    kind.view.mask = static_cast<std::uint64_t>(size) - 1;
    kind.view.kind = static_cast<std::int32_t>(k);
    kind.view.source = kind.source.data();
    for (const auto& column : kind.columns) kind.view.columns.push_back(column.data());
  }
}

void ContiguousLog::check(const LogColumns& rows) const {
  OrderLog::check(rows);
  if (rows.kind < 0 || static_cast<std::size_t>(rows.kind) >= kinds_.size()) {
    throw std::invalid_argument("a source is of kind " + std::to_string(rows.kind) + ", but there are " +
                                std::to_string(kinds_.size()));
  }
  const std::size_t wanted = kinds_[static_cast<std::size_t>(rows.kind)].columns.size();
  if (rows.columns.size() != wanted) {
    throw std::invalid_argument("a source of kind " + std::to_string(rows.kind) + " has " +
                                std::to_string(rows.columns.size()) + " payload columns, wanted " +
                                std::to_string(wanted));
  }
}

std::int64_t ContiguousLog::consumed(int source) {
  // seq_cst: the owner may sleep for it; acquire: the copy is done. Pairs with the store in `append_rows`.
  return merged_[static_cast<std::size_t>(source)].rows.load(std::memory_order_seq_cst);
}

std::int64_t ContiguousLog::room(int source, std::int64_t) {
  const std::int64_t end = line(source).end.load(std::memory_order_relaxed);  // relaxed: own store
  return std::max<std::int64_t>(0, consumed(source) + rows_in_flight(source) - end);
}

// Runs name kinds, so a slot is free as soon as its rows are copied, which a source that is through has done.
bool ContiguousLog::reusable(int, std::int64_t) const noexcept { return true; }

void ContiguousLog::reset(int source) noexcept {
  // relaxed: handed over with the slot
  merged_[static_cast<std::size_t>(source)].rows.store(0, std::memory_order_relaxed);
}

std::int64_t ContiguousLog::free_rows() noexcept {
  std::int64_t free = kPieceRows;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    Kind& kind = kinds_[k];
    if (options_.ring_rows - (kind.end - kind.kept) < kPieceRows) {
      const int index = static_cast<int>(k);
      kind.kept = options_.windows ? readers_.discarded(index, kind.end) : readers_.released(index, kind.end);
    }
    free = std::min(free, options_.ring_rows - (kind.end - kind.kept));
  }
  return free;
}

void ContiguousLog::copy(const LogRun& run) noexcept {
  const LogColumns& from = rows_[static_cast<std::size_t>(run.source)];
  Kind& kind = kinds_[static_cast<std::size_t>(run.kind)];
  std::int64_t begin = run.begin;
  while (begin < run.end) {
    const auto row = static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) & from.mask);
    const auto at = static_cast<std::int64_t>(static_cast<std::uint64_t>(kind.end) & kind.view.mask);
    std::int64_t rows = std::min(run.end - begin, options_.ring_rows - at);
    if (from.mask < static_cast<std::uint64_t>(kEndOfTime)) {
      rows = std::min(rows, static_cast<std::int64_t>(from.mask) + 1 - row);
    }
    const auto slot = static_cast<std::size_t>(at);
    if (rows == 1) {
      kind.ts[slot] = from.ts[row];
      kind.source[slot] = run.source;
    } else {
      std::copy_n(from.ts + row, rows, kind.ts.begin() + at);
      std::fill_n(kind.source.begin() + at, rows, run.source);
    }
    for (std::size_t c = 0; c < kind.columns.size(); ++c) {
      const auto width = static_cast<std::size_t>(options_.kinds[static_cast<std::size_t>(run.kind)][c]);
      copy_items(kind.columns[c].data(), from.columns[c], at, row, rows, width);
    }
    kind.end += rows;
    begin += rows;
  }
}

bool ContiguousLog::append_rows() noexcept {
  bool appended = false;
  for (;;) {
    const std::span<LogRun> free = free_entries();
    // A run is split once at most where its ring wraps: a piece has no more rows than a ring. One row is not split.
    const bool narrow = free.size() == 1;
    const std::size_t runs =
        merger_.merge(runs_.data(), narrow ? 1 : free.size() / 2, narrow ? std::min<std::int64_t>(1, free_rows()) : free_rows());
    if (runs == 0) return appended;
    std::size_t entries = 0;
    std::int32_t kind = -1;
    for (std::size_t i = 0; i < runs; ++i) {
      const LogRun& run = runs_[i];
      Kind& to = kinds_[static_cast<std::size_t>(run.kind)];
      std::int64_t begin = to.end;
      copy(run);
      if (kind == run.kind && (begin & static_cast<std::int64_t>(to.view.mask)) != 0) {
        begin = free[--entries].begin;  // goes on
      }
      kind = run.kind;
      const std::int64_t wrap = (begin | static_cast<std::int64_t>(to.view.mask)) + 1;
      if (to.end > wrap) {
        free[entries++] = {begin, wrap, kind, kind};
        begin = wrap;
      }
      free[entries++] = {begin, to.end, kind, kind};
    }
    const LogRun& last = runs_[runs - 1];
    const LogColumns& rows = rows_[static_cast<std::size_t>(last.source)];
    merged_up_to(rows.ts[static_cast<std::uint64_t>(last.end - 1) & rows.mask], last.source);
    for (std::size_t i = 0; i < runs; ++i) {
      // release: the rows have been read, the owner may overwrite them. The commit below is seq_cst.
      merged_[static_cast<std::size_t>(runs_[i].source)].rows.store(runs_[i].end, std::memory_order_release);
    }
    commit(entries);
    appended = true;
  }
}

}  // namespace lab
