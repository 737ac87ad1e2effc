#!/usr/bin/python3
"""Generated traces: what makes them, and that plugins and fast path decide small ones of every shape alike.

    tests/bench/test_generated.py PROGRAM      PROGRAM: berth_bench
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import generated

HERE = Path(__file__).resolve().parent
PROGRAM = sys.argv.pop() if __name__ == "__main__" else ""


def operations(name, seed=1):
    return [json.loads(line) for line in generated.lines(name, seed)]


def run(*arguments, program=None):
    command = [sys.executable, str(HERE / "workloads.py"), "--program", str(program or PROGRAM), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Generator(unittest.TestCase):
    def test_the_same_seed_gives_the_same_bytes_and_another_one_gives_others(self):
        for name in ("mixed-40", "edge-40", "images-40", "storm-40"):
            self.assertEqual(list(generated.lines(name, 3)), list(generated.lines(name, 3)), name)
            self.assertNotEqual(list(generated.lines(name, 3)), list(generated.lines(name, 4)), name)

    def test_every_shape_has_the_nodes_of_its_name_and_something_to_measure_and_ends_with_nothing_to_try(self):
        for shape in generated.SHAPES:
            ops = [each["op"] for each in operations(f"{shape}-30")]
            self.assertEqual((ops.count("node"), ops.count("measure"), ops[-1]), (30, 1, "drain"), shape)

    def test_a_mixed_fleet_has_pods_that_leave_and_nodes_that_change_while_it_is_measured(self):
        ops = operations("mixed-200")
        measured = [each["op"] for each in ops[ops.index(generated.MEASURE):]]
        pods = measured.count("pod")
        self.assertTrue(0.15 * pods < measured.count("delete") < 0.25 * pods)
        self.assertTrue(0.03 * pods < measured.count("upnode") < 0.07 * pods)

    def test_classes_come_in_turn(self):
        for count in generated.CLASS_COUNTS[:4]:
            for extra in ("", "spread", "affinity"):
                pods = [json.dumps(each["obj"]["spec"]) + each["obj"]["metadata"]["labels"]["app"]
                        for each in operations(f"classes{count}{extra}-40") if each["op"] == "pod"]
                self.assertEqual(len(set(pods)), count)
                self.assertEqual(pods[:count], pods[count:2 * count])

    def test_every_default_name_is_one(self):
        for name in generated.NAMES:
            generated.parse(name)


class Replay(unittest.TestCase):
    def test_plugins_and_fast_path_decide_small_traces_of_every_shape_alike(self):
        done = run("--generated", *(f"{shape}-{nodes}" for shape in generated.SHAPES for nodes in (12, 30)))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{2 * 2 * 2 * len(generated.SHAPES)} passed, 0 failed", done.stdout)

    def test_a_trace_that_the_paths_decide_differently_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program"
            program.write_text('#!/bin/sh\nfor each in 1 2; do echo "{\\"decisions\\": \\"$2\\", \\"pods\\": 1}"; done\n', encoding="utf-8")
            program.chmod(0o755)
            done = run("--generated", "unlike-12", program=program)
        self.assertEqual(done.returncode, 1)
        self.assertIn("decided differently", done.stderr)

    def test_bad_arguments_are_told_what_would_be_right(self):
        for arguments, said in ((["--generated", "mixt-100"], "mixt-100: no such shape; there are mixed, "),
                                (["--generated", "mixed"], "mixed: expected mixed-NODES with 10 to 100000 nodes"),
                                (["--generated", "mixed-9"], "10 to 100000 nodes"),
                                (["--generated", "mixed-12", "--nodes", "5"], "leave out --workload, --nodes"),
                                (["--seed", "2"], "--seed is that of --generated"),
                                (["--generated", "mixed-12", "--seed", "x"], "invalid int value: 'x'")):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
