#!/usr/bin/env bash
# What must hold when things go wrong: runs the parts in scripts/reliability, and prints one table of faults tried, survived and lost.
# usage: reliability.sh [--short] [PART...]      parts by name, e.g. conversions; all without. --short: a sample of each, some minutes in all
#
# A part is an executable NAME.sh or NAME.py. It is run in the repository's folder with
#   ACCELC   the tool                     MODE     short or full
#   BUILD    the folder it was built in   SCRATCH  an empty folder, removed afterwards
# and prints lines of words with tabs between them: `name tried survived lost`, or `name skipped reason`. A name that begins with
# `control:` is of something that is known to be broken: it has to lose. Remarks go to standard error, shown only when the part fails.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-$PWD/.build/tests/debug} # scripts/test.sh makes it
ACCELC=${ACCELC:-$BUILD/accelc}
MODE=full
limit=7200 # seconds of one part: what hangs is named
if [ "${1:-}" = --short ]; then MODE=short && limit=600 && shift; fi
export BUILD ACCELC MODE
work=$(mktemp -d)
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT

failed=0
tried=0
survived=0
lost=0
printf '%-64s %9s %9s %9s\n' "what goes wrong" tried survived lost
for part in scripts/reliability/*.sh scripts/reliability/*.py; do
    [ -x "$part" ] || continue
    name=$(basename "${part%.*}")
    if [ $# != 0 ]; then case " $* " in *" $name "*) ;; *) continue ;; esac fi
    if [ "${part##*.}" = py ] && ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
        printf '%-64s skipped: %s\n' "$name" "python3 (3.8 or newer) is not installed"
        continue
    fi
    export SCRATCH=$work/$name
    mkdir "$SCRATCH"
    status=0
    scripts/within.sh $limit "$part" >"$work/$name.tsv" 2>"$work/$name.log" || status=$?
    bad=$status
    if [ $status = 124 ]; then
        echo "did not end within $limit s" >>"$work/$name.log"
        pkill -f "$SCRATCH" 2>/dev/null || true # what it had started
    fi
    while IFS=$'\t' read -r what a b c; do
        if [ "$a" = skipped ]; then
            printf '%-64s skipped: %s\n' "$what" "$b"
            continue
        fi
        printf '%-64s %9s %9s %9s\n' "$what" "$a" "$b" "$c"
        case $what in
        control:*) if [ "$c" = 0 ]; then echo "$name: $what must lose something, or the test finds nothing" && bad=1; fi ;;
        *)
            tried=$((tried + a)) survived=$((survived + b)) lost=$((lost + c))
            if [ "$c" != 0 ] || [ "$a" != "$b" ]; then bad=1; fi
            ;;
        esac
    done <"$work/$name.tsv"
    if [ ! -s "$work/$name.tsv" ]; then bad=1; fi
    if [ $bad != 0 ]; then
        failed=1
        echo "$name: FAILED (exit $status)"
        tail -20 "$work/$name.log" | sed 's/^/    /'
    fi
done
printf '%-64s %9s %9s %9s\n' "all but the controls" $tried $survived $lost
[ $tried != 0 ] || failed=1
exit $failed
