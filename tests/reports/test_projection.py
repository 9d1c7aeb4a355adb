"""The drawing of predicted rates."""

import math

from matplotlib.backends.backend_agg import FigureCanvasAgg

from reports.figures.projection import Curve, Dot, projection_panel


def test_the_legend_covers_no_rate_wherever_it_is():
    axes = projection_panel(
        title="page_view_join: predicted, not measured",
        unit="cores",
        predicted=Curve(label="predicted", points=((1, 6e7), (2, 3e7), (4, 5e6))),
        measured=[Dot(at=1, rates_eps=(2.2e8,)), Dot(at=2, rates_eps=(9e6,))],
        worst_error=2.63,
    )
    canvas = FigureCanvasAgg(axes.figure)
    canvas.draw()
    legend = axes.get_legend().get_window_extent()
    assert legend.y0 >= axes.patch.get_window_extent().y1 - 1, "a pixel"
    below = [text.get_window_extent().y0 for text in axes.figure.texts]
    assert legend.y1 <= min(below), "the title is above it"


def test_without_measurements_there_is_no_error_to_name():
    axes = projection_panel(
        title="predicted",
        unit="nodes",
        predicted=Curve(label="predicted", points=((1, 6e7), (64, 3e8))),
        measured=(),
        worst_error=math.nan,
    )
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["predicted"]
