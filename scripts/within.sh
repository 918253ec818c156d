#!/usr/bin/env bash
# Runs a command that has to end within a time, and ends with 124 after killing it. Without the program `timeout` there is no limit.
# usage: within.sh SECONDS COMMAND [ARGUMENT...]
set -euo pipefail
seconds=$1
shift
if ! command -v timeout >/dev/null; then exec "$@"; fi
# In the foreground: Ctrl-C reaches the command.
exec timeout --foreground --kill-after=10 "$seconds" "$@"
