"""A matrix with every key."""

import tomllib

TEXT = """
[run]
name = "night"
repetitions = 3
timeout_s = 120
seed = 1
energy = "none"
idle_s = 0
cores_within_ns = 100
isolate = "container"
container = { image = "stream-lab", memory = "2g", cpus = "0-1" }
planted_slowdown = 0.1

[[workload]]
name = "page_view_join"
events = 1000
params = { streams = 2, skew = 1.0 }
seed = 2
label = "small"

[[workload]]
name = "scale_join"
dataset = "3f2a9c"
query = { ws_ms = 60000 }
label = "x"

[[engine]]
name = "fake"
variants = ["correct"]
workers = [1, 2]
batch = [4096]
options = { capacity_eps = 5, plan = "a plan" }
workloads = ["page_*", "scale_*"]
repetitions = 1
timeout_s = 600
label = "pinned"

[[load]]
mode = "open"
arrival = "phases"
rate_eps = [100_000, 1e6]
warm_up_s = 10
window_s = 60
seed = 1
batching = "adaptive"
heartbeat_ms = 1
objective = "p99 <= 10ms"
send_lag_ms = 1
label = "day"
engines = ["fake"]
workloads = ["page_*"]
min_s = 0.5
max_s = 2.0
min_factor = 0.5
max_factor = 1.5
scale = 0.1

[[load]]
search = "sustainable"
start_eps = 10_000
heartbeats_per_barrier = 100
tolerance = 0.02
votes = 3
confirmations = 5
levels = [0.1, 0.5]
level_repetitions = 1
max_eps = 1e8
"""
WHOLE = tomllib.loads(TEXT)
