"""Runs every suite that CTest knows and counts single tests.

usage: run_suites.py BUILD_FOLDER LOG_FILE

A suite is a lit run or a GoogleTest program; both can report what they ran as
JSON. A suite that reports nothing counts as one test, by its exit status. Each
suite prints one line, a failing one its output too. The last line is
"N passed, N failed[, N skipped]", and the exit status says the same.
"""

import json
import os
import subprocess
import sys
import tempfile
import time


def suites(build):
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                          check=True, capture_output=True, text=True).stdout
    for test in json.loads(text)["tests"]:
        if "command" not in test:  # not built
            yield test["name"], None, {}
            continue
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        environment = dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []))
        yield test["name"], test["command"], environment


def count_lit(report):
    passed = failed = skipped = 0
    for test in report["tests"]:
        code = test["code"]
        if code in ("PASS", "XFAIL", "FLAKYPASS"):
            passed += 1
        elif code in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            skipped += 1
        else:
            failed += 1
    return passed, failed, skipped


def count_gtest(report):
    failed = report["failures"] + report.get("errors", 0)
    skipped = report.get("disabled", 0)
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            skipped += test.get("result") == "SKIPPED"
    return report["tests"] - failed - skipped, failed, skipped


def run(name, command, environment, log):
    if command is None:
        return (0, 1, 0), "not built"
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        is_lit = any("lit" in os.path.basename(part) for part in command[:3])
        env = dict(os.environ, **environment)
        if is_lit:
            command = command + ["--output", report]
        else:
            env["GTEST_OUTPUT"] = "json:" + report
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        log.write(f"==== {name}\n{done.stdout}\n")
        counts = None
        if os.path.exists(report):
            with open(report) as file:
                counts = (count_lit if is_lit else count_gtest)(json.load(file))
        if counts is None or (done.returncode and not counts[1]):
            passed = counts[0] if counts else 0
            skipped = counts[2] if counts else 0
            counts = (passed + (done.returncode == 0), int(done.returncode != 0), skipped)
        return counts, done.stdout


def main():
    build, log_path = sys.argv[1:]
    totals = [0, 0, 0]
    with open(log_path, "w") as log:
        for name, command, environment in suites(build):
            start = time.time()
            counts, output = run(name, command, environment, log)
            totals = [a + b for a, b in zip(totals, counts)]
            passed, failed, skipped = counts
            print(f"{name}: {passed} passed, {failed} failed, {skipped} skipped "
                  f"({time.time() - start:.1f} s)", flush=True)
            if failed:
                print(output[-20000:], flush=True)
    passed, failed, skipped = totals
    if passed + failed == 0:
        failed = 1  # a run of nothing is a failure
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


sys.exit(main())
