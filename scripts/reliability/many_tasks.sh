#!/usr/bin/env bash
# 64 tasks run one model at a time: shared weights, one bounded pool of sessions, bounded memory; some calls are given up.
# LOADTOOL: the program, if it is not in BUILD, e.g. of a build with the thread sanitizer.
set -euo pipefail
tool=${LOADTOOL:-$BUILD/LoadTool}
"$ACCELC" convert Tests/Fixtures/bert_base --shape batch=1,sequence=8 --no-cache --quiet -o "$SCRATCH/bert.accelpkg"
"$tool" predictions "$SCRATCH/bert.accelpkg" 64 "$([ "$MODE" = short ] && echo 4 || echo 64)" 3
