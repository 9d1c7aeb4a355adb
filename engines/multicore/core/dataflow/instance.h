// FlowInstance: one vertex of a DataflowRun on one worker. It takes rows and markers, and passes on its outputs.
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

// The links from one instance to the instances of one vertex, by worker.
using FlowLinks = std::vector<std::unique_ptr<FlowLink>>;

class FlowInstance {
 public:
  static constexpr std::int64_t kRows = 512;       // outputs made at once, so that they stay in the first-level cache
  static constexpr std::int64_t kRowsInTurn = 64;  // with Route::kDeal: rows sent to an instance in its turn

  // `stop`: see run/errors.h. `worker`: the worker's index; worker 0 has the first instance of the vertex. `has_due`:
  // whether rows carry due times.
  FlowInstance(const FlowSpec& spec, const Markers& markers, WorkMeter& meter, const std::atomic<bool>& stop,
               std::int32_t worker, bool has_due);
  FlowInstance(const FlowInstance&) = delete;
  FlowInstance& operator=(const FlowInstance&) = delete;

  // The functions from here to `set_known_times` are for the set-up.

  // Adds an instance of the same worker that takes the outputs. This instance calls it directly.
  void add_reader(FlowInstance& reader) { readers_.push_back(&reader); }
  // The links to the instances of one vertex.
  struct Exchange {
    FlowLinks links;
    FlowSpec::Route route;
    std::shared_ptr<KeyOwners> owners = nullptr;  // with kHash and several links; otherwise null
    FlowLinks words = {};                         // links to a SORT for rows that fit into words; parallel to `links`
    std::optional<RowPacker> packer = {};         // packs rows for `words`
    std::size_t next = 0;                         // with kDeal: the link whose turn it is
  };
  // Adds the links to a vertex.
  void add_exchange(Exchange exchange) { exchanges_.push_back(std::move(exchange)); }
  // Makes the outputs part of the answer. `number` orders outputs of the same time.
  void set_output(std::shared_ptr<OutputPool> pool, std::int32_t number) {
    outputs_ = std::make_unique<OutputBuffer>(std::move(pool));
    number_ = number;
  }

  // For a SORT: sets the layouts of words. `packs`: whether this instance packs its rows; otherwise senders do.
  void pack_by(std::shared_ptr<WordLayouts> layouts, bool packs) { sorter_->pack_by(std::move(layouts), packs); }

  // With a load: sets the times at which this instance knows each marker (Markers::known_times_ns). `times_ns` must
  // outlive the instance.
  void set_known_times(const std::vector<std::int64_t>& times_ns) { known_times_ = &times_ns; }

  void take(const FlowPiece& piece);        // processes rows of the current block
  void take_words(const FlowPiece& piece);  // for a SORT: takes the words of rows from a sender that packs
  // The four functions below also call the same functions of the instances that `add_reader` added.
  void end_block();      // processes the marker that ends the current block
  void end();            // notes that no rows follow
  void flush();          // publishes the rows sent over links
  bool full() noexcept;  // returns whether a link that this instance fills is full

  std::int64_t block() const noexcept { return block_; }
  const FlowSpec& spec() const noexcept { return spec_; }
  // Returns the state after a run. The run's last event must be before its last marker, so that no block is open.
  FlowSpec::KeyedState state() const;
  const OutputBuffer* outputs() const noexcept { return outputs_.get(); }
  std::int64_t exchanged() const noexcept { return exchanged_; }  // number of rows sent over links
  std::int64_t packed() const noexcept { return packed_; }        // number of rows sent over links as words
  std::int64_t keys() const noexcept { return table_.keys(); }

 private:
  // Runs a kernel on items or entries [0, count) and forwards its outputs. `from`: the rows of the items; null at a
  // marker.
  void process(FlowKernel kernel, FlowCall& call, std::int64_t count, const FlowPiece* from);
  void check(std::int64_t next, std::int64_t position, const Emit& emit) const;
  void check_keys(const FlowPiece* from, const Emit& emit, std::int64_t first) const;
  const std::int64_t* due_of(std::int64_t rows, const FlowPiece* from);
  void forward(const FlowPiece& piece);
  void send(Exchange& exchange, const FlowPiece& piece);
  void send_words(Exchange& exchange, const FlowPiece& piece, std::span<const std::uint64_t> words);
  void collect(const FlowPiece& piece);
  void note_latency(const std::int64_t* due, std::int64_t rows) noexcept;
  void emit_sorted();
  std::int64_t marker_due() const noexcept;

  const FlowSpec& spec_;
  const Markers& markers_;
  const std::vector<std::int64_t>* known_times_ = nullptr;
  WorkMeter& meter_;
  const std::atomic<bool>& stop_;
  const std::int32_t worker_;
  const bool has_due_;
  std::vector<FlowInstance*> readers_;
  std::vector<Exchange> exchanges_;
  std::unique_ptr<OutputBuffer> outputs_;  // null if the outputs do not belong to the answer
  std::int32_t number_ = 0;

  std::int64_t block_ = 0;
  bool ended_ = false;
  FlowTable table_;
  std::vector<std::uint64_t> start_;  // initial state of a new key
  RecordBuffer buffer_;
  std::vector<void*> permuted_;  // columns in the order of functions, the key first
  std::vector<std::int32_t> sources_;
  std::vector<std::int64_t> output_due_;
  // Scratch memory by receiving instance: the rows, their number, and their words.
  std::vector<std::int32_t> lists_;
  std::vector<std::int64_t> counts_;
  std::vector<std::uint64_t> words_by_instance_;
  std::int64_t exchanged_ = 0;
  std::int64_t packed_ = 0;

  const RowMover mover_;
  std::optional<BlockSorter> sorter_;  // set for kSort
};

}  // namespace lab
