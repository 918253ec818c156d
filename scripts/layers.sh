#!/usr/bin/env bash
# Draws the layers from what the sources import, in the order of the diagram in the article Architecture, and fails where an arrow points up.
# usage: layers.sh [check | update]     check: fails too where the diagram has other arrows than the sources
#                                       update: draws the diagram in the article anew
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = update ]; then
    drawn=$(mktemp)
    trap 'rm -f "$drawn" "$drawn.article"' EXIT
    scripts/layers.sh >"$drawn"
    article=$(sed -n 's/^article=//p' "$0")
    awk -v drawn="$drawn" '
        /^An arrow means/ { seen = 1 }
        seen && /^```/ && !inside { print; while ((getline row <drawn) > 0) print row; inside = 1; next }
        inside && /^```/ { inside = seen = 0 }
        !inside' "$article" >"$drawn.article"
    cat "$drawn.article" >"$article"
    exit
fi
article=Sources/AccelPrograms/AccelPrograms.docc/Architecture.md
# MODULE IMPORT, for each import of a module of this package.
imports() {
    local module
    for module in Sources/*/; do
        module=$(basename "$module")
        find "Sources/$module" -name '*.swift' -exec cat {} + |
            awk -v module="$module" '
                /^ *((public|package|internal|@_exported) +)*import / {
                    for (i = 1; i <= NF; i++) if ($i == "import") break
                    name = $(i + 1) ~ /^(func|struct|enum|class|protocol|typealias)$/ ? $(i + 2) : $(i + 1)
                    sub(/\..*/, "", name)
                    print module, name
                }'
    done | sort -u
}
# The rows between the fences after "An arrow means": NAME TEXT [-> NAME, NAME].
diagram() { awk '/^```/ { if (inside) exit; if (seen) { inside = 1; next } } /^An arrow means/ { seen = 1 } inside' "$article"; }

{ for module in Sources/*/; do echo "module $(basename "$module")"; done; imports | sed 's/^/import /'; diagram | sed 's/^/row /'; } |
    awk -v mode="${1:-draw}" '
    $1 == "module" { isModule[$2] = 1 }
    $1 == "import" && ($3 in isModule) { uses[$2, $3] = 1 }
    $1 == "row" {
        name = $2; order[++count] = name; place[name] = count
        line = substr($0, 5)
        split(line, halves, " *-> ")
        text[name] = halves[1]
        drawn[name] = halves[2]
    }
    function reaches(from, to,   middle) { # by one import or more
        if ((from SUBSEP to) in known) return known[from, to]
        known[from, to] = 0
        for (middle in isModule)
            if (((from SUBSEP middle) in uses) && (middle == to || reaches(middle, to))) { known[from, to] = 1; break }
        return known[from, to]
    }
    END {
        failed = 0
        for (name in isModule) if (!(name in place)) { print "layers: the diagram has no row for " name > "/dev/stderr"; failed = 1 }
        for (i = 1; i <= count; i++) if (!(order[i] in isModule)) { print "layers: there is no module " order[i] > "/dev/stderr"; failed = 1 }
        for (i = 1; i <= count; i++) {
            from = order[i]; arrows = ""
            for (j = 1; j <= count; j++) {
                to = order[j]
                if (!((from SUBSEP to) in uses)) continue
                if (j <= i) { print "layers: " from " imports " to ", which stands above it" > "/dev/stderr"; failed = 1 }
                needed = 1 # unless another import brings it
                for (k = 1; k <= count; k++)
                    if (k != j && ((from SUBSEP order[k]) in uses) && reaches(order[k], to)) needed = 0
                if (needed) arrows = arrows (arrows == "" ? "" : ", ") to
            }
            if (mode == "draw") print arrows == "" ? text[from] : sprintf("%-78s -> %s", text[from], arrows)
            else if (from != "accelc" && arrows != drawn[from]) {
                print "layers: the diagram draws " from " -> " drawn[from] "; the sources import " arrows > "/dev/stderr"; failed = 1
            }
        }
        exit failed
    }'
