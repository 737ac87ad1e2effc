#!/usr/bin/python3
"""Draws the README's plots from the committed figures: Berth and kube-scheduler by number of nodes, with logarithmic axes.

    tests/bench/plot.py                        draws figures/*.svg from figures/berth.json and figures/reference.json
    tests/bench/plot.py --measure [--seconds S]  first updates figures/berth.json with tests/bench/run

reference.json: kube-scheduler 1.35.4, run as a library with its default profile on a machine with two cores. By default it scores
fewer nodes in larger fleets ("adaptive"); Berth scores all of them, as kube-scheduler does for the dashed line.
"""

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "figures"
NODES = (100, 1000, 5000, 20000, 100000)
# Panels: our workload, and that of the reference. kube-scheduler does not cache by class: new and repeated ones cost the same.
PANELS = [("SchedulingBasic", "SchedulingBasic"), ("NodeAffinity", "NodeAffinity"), ("TopologySpreading", "TopologySpreading"),
          ("PodAntiAffinity", "PodAntiAffinity"), ("Preemption", "Preemption"), ("NewClasses", "SchedulingBasic")]
PLOTS = {"pods_per_second": "pods per second, scheduling cycle", "p99_us": "p99 of a decision, microseconds"}
# Readable on light and dark backgrounds.
BERTH, KUBE, TEXT, GRID = "#2f81f7", "#d9730d", "#7d8590", "#7d859040"
WIDTH, HEIGHT, COLUMNS, LEFT, TOP, GAP_X, GAP_Y = 210, 130, 3, 56, 66, 52, 56


def decades(values):
    return 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))


def logarithmic(low, high, length):
    return lambda value: (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low)) * length


def short(value):
    for unit, name in ((1_000_000, "M"), (1000, "k")):
        if value >= unit:
            return f"{value // unit:g}{name}"
    return f"{value:g}"


def text(x, y, label, anchor="middle", size=10, colour=TEXT):
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{label}</text>'


def line(points, colour, dashes=""):
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8"{dashes}/>']
    return parts + [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}"/>' for x, y in points]


def panel(left, top, title, curves, x_range, y_range):
    x_of, y_of = logarithmic(*x_range, WIDTH), logarithmic(*y_range, HEIGHT)
    parts = [text(left + WIDTH / 2, top - 8, title, size=12)]
    for value in NODES:
        x = left + x_of(value)
        parts.append(f'<path d="M{x:.1f} {top}v{HEIGHT}" stroke="{GRID}"/>')
        parts.append(text(round(x, 1), top + HEIGHT + 14, short(value)))
    value = y_range[0]
    while value <= y_range[1]:
        y = top + HEIGHT - y_of(value)
        parts.append(f'<path d="M{left} {y:.1f}h{WIDTH}" stroke="{GRID}"/>')
        parts.append(text(left - 6, round(y + 3.5, 1), short(value), anchor="end"))
        value *= 10
    for colour, dashes, points in curves:
        parts += line([(left + x_of(x), top + HEIGHT - y_of(y)) for x, y in points], colour, dashes)
    return parts


def curves_of(key, ours, theirs, berth, reference):
    """(colour, dashes, [(nodes, value)]) of one panel."""
    mine = [(row["nodes"], row[key]) for row in berth if (row["workload"], row["path"], row["scope"]) == (ours, "fast", "cycle")]
    curves = []
    for scored, dashes in (("adaptive", ""), ("all", ' stroke-dasharray="3 3"')):
        # In fleets of 100 nodes the adaptive number is all of them.
        rows = [row for row in reference if (row["workload"], row["scope"], row["gomaxprocs"]) == (theirs, "cycle", 2)
                and (row["nodes_scored"] == scored or row["nodes"] == 100)]
        curves.append((KUBE, dashes, sorted((row["nodes"], row[key]) for row in rows)))
    return [*curves, (BERTH, "", sorted(mine))]


def draw(key, berth, reference):
    """Returns the SVG as text."""
    all_curves = [curves_of(key, ours, theirs, berth, reference) for ours, theirs in PANELS]
    y_range = decades([value for curves in all_curves for _, _, points in curves for _, value in points])
    rows = math.ceil(len(PANELS) / COLUMNS)
    width, height = LEFT + COLUMNS * (WIDTH + GAP_X) - GAP_X + 16, TOP + rows * (HEIGHT + GAP_Y) - 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             'font-family="sans-serif">', text(LEFT, 20, f"{PLOTS[key]}, by number of nodes", anchor="start", size=14)]
    legend = [(BERTH, "", "Berth, all nodes"), (KUBE, "", "kube-scheduler 1.35, adaptive"),
              (KUBE, ' stroke-dasharray="3 3"', "kube-scheduler 1.35, all nodes")]
    for number, (colour, dashes, label) in enumerate(legend):
        x = LEFT + number * 230
        parts += [f'<path d="M{x} 36h22" stroke="{colour}" stroke-width="1.8"{dashes}/>', text(x + 28, 40, label, anchor="start", size=11)]
    for number, ((ours, _), curves) in enumerate(zip(PANELS, all_curves)):
        left, top = LEFT + number % COLUMNS * (WIDTH + GAP_X), TOP + number // COLUMNS * (HEIGHT + GAP_Y)
        parts += panel(left, top, ours, curves, (NODES[0], NODES[-1]), y_range)
    return "\n".join([*parts, "</svg>"]) + "\n"


def figures():
    return [json.loads((FIGURES / name).read_text(encoding="utf-8")) for name in ("berth.json", "reference.json")]


def main():
    parser = argparse.ArgumentParser(description="Draws the plots of the README.")
    parser.add_argument("--measure", action="store_true", help="update figures/berth.json first")
    parser.add_argument("--seconds", default="4", help="time limit per workload and size")
    given = parser.parse_args()
    if given.measure:
        command = [HERE / "run", "--growth", "--seconds", given.seconds, "--json", FIGURES / "berth.json"]
        for ours, _ in PANELS:
            command += ["--workload", ours]
        if subprocess.run(command, check=False).returncode:
            return 1
    for key in PLOTS:
        (FIGURES / f"{key}.svg").write_text(draw(key, *figures()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
