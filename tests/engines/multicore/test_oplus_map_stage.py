"""Operators O+ behind a map stage: the conformance suite, random inputs, what tuples carry."""

from dataclasses import replace

import pytest

from streamlab.engines.conformance import CASES, Setting, ordinary_input, run_case
from streamlab.engines.errors import EngineCrashError, UnsupportedError
from streamlab.engines.multicore.oplus import map_stage
from streamlab.engines.registry import engine
from streamlab.workloads.model import Query
from streamlab.workloads.registry import workload
from tests.engines.multicore.chains import QUERIES as CHAINS
from tests.engines.multicore.native_runs import check_native, option_error, run_native
from tests.workloads.suite.streams import generated

COUNTED = [("wordcount", {}), ("paircount", {"distance": 3})]


def run(query, data, **how):
    return run_native("sn-map", query, data, **{"ring_blocks": 16, "pin": False, **how})


@pytest.mark.some(1)
@pytest.mark.parametrize(("name", "query"), COUNTED)
def test_a_bag_is_counted_alike_by_all_forms_and_is_more_than_a_set(name, query):
    """Words come twice in a tweet now and then, and pairs of words."""
    short = {"wa_ms": 70, "ws_ms": 210, **query}
    data = generated(workload(name).bound(short), {"vocabulary": 30, "streams": 2}, 700, 3)
    totals = {}
    for counting in ("set", "bag"):
        subject = workload(name).bound(short | {"counting": counting})
        expected = subject.oracle(data)
        totals[counting] = int(expected["count"].sum())
        for instances, batch in ((1, 1), (2, 64), (4, 4096)):
            how = {"workers": instances, "batch": batch, "pin": False}
            for variant in ("vsn", "sn", "sn-map"):
                maps = {"map_instances": 3} if variant == "sn-map" else {}
                check_native(variant, subject, data, expected, **how, **maps)
    assert 0 < totals["set"] < totals["bag"]


@pytest.mark.parametrize(
    ("name", "variant"), [("multicore", "layers"), ("reference", "sequential")]
)
def test_other_engines_count_bags_too(name, variant, tmp_path):
    subject = workload("wordcount").bound({"counting": "bag"})
    setting = Setting(variant=variant, workers=1, batch=64)
    assert run_case(engine(name), subject, CASES[0], setting, tmp_path).problems == ()


def test_one_number_of_instances_gives_one_sequence_whatever_maps():
    subject = workload("wordcount")
    data = ordinary_input(subject)
    seen = set()
    for maps in (1, 2, 7):
        for batch in (1, 64):
            _, got = run(subject.program, data, workers=2, map_instances=maps, batch=batch)
            seen.add(b"".join(column.tobytes() for column in got.values()))
    assert len(seen) == 1


def test_map_instances_emit_a_tuple_for_each_key():
    subject = workload("wordcount")
    data = ordinary_input(subject)
    different = sum(len(set(words)) for s in data.streams for words in s.payload["words"].rows())
    every = sum(len(words) for s in data.streams for words in s.payload["words"].rows())
    measured, _ = run(subject.program, data, workers=2, map_instances=2)
    assert measured.counters["mapped_tuples"] == different
    assert measured.plan.startswith("map: 2 instances -> wordcount: 2 instances")
    (operator,) = subject.program.operators
    bag = Query(name="bag", operators=(replace(operator, bag=True),))
    assert run(bag, data, workers=2, map_instances=2)[0].counters["mapped_tuples"] == every


def helped(w, t, out):
    longest(w, t)


def longest(w, t):
    w[0].chars = max(w[0].chars, t.chars)


def in_a_loop(w, t, out):
    for _ in range(t.user):
        w[0].chars += t.chars


def around(w, t, out):
    def inner():
        return t.chars

    w[0].chars += inner()


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (workload("wordcount").program.operators[0].update, ()),
        (workload("longest_tweet_per_hashtag").program.operators[0].update, ("chars",)),
        (in_a_loop, ("user", "chars")),
        (helped, ("chars",)),
        (around, ("chars",)),
        (None, ("user", "chars")),
    ],
)
def test_a_mapped_tuple_has_its_key_and_the_fields_that_update_names(function, names):
    operator = workload("longest_tweet_per_hashtag").program.operators[0]
    stored = replace(operator, update=function, stores=function is None)
    assert map_stage.mapped_aggregate(stored).fields.names == ("mapped_key", *names)


def reads_words(w, t, out):
    w[0].count += len(t.words)


def test_queries_that_cannot_follow_a_map_stage_are_refused_with_the_remedy():
    words = workload("wordcount").program
    (operator,) = words.operators
    listed = map_stage.check_query(
        Query(name="q", operators=(replace(operator, update=reads_words),))
    )
    assert "f_U of operator wordcount reads the lists" in listed and "vsn or sn" in listed
    assert "is a join" in map_stage.check_query(workload("scale_join").program)
    chain = map_stage.check_query(next(iter(CHAINS.values())))
    assert "variant sn-map runs queries of one operator" in chain
    assert map_stage.check_query(words) is None
    data = ordinary_input(workload("wordcount"))
    for maps in (-1, 129):
        with pytest.raises(UnsupportedError, match="map_instances must be between 1 and 128"):
            run(words, data, map_instances=maps)
    for option in ("max_instances", "controller", "join_form"):
        assert f"has no option '{option}'" in option_error("sn-map", {option: 2})


def raises(t, out):
    out.add(t.words[1 << 20])


def test_keys_that_raise_in_a_map_instance_end_the_run_with_its_place():
    (operator,) = workload("wordcount").program.operators
    broken = Query(name="broken", operators=(replace(operator, keys=raises),))
    with pytest.raises(EngineCrashError, match="keys raised an exception"):
        run(broken, ordinary_input(workload("wordcount")), workers=2, map_instances=3)
