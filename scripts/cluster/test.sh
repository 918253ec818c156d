#!/usr/bin/env bash
# Tries conversions in shares: on clusters of Dask with killed workers and a lost scheduler, through a cache server, and the files for other
# engines with their own validators.
# usage: test.sh [ACCELC]      (default: the tests' build)      exit 3 where Python's packages cannot be installed
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/setup.sh
source scripts/test_build.sh
venv=.build/cluster-venv
if ! cmp -s scripts/cluster/requirements.txt $venv/complete; then
    if ! { python3 -m venv $venv && $venv/bin/python -m pip install --quiet -r scripts/cluster/requirements.txt; } >&2; then
        echo "cluster: skipped, since pip could not install scripts/cluster/requirements.txt (no network?)" >&2
        exit 3
    fi
    cp scripts/cluster/requirements.txt $venv/complete
fi
if [ $# = 0 ]; then
    swift build --product accelc "${test_flags[@]}"
    set -- $test_scratch/debug/accelc
fi
if ! model=$(scripts/get_minilm.sh); then model=Tests/Fixtures/bert_base; fi
exec $venv/bin/python scripts/cluster/test.py "$(realpath "$1")" "$(realpath "$model")"
