#!/usr/bin/env python3
"""Converts a model in shares on the workers of a Dask cluster, then writes the package.

usage: convert.py [--scheduler ADDRESS | --workers N] [--shares N] [--retries N] [--restarts N] -- ACCELC convert MODEL OPTION... -o OUT
  --scheduler  the address of a running scheduler, e.g. tcp://head:8786; workers reach the model, the tool and the cache by the same names
  --workers    without a scheduler: a cluster of N processes on this machine (default: 2)
  --shares     the number of shares (default: four for each worker)
  --retries    how often a share that fails is tried again (default: 3)
  --restarts   how often all is begun anew when the scheduler is lost (default: 3); a share that has ended takes moments then
Shares meet in the cache: a folder that all workers see (--cache, ACCELC_CACHE), or a server (--remote-cache URL). A worker that is killed
loses the weight that it was making; its share goes to another worker. The package is the one that a single process would write.
Needs the PyPI package `distributed`. Exit status: that of the first command that failed for good, or that of the last command.
"""

import argparse
import subprocess
import sys
import time


class ShareFailed(Exception):
    """A share that ended with a status other than 0. Dask sends it over the network: its arguments are all it has."""

    @property
    def status(self):
        return self.args[0]

    def __str__(self):
        return f"a share ends with {self.args[0]}: {self.args[1]}"


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0], description=__doc__.split("\n")[0])
    parser.add_argument("--scheduler")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shares", type=int)
    parser.add_argument("--retries", type=int, default=3)
    parser.add_argument("--restarts", type=int, default=3)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    found = parser.parse_args()
    if found.command[:1] == ["--"]:
        del found.command[0]
    if found.command[1:2] != ["convert"]:
        parser.error("expected -- ACCELC convert MODEL OPTION...")
    return found


def without_output(command):
    """The command of a share: the output belongs to the last command."""
    kept, skipped = [], False
    for word in command:
        if skipped:
            skipped = False
        elif word in ("-o", "--output"):
            skipped = True
        elif not word.startswith("--output=") and word not in ("--json", "--zip"):
            kept.append(word)
    return kept


def run_share(command, number, count):
    """Runs on a worker. Returns the line that the tool prints."""
    share = [*command, "--shard", f"{number}/{count}", "--progress", "none"]
    try:
        done = subprocess.run(share, capture_output=True, text=True, errors="replace")
    except OSError as error:
        # Else it would pass for a lost connection.
        raise ShareFailed(3, str(error)) from None
    if done.returncode != 0:
        raise ShareFailed(done.returncode, done.stderr.strip())
    return done.stdout.strip()


def run_shares(client, command, count, retries):
    from distributed import as_completed

    # Not pure: a share that is asked for again is run again; what is in its cache already takes no time.
    futures = client.map(lambda number: run_share(command, number, count), range(1, count + 1), retries=retries, pure=False)
    for future in as_completed(futures):
        print(future.result(), file=sys.stderr)


def connect(found):
    from distributed import Client, LocalCluster

    if found.scheduler:
        return Client(found.scheduler, timeout=60)
    return Client(LocalCluster(n_workers=found.workers, threads_per_worker=1, dashboard_address=None))


def main():
    found = arguments()
    import distributed
    from distributed.client import FutureCancelledError

    command = without_output(found.command)
    for attempt in range(found.restarts + 1):
        try:
            with connect(found) as client:
                client.wait_for_workers(1, timeout=300)
                count = found.shares or 4 * len(client.scheduler_info(n_workers=-1)["workers"])
                run_shares(client, command, count, found.retries)
            break
        except ShareFailed as failure:
            print(f"convert: {failure}", file=sys.stderr)
            return failure.status
        except (FutureCancelledError, distributed.comm.CommClosedError, OSError, TimeoutError) as error:
            if attempt == found.restarts:
                print(f"convert: the scheduler was lost {attempt + 1} times: {error}", file=sys.stderr)
                return 3
            print(f"convert: the scheduler is lost ({error}); once more", file=sys.stderr)
            time.sleep(1)
    return subprocess.run(found.command).returncode


if __name__ == "__main__":
    sys.exit(main())
