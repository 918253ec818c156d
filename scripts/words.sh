#!/usr/bin/env bash
# Lists the words of the sources that the vocabulary has another word for; exit status 1 if there are more than scripts/words.py allows.
# usage: words.sh [FOLDER...]
set -euo pipefail
cd "$(dirname "$0")/.."
exec python3 scripts/words.py "$@"
