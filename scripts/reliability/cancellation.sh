#!/usr/bin/env bash
# Runs of every operator, and openings of a model, that are cancelled at random moments: the 99th percentile of the time until they have
# ended is at most 100 ms. The full form takes about 20 minutes of two processors; the short one tries some operators.
# LOADTOOL: the measuring program of a release build (swift build -c release --product LoadTool); skipped without, since times of a
# debug build say nothing of what apps link.
set -euo pipefail
tool=${LOADTOOL:-}
if [ -z "$tool" ]; then
    printf 'cancellation\tskipped\ttimes are those of a release build: name its LoadTool by LOADTOOL\n'
    exit
fi
if [ "$MODE" = short ]; then
    "$tool" cancellation 4 2 relu softmax linear
else
    "$tool" cancellation 100 2
fi
"$ACCELC" convert Tests/Fixtures/bert_base --shape batch=1,sequence=8 --no-cache --quiet -o "$SCRATCH/bert.accelpkg"
"$tool" opening "$SCRATCH/bert.accelpkg" "$([ "$MODE" = short ] && echo 8 || echo 200)"
