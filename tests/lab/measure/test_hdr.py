"""Latency histograms in files of HdrHistogram."""

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from streamlab.engines.protocol import Histogram
from streamlab.lab.measure.hdr import HIGHEST_NS, LATENCY, SEND_LAG, read_log, write_log
from streamlab.lab.measure.latency import percentiles


def histogram(samples, definition="from due time to output"):
    values, counts = np.unique(np.asarray(samples, dtype=np.int64), return_counts=True)
    return Histogram(values_ns=values, counts=counts.astype(np.int64), definition=definition)


SKEWED = np.random.default_rng(5).lognormal(12, 2, 200_000).astype(np.int64)


def test_percentiles_agree_to_three_digits_after_a_round_trip(tmp_path):
    before = histogram(SKEWED)
    write_log({LATENCY: before}, 60.0, tmp_path / "t.hlog")
    after = read_log((tmp_path / "t.hlog").read_bytes())[LATENCY]
    a, b = percentiles(before), percentiles(after)
    assert b.count == a.count == 200_000
    for name in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"):
        assert getattr(b, name) == pytest.approx(getattr(a, name), rel=1e-3)


def test_every_histogram_comes_back_under_its_tag_with_its_definition(tmp_path):
    written = {LATENCY: histogram([5, 5, 1_000_003]), SEND_LAG: histogram([0, 7], "due: sent, us")}
    write_log(written, 1.0, tmp_path / "new" / "t.hlog")
    read = read_log((tmp_path / "new" / "t.hlog").read_bytes())
    assert list(read) == [LATENCY, SEND_LAG]
    assert read[SEND_LAG].definition == "due: sent, us"
    assert read[SEND_LAG].values_ns.tolist() == [0, 7]
    assert read[LATENCY].counts.tolist() == [2, 1]
    assert read[LATENCY].values_ns[-1] == pytest.approx(1_000_003, rel=1e-3)


def test_the_packages_own_log_reader_reads_the_file(tmp_path):
    write_log({LATENCY: histogram(SKEWED)}, 60.0, tmp_path / "t.hlog")
    reader = HistogramLogReader(str(tmp_path / "t.hlog"), HdrHistogram(1, HIGHEST_NS, 3))
    try:
        found = reader.get_next_interval_histogram()
        assert found.get_tag() == LATENCY
        assert found.get_total_count() == 200_000
        expected = percentiles(histogram(SKEWED)).p99_ns
        assert found.get_value_at_percentile(99) == pytest.approx(expected, rel=1e-3)
        assert found.get_end_time_stamp() == 60_000
        assert reader.get_next_interval_histogram() is None
    finally:
        reader.close()


def test_empty_histogram_stays_empty(tmp_path):
    write_log({LATENCY: histogram([])}, 1.0, tmp_path / "t.hlog")
    read = read_log((tmp_path / "t.hlog").read_bytes())[LATENCY]
    assert percentiles(read).count == 0


def test_value_above_one_hour_counts_as_one_hour(tmp_path):
    write_log({LATENCY: histogram([2 * HIGHEST_NS])}, 1.0, tmp_path / "t.hlog")
    read = read_log((tmp_path / "t.hlog").read_bytes())[LATENCY]
    assert read.counts.tolist() == [1]
    assert read.values_ns[0] == pytest.approx(HIGHEST_NS, rel=1e-3)
