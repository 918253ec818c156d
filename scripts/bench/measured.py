"""Times a command, and takes its peak private memory."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time


def private_bytes(process):
    """Anonymous resident memory, on Linux: mapped files are the system's to drop. 0 where it cannot be read."""
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return int(status.partition("RssAnon:")[2].split()[0]) * 1024
    except (OSError, IndexError):
        return 0


def measured(command):
    """Runs a command to its end. Returns seconds on the clock, seconds of processors, the peak of private bytes (sampled), and its output.

    The script ends where the command fails."""
    before, start, peak = os.times(), time.perf_counter(), 0
    command = [str(word) for word in command]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output)
        while process.poll() is None:
            peak = max(peak, private_bytes(process))
            time.sleep(0.005)
        seconds, after = time.perf_counter() - start, os.times()
        output.seek(0)
        printed = output.read()
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, used, peak, printed
