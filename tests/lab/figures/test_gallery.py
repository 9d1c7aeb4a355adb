"""The gallery has a card for every figure, made or not."""

from pathlib import Path

from streamlab.lab.figures.gallery import write_page
from streamlab.lab.figures.options import Options
from streamlab.lab.figures.registry import figures, find
from streamlab.lab.figures.stored_figures import write_failure
from tests.lab.figures import toy

GALLERY = Path(__file__).parents[3] / "docs" / "gallery"
MAX_BYTES = 4_000_000


def test_a_figure_without_a_record_shows_its_command_and_why(tmp_path):
    options = Options(cores=2, quick=True, scale=0.5)
    write_failure(toy.FIGURES[0], options, "failed: <no> engine", tmp_path)
    page = "\n".join(write_page((toy.FIGURES[0], toy.FIGURES[1]), tmp_path))
    assert "<code>lab figure toy:1 --quick --scale 0.5</code>" in page
    assert "failed: &lt;no&gt; engine" in page
    assert "<code>lab figure toy:2 --quick</code>" in page


def test_the_repositorys_gallery_has_a_card_for_every_figure():
    page = "\n".join(write_page(figures(), GALLERY))
    assert page.count('<div class="figure-card">') == len(figures())
    assert all(f"{{ #{figure.slug} }}" in page for figure in figures())


def test_a_card_says_which_side_is_absent():
    page = "\n".join(write_page((find("flumina:A1"),), GALLERY))
    assert "DGS against handcrafted outlier detection (absent)</dd>" in page


def test_the_repositorys_gallery_is_small_and_complete():
    slugs = {figure.slug for figure in figures()}
    files = list(GALLERY.iterdir())
    assert sum(path.stat().st_size for path in files) < MAX_BYTES
    for path in files:
        slug, _, kind = path.name.partition(".")
        assert slug in slugs
        assert kind in ("svg", "csv", "json", "failure.json")
        if kind == "json":
            assert {f"{slug}.svg", f"{slug}.csv"} <= {other.name for other in files}
