// DataflowRun: runs a typed dataflow graph, as in Mamouras et al., "Data-Trace Types for Distributed Stream Processing
// Systems" (2019). docs/decisions/0020-dataflow.md explains the design.
//
// A vertex of degree d has one instance on each of the workers 0 to d - 1. In a turn a worker takes the available rows
// for its instances: first from links, beginning with the vertices furthest from the streams, then from its streams.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dataflow/instance.h"
#include "dataflow/markers.h"
#include "dataflow/readers.h"
#include "dataflow/spec.h"
#include "run/run.h"

namespace lab {

struct DataflowOptions : RunSettings {
  static constexpr std::int64_t kMaxLinkRows = std::int64_t{1} << 24;

  Markers markers;
  bool aligned = true;             // see FlowLinkReader; false gives wrong results on purpose
  std::int64_t link_rows = 16384;  // number of unread rows at which a link is full and its producer stops reading
};

class DataflowRun final : public Run {
 public:
  // Throws std::invalid_argument on options out of range.
  explicit DataflowRun(DataflowOptions options);

  // Adds the next vertex, after all of its inputs. The last vertex must belong to the answer. Throws
  // std::invalid_argument.
  void add_vertex(FlowSpec spec);

  // Adds a stream of a source. Worker n mod the source's degree reads the source's stream n.
  std::int32_t add_stream(StreamView stream, std::int32_t vertex);

  // Returns the state of a vertex of degree 1 after the run; see FlowInstance::state.
  FlowSpec::KeyedState state(std::int32_t vertex) const;

  std::int64_t events() const noexcept override;

 private:
  struct Worker {
    std::vector<std::unique_ptr<FlowInstance>> instances;  // by vertex; null if this worker has no instance
    std::vector<std::unique_ptr<FlowReader>> links;  // readers of the vertices furthest from the streams come first
    std::vector<std::unique_ptr<FlowStreamReader>> streams;
    std::vector<FlowInstance*> roots;  // the instances that the readers above feed
  };

  const RunSettings& settings() const noexcept override { return options_; }
  void prepare() override;
  void work(std::int32_t index) override;
  std::vector<const OutputBuffer*> outputs() const override;
  void count(Counts& into) const override;
  std::vector<std::int32_t> readers_of(std::size_t stream) const override;

  void set_known_times();
  void connect(std::size_t vertex);
  std::shared_ptr<WordLayouts> layouts_for(std::size_t vertex);
  void exchange(std::size_t from, std::size_t to, const std::shared_ptr<KeyOwners>& owners,
                const std::shared_ptr<WordLayouts>& layouts);
  bool take_turn(Worker& worker);
  static bool finished(const Worker& worker);

  DataflowOptions options_;
  std::deque<FlowSpec> specs_;
  std::vector<std::int32_t> vertex_of_;  // by stream
  // By set of streams: the times at which an instance downstream of these streams knows each marker.
  std::map<std::set<std::int32_t>, std::vector<std::int64_t>> known_times_;
  std::vector<Worker> workers_;
  std::shared_ptr<OutputPool> pool_;
};

}  // namespace lab
