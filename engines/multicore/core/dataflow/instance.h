// FlowInstance: one vertex on one worker: takes rows and markers, and passes on its outputs.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataflow/block_sorter.h"
#include "dataflow/key_owners.h"
#include "dataflow/link.h"
#include "dataflow/markers.h"
#include "dataflow/spec.h"
#include "run/instance_threads.h"
#include "run/sink.h"
#include "stages/records.h"

namespace lab {

// Links from one instance to those of one vertex, by worker.
using FlowLinks = std::vector<std::unique_ptr<FlowLink>>;

class FlowInstance {
 public:
  static constexpr std::int64_t kRows = 512;       // rows made at once, to stay in the first cache
  static constexpr std::int64_t kRowsInTurn = 64;  // rows for one instance before the next gets some

  // `stop`: see run/errors.h. `worker`: its number; number 0 is also the first instance of the vertex. `due`: rows
  // carry due times.
  FlowInstance(const FlowSpec& spec, const Markers& markers, WorkMeter& meter, const std::atomic<bool>& stop,
               std::int32_t worker, bool due);
  FlowInstance(const FlowInstance&) = delete;
  FlowInstance& operator=(const FlowInstance&) = delete;

  // Set-up: the receivers of its outputs.
  void to(FlowInstance& reader) { readers_.push_back(&reader); }
  struct Exchange {
    FlowLinks links;
    FlowSpec::Route route;
    std::shared_ptr<KeyOwners> owners = nullptr;  // owners of keys, where kHash has several links
    FlowLinks words = {};                         // to SORT, parallel to the links: rows that fit into words
    std::optional<RowPacker> packer = {};         // packs these rows
    std::size_t next = 0;                         // kDeal: the link whose turn it is
  };
  void to(Exchange exchange) { exchanges_.push_back(std::move(exchange)); }
  // `number`: of its outputs among all outputs; it orders outputs of one time.
  void to(std::shared_ptr<OutputPool> pool, std::int32_t number) {
    outputs_ = std::make_unique<OutputBuffer>(std::move(pool));
    number_ = number;
  }

  // SORT: the layouts of its words, and whether this instance packs (or the senders do). The layouts outlive this.
  void pack_by(std::shared_ptr<WordLayouts> layouts, bool packs) { sorter_->pack_by(std::move(layouts), packs); }

  // When each marker is known here, with a load; see Markers. Outlives this.
  void set_times_known(const std::vector<std::int64_t>& known) { times_known_ = &known; }

  void take(const FlowPiece& piece);
  void take_words(const FlowPiece& piece);  // SORT: from a sender that packs
  void mark();                              // ends the block
  void end();                               // no rows follow
  void flush();                             // publishes sent rows, of this instance and of those that it feeds by calls

  bool full() noexcept;  // whether one of its links is full
  std::int64_t block() const noexcept { return block_; }
  const FlowSpec& spec() const noexcept { return spec_; }
  // After a run whose last event is before its last marker, so that no block is open.
  FlowSpec::Kept kept() const;
  const OutputBuffer* outputs() const noexcept { return outputs_.get(); }
  std::int64_t exchanged() const noexcept { return exchanged_; }  // rows sent over links
  std::int64_t packed() const noexcept { return packed_; }        // of these, rows sent as words
  std::int64_t keys() const noexcept { return table_.keys(); }

 private:
  // Runs a kernel on [0, count) and passes on its outputs. `from`: the rows of the items; null at a marker.
  void process(FlowKernel kernel, FlowCall& call, std::int64_t count, const FlowPiece* from);
  void check(std::int64_t next, std::int64_t at, const Emit& emit) const;
  void check_keys(const FlowPiece* from, const Emit& emit, std::int64_t first) const;
  const std::int64_t* due_of(std::int64_t rows, const FlowPiece* from);
  void hand_on(const FlowPiece& piece);
  void send(Exchange& exchange, const FlowPiece& piece);
  void send_words(Exchange& exchange, const FlowPiece& piece, std::span<const std::uint64_t> words);
  void collect(const FlowPiece& piece);
  void note(const std::int64_t* due, std::int64_t rows) noexcept;
  void give_in_order();
  std::int64_t marker_due() const noexcept;

  const FlowSpec& spec_;
  const Markers& markers_;
  const std::vector<std::int64_t>* times_known_ = nullptr;
  WorkMeter& meter_;
  const std::atomic<bool>& stop_;
  const std::int32_t worker_;
  const bool due_;
  std::vector<FlowInstance*> readers_;
  std::vector<Exchange> exchanges_;
  std::unique_ptr<OutputBuffer> outputs_;  // set if its outputs belong to the answer
  std::int32_t number_ = 0;

  std::int64_t block_ = 0;
  bool ended_ = false;
  FlowTable table_;
  std::vector<std::uint64_t> start_;
  RecordBuffer made_;
  std::vector<void*> permuted_;  // columns in the order of functions: the key first
  std::vector<std::int32_t> sources_;
  std::vector<std::int64_t> made_due_;
  std::vector<std::int32_t> lists_;               // scratch: the rows of each instance
  std::vector<std::int64_t> counts_;              // and their number
  std::vector<std::uint64_t> words_by_instance_;  // scratch: words by instance
  std::int64_t exchanged_ = 0;
  std::int64_t packed_ = 0;

  const RowMover mover_;
  std::optional<BlockSorter> sorter_;  // kSort
};

}  // namespace lab
