"""What every peer script does: it runs accelc, prints each check, and fails at the end if one failed."""

import subprocess
import sys

ACCELC = sys.argv[1] if len(sys.argv) > 1 else ""
failures = []


def check(what, good):
    print(f"  {'ok  ' if good else 'FAIL'} {what}", flush=True)
    if not good:
        failures.append(what)


def accelc(*words):
    """Returns the exit status and what accelc says on standard error."""
    done = subprocess.run([ACCELC, *map(str, words), "--quiet"], capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def apart(left, right):
    """The largest difference, relative to the largest number."""
    return float(abs(left.astype("float64") - right).max() / abs(right).max())


def finish(peer):
    if failures:
        sys.exit(f"{peer}: {len(failures)} failed")
