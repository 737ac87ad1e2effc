"""The device kit (tests/device-kit) passes the agents that keep the protocol, and fails one that does not."""

import os
import re
import subprocess
import sys

from programs import ROOT, program_path

KIT = ROOT / "tests" / "device-kit" / "run"
EXAMPLE = [ROOT / "firmware-host" / "examples" / "agent.py", "--broker", "{broker}", "--fleet", "{fleet}", "--node", "{node}",
           "--state-dir", "{state}"]


def play(*arguments, patience=None):
    """The kit's exit code and output. patience: for what fails by not answering, a share of the usual deadlines."""
    environment = {**os.environ, **({"BERTH_TEST_PATIENCE": str(patience)} if patience else {})}
    done = subprocess.run([sys.executable, KIT, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False,
                          env=environment)
    return done.returncode, done.stdout + done.stderr


def test_berth_agent_keeps_the_protocol():
    command = [program_path("berth-agent"), "--broker", "{broker}", "--fleet", "{fleet}", "--node", "{node}", "--state-dir",
               "{state}", "--capacity", "cpu=2", "--capacity", "memory=512Mi", "--capacity", "pods=20", "--container-runtime", "none", "--bwrap", "none"]
    code, output = play("--processes", "--", *command)
    assert code == 0 and re.search(r"^6\d passed, 0 failed$", output, re.M), output


def test_the_example_in_python_keeps_the_protocol():
    code, output = play("--", *EXAMPLE)
    assert code == 0 and re.search(r"^6\d passed, 0 failed$", output, re.M), output


def broken(tmp_path, right, wrong):
    """The example with one line changed."""
    text = EXAMPLE[0].read_text(encoding="utf-8")
    assert text.count(right) == 1, right
    path = tmp_path / "broken.py"
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    return [sys.executable, path, *EXAMPLE[1:]]


def test_a_device_that_takes_what_it_does_not_list_among_its_features_fails(tmp_path):
    command = broken(tmp_path, 'asked.append(f"spec.containers[{number}].env from elsewhere")', "pass")
    code, output = play("-k", "asks for a feature", "--", *command)
    assert code == 1 and "secrets is not listed" in output, output


def test_a_device_that_answers_before_it_has_saved_fails_the_crash_checks(tmp_path):
    command = broken(tmp_path, "            os.replace(fresh, self.path)\n", "            pass\n")
    code, output = play("-k", "survives a crash", "--", *command, patience=0.1)
    assert code == 1 and "0 passed" in output, output


def test_a_device_that_makes_each_page_from_the_slots_of_now_fails_the_list_checks(tmp_path):
    command = broken(tmp_path, "if self.listing[0] != key or page >= len(self.listing[1]):", "if page == page:")
    code, output = play("-k", "slots of a listing are frozen", "--", *command)
    assert code == 1 and "no slot joins, moves to another page, or is missed" in output, output


def test_a_device_that_forgets_hi_fails_what_final_answers_promise(tmp_path):
    command = broken(tmp_path, '            self.state["high"][uid] = max(', '            _ = max(')
    code, output = play("-k", "never seen", "--", *command)
    assert code == 1 and "FAILED n4 release of what was never seen is final" in output, output
