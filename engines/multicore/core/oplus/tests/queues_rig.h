// Queues driven by one thread, so that a test controls when sources hand over and when instances read.
#pragma once
#include "oplus/tests/queues_cases.h"

namespace lab::test {

inline constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

struct Arrived {
  std::int64_t ts;
  std::int32_t stream;
  std::vector<std::int32_t> words;
  std::int64_t value;
  bool operator==(const Arrived&) const = default;
};

// The number of rows for which f_MK was called.
inline std::int64_t rows_evaluated = 0;

inline std::int64_t route_and_count(const std::int32_t* owner, std::int64_t first, const void* const* columns,
                                    std::int64_t begin, std::int64_t end, std::uint64_t* masks) {
  rows_evaluated += end - begin;
  return route_texts(owner, first, columns, begin, end, masks);
}

// Instances that only stand at a barrier.
class Standing final : public OperatorInstance {
 public:
  using OperatorInstance::OperatorInstance;
  void process(std::span<const LogRun>, const LogOrder&) override {}
  void advance(std::int64_t, std::int64_t) override {}
  void adopt(const std::int32_t*) override {}
  void settle(std::int64_t watermark, std::int64_t) override { settled = watermark; }
  void stand_at(std::int64_t watermark) {
    watermark_ = watermark;
    started_ = true;
  }
  std::int64_t settled = kLowest;
};

// Streams of texts, their sources, and the feeds that read them.
class TextFeeds {
 public:
  // `scheduled`: sources hand over the rows that `publish_due` permits; else one tuple of each with every feed.
  TextFeeds(const std::vector<Texts>& texts, RouteKernel route, bool scheduled) {
    for (const Texts& one : texts) {
      views_.push_back(one.view());
      views_.back().index = static_cast<std::int32_t>(views_.size()) - 1;
    }
    for (const StreamView& view : views_) {
      streams.push_back({&view, 0, nullptr, route});
      sources_.push_back(std::make_unique<Source>(view, 1, 4096));
      Feed& feed = feeds.emplace_back();
      feed.source = sources_.back().get();
      feed.reader = feed.source->ring.add_reader();
      feed.pumped = !scheduled;
    }
  }

  // Makes the source hand over the rows due by then.
  void publish_due(std::size_t source, std::int64_t elapsed_ns) {
    sources_[source]->notice(elapsed_ns);
    while (sources_[source]->publish(0)) continue;
  }

  std::vector<OperatorStream> streams;
  std::deque<Feed> feeds;

 private:
  std::deque<StreamView> views_;
  std::vector<std::unique_ptr<Source>> sources_;
};

class Rig {
 public:
  // The rows that an instance has read.
  struct Reader {
    std::vector<Arrived> rows;
    std::vector<std::int64_t> switches;
    std::int64_t watermark = kLowest;
  };

  Rig(const std::vector<Texts>& streams, std::int32_t most, std::vector<std::int32_t> owner, std::int32_t active,
      const char* log, bool scheduled = false)
      : now{first_instances(active), std::move(owner)},
        feeds(streams, &route_and_count, scheduled),
        readers_(static_cast<std::size_t>(most)) {
    spec_.window = behaviour.window;
    spec_.entry_bytes = entry_bytes_of(behaviour.window, 1);
    spec_.buckets = static_cast<std::int32_t>(behaviour.buckets);
    shapes_.assign(streams.size(), kTextShapes);
    queues_ = std::make_unique<Queues>(spec_, log, LogOptions{}, feeds.streams, shapes_, feeds.feeds);
    queues_->start(most, now);
    for (std::int32_t i = 0; i < most; ++i) {
      standing_.emplace_back(i, spec_, queues_->streams(i), outputs_, recorder_, stop_);
    }
  }

  bool feed() { return queues_->feed(recorder_, now); }

  // Reads all available runs of an instance, or a limited number. Returns whether it read any.
  bool read(std::int32_t i, std::size_t most = ~std::size_t{0}) {
    TupleBuffer& log = queues_->log(i);
    Reader& reader = readers_[static_cast<std::size_t>(i)];
    bool some = false;
    for (log.advance(); most > 0; log.advance()) {
      const std::span<const LogRun> runs = log.read(queues_->reader(i));
      if (runs.empty()) break;
      const std::size_t taken = std::min(most, runs.size());
      for (const LogRun& part : runs.first(taken)) take(i, reader, part);
      log.release(queues_->reader(i), taken);
      most -= taken;
      some = true;
    }
    return some;
  }

  // Feeds and reads until no row moves; instances for which `stuck` holds do not read.
  void settle(std::uint64_t stuck = 0) {
    for (bool moved = true; moved;) {
      moved = feed();
      for (const std::int32_t i : now.instances) {
        if ((stuck >> i & 1) == 0) moved |= read(i);
      }
    }
  }

  std::int64_t change(std::vector<std::int32_t> instances, std::vector<std::int32_t> owner) {
    InstanceMapping next{std::move(instances), std::move(owner)};
    std::vector<OperatorInstance*> all;
    for (Standing& one : standing_) all.push_back(&one);
    const std::int64_t moved = queues_->change(Change(now, next, now.instances.front()), all);
    now = std::move(next);
    return moved;
  }

  Queues& queues() { return *queues_; }
  Reader& of(std::int32_t i) { return readers_[static_cast<std::size_t>(i)]; }
  Standing& standing(std::int32_t i) { return standing_[static_cast<std::size_t>(i)]; }
  bool ended(std::int32_t i) { return queues_->log(i).ended(0); }

  InstanceMapping now;
  TextFeeds feeds;

 private:
  void take(std::int32_t i, Reader& reader, LogRun part) {
    if (part.source == kControlEntry) return reader.switches.push_back(part.begin);
    if (part.source == kWatermarkEntry) {
      CHECK(part.end >= reader.watermark);
      reader.watermark = part.end;
      return;
    }
    const OperatorStream& stream = queues_->streams(i)[static_cast<std::size_t>(part.source)];
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      const std::size_t item = stream.item(row);
      const auto words = words_of(stream.view->columns.data(), static_cast<std::int64_t>(item));
      CHECK(stream.ts(row) >= reader.watermark);  // as promised
      reader.rows.push_back({stream.ts(row),
                             part.source,
                             {words.begin(), words.end()},
                             static_cast<const std::int64_t*>(stream.view->columns[4])[item]});
    }
  }

  OperatorSpec spec_;
  std::vector<Reader> readers_;
  std::vector<std::vector<ColumnShape>> shapes_;
  Recorder recorder_{false};
  OutputBuffer outputs_{std::vector<std::int32_t>{8}};
  const std::atomic<bool> stop_{false};
  std::deque<Standing> standing_;
  std::unique_ptr<Queues> queues_;
};

// The first word of a bucket.
inline std::int32_t word_in(std::int64_t bucket) {
  std::int32_t word = 0;
  while (bucket_of(word) != bucket) ++word;
  return word;
}

inline std::vector<Texts> random_texts(std::mt19937& random, int streams, int most) {
  std::vector<Texts> all(static_cast<std::size_t>(streams));
  for (Texts& one : all) {
    const auto rows = random() % 5 == 0 ? 0 : random() % static_cast<unsigned>(most);
    std::int64_t now = -static_cast<std::int64_t>(random() % 50);
    for (unsigned i = 0; i < rows; ++i) {
      now += random() % 3 == 0 ? static_cast<std::int64_t>(random() % 6) : 0;
      std::vector<std::int32_t> words(random() % 4);
      for (std::int32_t& word : words) word = static_cast<std::int32_t>(random() % 60);
      one.add(now, words, static_cast<std::int64_t>(random() % 1000));
    }
  }
  return all;
}

// A mapping that holds up to an event time.
struct Era {
  std::int64_t until;
  std::vector<std::int32_t> owner;
};

// The tuples that instance `i` must read: those with one of its keys, in the total order.
inline std::vector<Arrived> expected(const std::vector<Texts>& streams, const std::vector<Era>& eras, std::int32_t i) {
  std::vector<Arrived> result;
  for (const auto& [ts, s, row] : total_order(streams)) {
    const Texts& from = streams[s];
    std::size_t era = 0;
    while (ts > eras[era].until) ++era;
    const std::vector<std::int32_t> words(from.words.begin() + from.begins[row], from.words.begin() + from.ends[row]);
    const bool has = std::any_of(words.begin(), words.end(), [&](std::int32_t word) {
      return eras[era].owner[static_cast<std::size_t>(bucket_of(word))] == i;
    });
    if (has) result.push_back({ts, static_cast<std::int32_t>(s), words, from.value[row]});
  }
  return result;
}

// Checks that instances [0, count) have read their rows.
inline void check_rows(Rig& rig, const std::vector<Texts>& streams, const std::vector<Era>& eras, std::int32_t count) {
  for (std::int32_t i = 0; i < count; ++i) CHECK(rig.of(i).rows == expected(streams, eras, i));
}
inline void check_rows(Rig& rig, const std::vector<Texts>& streams, std::int32_t count) {
  check_rows(rig, streams, {{kEndOfTime, rig.now.owner}}, count);
}

}  // namespace lab::test
