"""The layout of drawings: titles, legends and labels."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg

from streamlab.lab.figures.timeline import MAX_BINS, bin_means
from streamlab.reports.figures.labels import spread
from streamlab.reports.figures.paper import Layout, Line, Panel, Point, draw, subtitle
from streamlab.reports.figures.shared_axes import share_axes

POSITIONS = st.lists(st.floats(0, 1, allow_nan=False), max_size=25)


@given(POSITIONS)
def test_labels_never_overlap_stay_in_range_and_keep_their_order(wanted):
    gap = 0.03
    placed = spread(wanted, gap=gap, low=0.0, high=1.0)
    ordered = sorted(placed)
    assert all(-1e-9 <= position <= 1 + 1e-9 for position in placed)
    assert all(b - a >= gap - 1e-9 for a, b in itertools.pairwise(ordered))
    by_wish = [placed[i] for i in sorted(range(len(wanted)), key=lambda i: wanted[i])]
    assert by_wish == ordered


def test_labels_that_have_room_do_not_move():
    wanted = [0.9, 0.1, 0.5]
    assert spread(wanted, gap=0.1, low=0.0, high=1.0) == pytest.approx(wanted)


def test_two_labels_at_one_place_part_evenly():
    first, second = spread([0.5, 0.5], gap=0.2, low=0.0, high=1.0)
    assert (round(first, 9), round(second, 9)) == (0.4, 0.6)


def test_too_many_labels_share_the_range_evenly():
    placed = spread([0.5] * 5, gap=0.5, low=0.0, high=1.0)
    assert placed == [0.0, 0.25, 0.5, 0.75, 1.0]


def panel() -> Panel:
    points = [Point(1.0, 2.0, 2.0, 2.0), Point(2.0, 3.0, 3.0, 3.0)]
    return Panel(title="p", y_label="y", x_label="x", lines=[Line(name="typed", points=points)])


@pytest.mark.parametrize("panels", [1, 3])
@pytest.mark.parametrize(
    "title", ["Figure 6", "Data-Trace Types, figure 6: prediction of power usage"]
)
def test_a_title_and_the_legend_begin_at_one_margin_and_end_within_the_drawing(title, panels):
    figure = draw(Layout(title=title, rows=[[panel()] * panels], notes=["a note"]))
    FigureCanvasAgg(figure).draw()
    width = figure.get_size_inches()[0] * figure.dpi
    heading, note = (text.get_window_extent() for text in figure.texts)
    assert heading.x1 < width
    words = figure.legends[0].get_title().get_window_extent()
    assert abs(words.x0 - heading.x0) < 0.03 * figure.dpi
    assert abs(note.x0 - heading.x0) < 0.03 * figure.dpi


@pytest.mark.parametrize("count", [1, 40, 110])
def test_a_subtitle_ends_within_the_drawing(count):
    figure = draw(Layout(title="Figure 6", rows=[[panel()]]))
    subtitle(figure, "m" + " mean" * (count // 5))
    FigureCanvasAgg(figure).draw()
    width = figure.get_size_inches()[0] * figure.dpi
    assert figure.texts[-1].get_window_extent().x1 < width


def test_labels_of_workers_do_not_touch_each_other():
    points = [Point(float(2**n), 2.0, 2.0, 2.0) for n in range(6)]
    panel = Panel(title="p", y_label="y", x_label="workers", lines=[Line(name="x", points=points)])
    panel = replace(panel, ticks=[1, 2, 4, 8, 16, 32])
    figure = draw(Layout(title="Figure", rows=[[panel] * 3], notes=[]))
    FigureCanvasAgg(figure).draw()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert len(boxes) > 2
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_a_box_is_next_to_the_axes_and_leaves_their_range():
    points = [Point(x, x + 1.0, x + 1.0, x + 1.0) for x in range(10)]
    panels = [
        Panel(title="p", y_label="y", lines=[Line(name="late", points=points)], boxed=boxed)
        for boxed in ((), [p.mid for p in points])
    ]
    plain, boxed = (draw(Layout(title="t", rows=[[panel]])).axes[0] for panel in panels)
    assert boxed.get_xlim() == plain.get_xlim()
    (box,) = [line for line in boxed.lines if len(line.get_xdata()) == 5]
    assert min(box.get_xdata()) > boxed.get_xlim()[1]
    assert set(box.get_ydata()) == {3.25, 7.75}  # the quartiles of 1 to 10


def test_a_time_without_samples_is_a_gap_and_a_sample_between_gaps_is_a_dot():
    nan = float("nan")
    values = np.array([nan, 1.0, 2.0, nan, 3.0, nan, nan, 4.0, 5.0, nan])
    bins = bin_means(np.arange(10) / 10, values)
    assert [t for t, _ in bins] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    assert np.isnan([bins[n][1] for n in (2, 4, 5)]).all()
    line = Line(name="late", points=[Point(t, v, v, v) for t, v in bins], style="plain")
    axes = draw(Layout(title="t", rows=[[Panel(title="p", y_label="y", lines=[line])]])).axes[0]
    curve, dots = axes.lines
    assert np.isnan(curve.get_ydata()).sum() == 3
    assert list(dots.get_ydata()) == [3.0]
    assert axes.get_ylim()[1] == pytest.approx(5.0 * 1.22)


def test_bins_of_a_long_series_are_means_and_last_values():
    t_s, values = np.arange(2 * MAX_BINS) / 10, np.arange(2.0 * MAX_BINS)
    assert bin_means(t_s, values)[1] == (0.2, 2.5)
    assert bin_means(t_s, values, last=True)[1] == (0.2, 3.0)
    assert bin_means(t_s, np.full(2 * MAX_BINS, np.nan)) == []


def test_panels_over_time_share_their_time_axis_and_the_range_of_each_quantity():
    def column(begin, high):
        return [
            Panel(
                title="p", y_label=label, x_label=x_label, lines=[Line(name=label, points=points)]
            )
            for label, x_label, points in (
                ("rate", "", [Point(0.0, 1.0, 1.0, 1.0), Point(9.0, high, high, high)]),
                ("latency", "seconds", [Point(begin, 5.0, 5.0, 5.0), Point(7.0, 6.0, 6.0, 6.0)]),
            )
        ]

    rows = [list(row) for row in zip(column(4.0, 10.0), column(5.0, 20.0), strict=True)]
    axes = draw(Layout(title="t", rows=share_axes(rows))).axes
    assert len({one.get_xlim() for one in axes}) == 1
    low, high = axes[0].get_xlim()
    assert low < 0.0 and high > 9.0
    assert axes[0].get_ylim() == axes[1].get_ylim() and axes[0].get_ylim()[1] > 20


def test_panels_with_ticks_or_labels_of_their_own_keep_their_axes():
    assert share_axes([[panel()], [panel()]]) == [[panel()], [panel()]]
    ticked = [[replace(panel(), x_label="", ticks=[1])], [replace(panel(), ticks=[1])]]
    assert share_axes(ticked) == ticked
