"""The layout of drawings in the manner of a paper."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from streamlab.reports.figures.paper import Layout, Line, Panel, Point, draw


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
