"""The table `load` of a matrix."""

import tomllib

import pytest

from streamlab.engines.protocol import FULL
from streamlab.lab.errors import MatrixError
from streamlab.lab.load.spec import ARRIVALS, REPLAY
from streamlab.lab.matrix.load_table import LoadEntry, SearchSettings, parse_loads


def parsed(text):
    return parse_loads(tomllib.loads(text).get("load"), "m.toml")


def one(text):
    (entry,) = parsed("[load]\n" + text)
    return entry


def labels(text):
    return [label for label, _ in one(text).offers]


def test_a_matrix_without_loads_is_catch_up():
    assert parsed("") == (LoadEntry(),)
    assert one("") == one('mode = "catch-up"') == LoadEntry()
    assert LoadEntry().offers == ((None, None),)


def test_a_rate_alone_is_an_open_load_of_constant_arrivals():
    ((label, spec),) = one("rate_eps = 1_000_000").offers
    assert label == "constant-1M"
    assert (spec.arrival, spec.rate_eps, spec.warm_up_s, spec.window_s) == ("constant", 1e6, 10, 60)


def test_every_key_of_a_load_is_in_its_specification():
    ((_, spec),) = one(
        'mode = "open"\narrival = "bursts"\nrate_eps = 5\nwarm_up_s = 0\nwindow_s = 2\n'
        'seed = 0\nbatching = "full"\nheartbeat_ms = 0.5\nobjective = "p99.9 <= 2.5us"\n'
        "on_s = 1\noff_s = 0\nsend_lag_ms = 5"
    ).offers
    assert spec.send_lag_ms == 5.0
    assert (spec.warm_up_s, spec.window_s, spec.seed) == (0.0, 2.0, 0)
    assert (spec.batching, spec.heartbeat_ms, spec.objective) == (FULL, 0.5, "p99.9 <= 2.5us")
    assert spec.params == {"on_s": 1.0, "off_s": 0.0}


@pytest.mark.parametrize("arrival", ARRIVALS)
def test_specifications_carry_every_parameter_of_their_arrivals(arrival):
    rate = "" if arrival == REPLAY else "rate_eps = 1"
    ((_, spec),) = one(f'arrival = "{arrival}"\n{rate}').offers
    assert spec.params == ARRIVALS[arrival]


def test_every_rate_of_a_list_is_a_load_with_a_label_of_its_own():
    rates = "rate_eps = [250_000, 1_500_000, 2e9, 999.5, 1234567]"
    assert labels('arrival = "poisson"\n' + rates) == [
        "poisson-250k",
        "poisson-1.5M",
        "poisson-2G",
        "poisson-999.5",
        "poisson-1.234567M",
    ]
    assert labels('label = "day"\nrate_eps = [1_000, 2_000]') == ["day-1k", "day-2k"]
    assert labels('label = "day"\nrate_eps = 1_000') == ["day"]


def test_a_parameter_of_another_arrival_process_is_out_of_place():
    with pytest.raises(MatrixError, match=r"key factor \(= 2\) is out of place .* \"step\""):
        one("rate_eps = 5\nfactor = 2")


def test_a_replay_has_a_speed_and_no_rate():
    ((label, spec),) = one('arrival = "replay"\nspeed_up = 10').offers
    assert label == "replay-x10"
    assert spec.rate_eps is None
    assert spec.params == {"speed_up": 10.0, "tick_ns": 1e6}


def test_a_search_has_its_settings_and_one_load_without_a_rate():
    entry = one('search = "sustainable"\narrival = "poisson"\nvotes = 5\nlevels = [0.5]')
    assert entry.search == SearchSettings(votes=5, levels=(0.5,))
    ((label, spec),) = entry.offers
    assert (label, spec.arrival, spec.rate_eps) == ("sustainable", "poisson", None)


def test_several_tables_are_several_entries():
    entries = parsed(
        '[[load]]\nmode = "catch-up"\nengines = ["fake"]\n[[load]]\nrate_eps = 5\n'
        'workloads = ["event_*"]'
    )
    assert [label for entry in entries for label, _ in entry.offers] == [None, "constant-5"]
    assert entries[0].engines == ("fake",)
    assert entries[1].workloads == ("event_*",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate_eps = 0", r"\[load\], key rate_eps is 0; expected events/s: a number above 0 and"),
        ("rate_eps = []", r"key rate_eps is \[\]"),
        ("rate_eps = [1, 1.0]", r"key rate_eps is \[1, 1\.0\]; expected .* different"),
        ("rate_eps = true", "key rate_eps is True"),
        ("window_s = 5", "key rate_eps is missing"),
        ('arrival = "uniform"', "key arrival is 'uniform'; expected one of constant, poisson"),
        ("rate_eps = 5\nrate = 6", r"key rate \(= 6\) is unknown; expected one of search, mode"),
        ("rate_esp = 1000", r"\[load\], key rate_esp \(= 1000\) is unknown; .* rate_eps, "),
        (f"rate_eps = 1{'0' * 400}", r"key rate_eps is 10+\.\.\.0+; expected events/s"),
        ("rate_eps = 5\nwindow_s = inf", "key window_s is inf; expected a finite number above 0"),
        ("rate_eps = 5\nwarm_up_s = nan", "key warm_up_s is nan; expected a finite number of"),
        (f"rate_eps = 5\nseed = {2**63}", r"key seed is 9\d+8; expected .* to 9223372036854775807"),
        ('mode = "closed"', 'key mode is \'closed\'; expected "catch-up" or "open"'),
        ('mode = "catch-up"\nrate_eps = 5', r"key rate_eps \(= 5\) is out of place .* \"open\""),
        ('mode = "catch-up"\nsearch = "sustainable"', "key search is 'sustainable' with mode"),
        ('search = "fast"', "key search is 'fast'; expected \"sustainable\""),
        ('search = "sustainable"\nrate_eps = 5', "key rate_eps .* a search finds it"),
        (
            'search = "sustainable"\narrival = "replay"',
            "key arrival is 'replay'; expected an arrival",
        ),
        (
            "rate_eps = 5\nvotes = 3",
            r'key votes \(= 3\) is out of place here; expected search = "s',
        ),
        ("rate_eps = 5\non_s = 3", r'key on_s \(= 3\) is out of place here; expected arrival = "b'),
        ('arrival = "replay"\nrate_eps = 5', "key rate_eps .* replay has the recorded one"),
        (
            "rate_eps = 5\nwarm_up_s = -1",
            "key warm_up_s is -1; expected a finite number of at least 0",
        ),
        ("rate_eps = 5\nwindow_s = 0", "key window_s is 0; expected a finite number above 0"),
        ("rate_eps = 5\nheartbeat_ms = 1e-3", r"heartbeat_ms is 0\.001; expected .* least 0\.01"),
        (
            "rate_eps = 5\nheartbeats_per_barrier = 0",
            "key heartbeats_per_barrier is 0; expected a finite number above 0",
        ),
        (
            "rate_eps = 5\nheartbeats_per_barrier = 10\nheartbeat_ms = 1",
            r"key heartbeat_ms \(= 1\) is out of place here; expected either heartbeat_ms or",
        ),
        ('rate_eps = 5\nbatching = "some"', "key batching is 'some'; expected one of adaptive, fu"),
        (
            'rate_eps = 5\nobjective = "p99 < 1ms"',
            "key objective is 'p99 < 1ms'; expected `<one of",
        ),
        ("rate_eps = 5\nsend_lag_ms = 0", "key send_lag_ms is 0; expected a finite number above"),
        ('rate_eps = 5\nlabel = "a/b"', "key label is 'a/b'; expected letters"),
        ('rate_eps = 5\nengines = "fake"', "key engines is 'fake'; expected a list of"),
        ('search = "sustainable"\nvotes = 2', "key votes is 2; expected an odd whole number"),
        ("rate_eps = 1e16", r"key rate_eps is 1e\+16; expected .* at most 1e\+15"),
        ("rate_eps = 1\nwindow_s = 1e9", "key window_s is 1000000000.0; expected .* most 1e.07"),
        ('search = "sustainable"\nvotes = 1000001', "key votes is 1000001; expected .* up to 999"),
        ('search = "sustainable"\nconfirmations = 1000', "is 1000; expected .* at most 999"),
        ('search = "sustainable"\ntolerance = 0', "key tolerance is 0; expected a share above 0"),
        ('search = "sustainable"\nlevels = [2]', r"key levels is \[2\]; expected .* shares"),
        ('search = "sustainable"\nmax_eps = 10', "key max_eps is 10; expected .* least 10000"),
    ],
)
def test_a_bad_load_is_refused_with_place_value_and_remedy(text, message):
    with pytest.raises(MatrixError, match=r"m\.toml: .*" + message):
        one(text)


def test_of_several_tables_the_bad_one_is_named():
    with pytest.raises(MatrixError, match=r"m\.toml: \[\[load\]\] 2, key rate_eps is 'many'"):
        parsed('[[load]]\nrate_eps = 5\n[[load]]\nrate_eps = "many"')


def test_a_load_that_is_no_table_is_refused():
    with pytest.raises(MatrixError, match="top level, key load is 5; expected a"):
        parsed("load = 5")
    with pytest.raises(MatrixError, match=r"\[\[load\]\] 1 must be a table, got 5"):
        parsed("load = [5]")
