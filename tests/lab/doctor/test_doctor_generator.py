"""`lab doctor --generator`: what sources can do, measured in processes of their own."""

import json

from click.testing import CliRunner

from streamlab.engines.fake.adapter import FakeEngine
from streamlab.engines.protocol import Variant
from streamlab.engines.registry import engine, names
from streamlab.lab.cli.programs import doctor
from streamlab.lab.doctor import generator
from streamlab.lab.doctor.generator import BATCHES, SourceCeiling, ceilings


def test_a_real_source_is_measured_once_a_batch_for_all_its_variants_and_half_can_be_claimed():
    found = list(ceilings(("multicore",)))
    variants = tuple(variant.name for variant in engine("multicore").variants())
    assert {"dgs", "vsn", "sn"} < set(variants)
    assert [(row.variants, row.batch) for row in found] == [(variants, batch) for batch in BATCHES]
    for row in found:
        assert row.reason is None
        assert not row.virtual
        assert row.ceiling_eps > 1e5
        assert row.claimable_eps == row.ceiling_eps / 2


def test_a_virtual_source_has_no_ceiling():
    (row,) = ceilings(("reference",))
    assert row == SourceCeiling(
        engine="reference", variants=("sequential",), batch=None, virtual=True
    )


def test_the_command_prints_one_line_a_source():
    result = CliRunner().invoke(doctor, ["--generator", "--engine", "reference"])
    header, line = result.output.splitlines()
    assert "can be claimed" in header
    assert line.split()[:2] == ["reference/sequential", "-"]
    assert line.endswith("virtual source: no ceiling")


def test_the_command_gives_the_same_as_json():
    arguments = ["--generator", "--json", "--engine", "spark"]
    (row,) = json.loads(CliRunner().invoke(doctor, arguments).output)
    assert (row["engine"], row["variants"], row["batch"]) == ("spark", ["streaming"], None)
    assert row["claimable_eps"] == row["ceiling_eps"] / 2


def test_rates_are_shown_with_their_unit(monkeypatch):
    rows = [
        SourceCeiling(
            engine="multicore",
            variants=("dgs", "vsn"),
            batch=64,
            ceiling_eps=4e7,
            claimable_eps=2e7,
        ),
        SourceCeiling(engine="broken", variants=("x",), batch=1, reason="no Java"),
    ]
    monkeypatch.setattr("streamlab.lab.cli.commands.doctor.ceilings", lambda only: rows)
    lines = CliRunner().invoke(doctor, ["--generator"]).output.splitlines()
    assert lines[1].split() == ["multicore/dgs,vsn", "64", "40.0", "M/s", "20.0", "M/s"]
    assert lines[2].endswith("unknown: no Java")


def test_an_engine_that_is_not_installed_is_named_with_the_reason():
    (row,) = ceilings(("nosuch",))
    assert row.ceiling_eps is None
    assert "nosuch" in row.reason


def test_an_engine_is_named_with_generator_only():
    result = CliRunner().invoke(doctor, ["--engine", "spark"])
    assert result.exit_code == 2
    assert "--generator" in result.output


def test_every_variant_that_takes_a_load_is_measured(monkeypatch):
    seen = []

    def note(name, variants, batch):
        seen.extend((name, variant, batch) for variant in variants)
        return SourceCeiling(engine=name, variants=variants, batch=batch)

    monkeypatch.setattr(generator, "_measure", note)
    list(ceilings())
    expected = [
        (name, variant.name)
        for name in names()
        for variant in engine(name).variants()
        if variant.takes_load
    ]
    assert list(dict.fromkeys((name, variant) for name, variant, _ in seen)) == expected
    assert len(seen) == len(set(seen))


def test_variants_share_a_line_only_where_the_engine_says_that_they_share_a_source(monkeypatch):
    class Two(FakeEngine):
        def variants(self):
            return (
                Variant(name="a", summary="", takes_load=True, source="one"),
                Variant(name="b", summary="", takes_load=True),
                Variant(name="c", summary="", takes_load=True, source="one"),
                Variant(name="d", summary="", source="one"),
            )

    monkeypatch.setattr(generator, "engine", lambda name: Two())
    monkeypatch.setattr(
        generator,
        "_measure",
        lambda name, variants, batch: SourceCeiling(engine=name, variants=variants, batch=batch),
    )
    assert [row.variants for row in ceilings(("two",))] == [("a", "c"), ("b",)]
