#!/usr/bin/env bash
# Looks through what apps link (the product Accel and all that it imports) for what iOS lacks or forbids: starting processes, looking
# at other processes, terminals, and Foundation's Process; and for the regular expressions that the C library is built without.
# What it cannot tell: whether a call is there since the deployment target, what a sandbox rejects when it runs, and whether it links.
# Only a build with Apple's SDK tells that.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=(Accel)
for ((i = 0; i < ${#modules[@]}; i++)); do
    while read -r name; do
        if [ -d "Sources/$name" ] && [[ " ${modules[*]} " != *" $name "* ]]; then modules+=("$name"); fi
    done < <(find "Sources/${modules[i]}" -name '*.swift' -exec cat {} + |
        sed -nE 's/^ *((public|package|internal|@_exported) +)*import +((func|struct|enum|class|protocol) +)?([A-Za-z]+).*/\5/p' | sort -u)
done
missing='\b(fork|vfork|exec[lv]p?e?|posix_spawnp?|system|popen|pclose|wait|waitpid|wait4|ptrace|task_for_pid|proc_[a-z]+|isatty|tc[gs]etattr|ttyname|openpty|forkpty|winsize|Process)\('
found=$(grep -rnE "$missing" "${modules[@]/#/Sources/}" --include='*.swift' --include='*.c' --include='*.h' | grep -vE ':[0-9]+: *//' || true)
if [ -n "$found" ]; then
    echo "$found" >&2
    echo "platforms: what apps link uses what iOS lacks; move it to AccelHostTools" >&2
    exit 1
fi
# scripts/libaccel.sh builds the library of apps in C without Swift's module of them, which would be linked whole.
expressions='\.(replacing|replace)\([^)]*with: *"|"[^"]*"\.replacing\(|\.(firstRange|ranges|trimmingPrefix|wholeMatch|firstMatch|prefixMatch|matches)\(of: *[/#"]|\bRegex\b[^"]'
found=$(grep -rnE "$expressions" "${modules[@]/#/Sources/}" --include='*.swift' | grep -vE ':[0-9]+: *//' || true)
if [ -n "$found" ]; then
    echo "$found" >&2
    echo "platforms: the C library has no regular expressions, nor String.replacing, which is in their module" >&2
    exit 1
fi
echo "platforms: nothing that iOS lacks in ${modules[*]}"
