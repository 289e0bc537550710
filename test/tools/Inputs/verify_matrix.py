"""Runs `attnc verify` over a matrix of options; prints what failed, and a count.

usage: verify_matrix.py ORACLES [--full] [--absorb=A,B] MODEL... [-- EXTRA_OPTIONS...]

Every schedule is run with each --absorb. Threads and page sizes
rotate over them, so that each value of each meets each schedule somewhere;
--full runs all combinations.
"""

import concurrent.futures
import itertools
import subprocess
import sys

SCHEDULES = (["prefill", "decode", "chunk:1", "chunk:5"]
             + [f"mixed:{n}" for n in range(1, 21)] + [f"batch:{n}" for n in range(1, 6)])
PLACES = list(itertools.product(["1", "2"], ["1", "16", "64"]))  # threads, page size


def runs(models, absorbs, full):
    turn = itertools.cycle(PLACES)
    for model, absorb, schedule in itertools.product(models, absorbs, SCHEDULES):
        for threads, page in (PLACES if full else [next(turn)]):
            yield model, ["--absorb", absorb, "--schedule", schedule, "--threads", threads,
                          "--page-size", page]


def verify(oracles, model, options):
    done = subprocess.run(["attnc", "verify", f"{oracles}/{model}", "-q"] + options,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def main():
    arguments = sys.argv[1:]
    extra = []
    if "--" in arguments:
        cut = arguments.index("--")
        arguments, extra = arguments[:cut], arguments[cut + 1:]
    full = "--full" in arguments
    absorbs = ["cost"]
    for argument in arguments:
        if argument.startswith("--absorb="):
            absorbs = argument.split("=")[1].split(",")
    oracles, *models = [a for a in arguments if not a.startswith("--")]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        todo = [(m, o, pool.submit(verify, oracles, m, o + extra)) for m, o in runs(models, absorbs, full)]
        for model, options, future in todo:
            code, output = future.result()
            if code:
                failed += 1
                print(f"FAILED ({code}): {model} {' '.join(options + extra)}\n{output}")
    print(f"{len(todo)} runs, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
