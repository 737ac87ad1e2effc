"""The README's plots match what tests/bench/plot.py draws from the committed figures."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench"))

import plot  # noqa: E402


@pytest.mark.parametrize("key", plot.PLOTS)
def test_a_plot_matches_the_committed_figures(key):
    drawn = (plot.FIGURES / f"{key}.svg").read_text(encoding="utf-8")
    assert drawn == plot.draw(key, *plot.figures()), "run tests/bench/plot.py to redraw it"
    assert f"tests/bench/figures/{key}.svg" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_plot_of_classes_matches_the_committed_figures():
    drawn = (plot.FIGURES / "classes.svg").read_text(encoding="utf-8")
    assert drawn == plot.draw_classes(plot.read("classes.json")), "run tests/bench/plot.py to redraw it"
    assert "tests/bench/figures/classes.svg" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_panel_has_a_curve_of_ours_at_every_size_and_of_the_reference():
    berth, reference = plot.figures()
    for ours, theirs in plot.PANELS:
        *kube, mine = plot.curves_of("pods_per_second", ours, theirs, berth, reference)
        assert [nodes for nodes, _ in mine[2]] == list(plot.MIXED if ours == "mixed" else plot.NODES), ours
        assert all(len(points) == 3 for _, _, points in kube), theirs
