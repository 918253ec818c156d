#!/usr/bin/env bash
# Makes the folder that every package is made of: bin/accelc, and share with manual pages, completions, licence, schemas and the
# programs of runtimes. PRINTER is a tool of the same version that runs here: it prints the manual pages and completions.
# usage: tree.sh TOOL PRINTER FOLDER
set -euo pipefail
umask 022
tool=$(realpath "$1") printer=$(realpath "$2") folder=$(realpath -m "$3")
cd "$(dirname "$0")/../.."
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-0}" +%F 2>/dev/null || date -u -r "${SOURCE_DATE_EPOCH:-0}" +%F)
export COLUMNS=73 # tables of manual pages: 80 columns without man's indent

rm -rf "$folder"
share=$folder/share
man=$share/man/man1
mkdir -p "$folder/bin" "$man" "$share"/{accelc/runtimes,doc/accelc,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
cp "$tool" "$folder/bin/accelc"
chmod 755 "$folder/bin/accelc"

page() { # name, command: a page whose first line gets the date
    local out=$man/$1.1
    "$printer" help --man ${2:+"$2"} >"$out"
    [[ $(head -1 "$out") == .TH* ]] || { echo "tree: $out is no manual page" >&2; exit 1; }
    sed -i.bak "1s/\"\"/\"$date\"/" "$out"
    rm "$out.bak"
}
page accelc ""
# The page of the tool refers to those of all commands.
sed -n '/^\\fBaccelc\\-/ { s///; s/\\fR.*//; s/\\-/-/g; p; }' "$man/accelc.1" |
    while read -r command; do page "accelc-$command" "$command"; done
"$printer" completions bash >"$share/bash-completion/completions/accelc"
"$printer" completions zsh >"$share/zsh/site-functions/_accelc"
"$printer" completions fish >"$share/fish/vendor_completions.d/accelc.fish"
cp scripts/runtimes/*.py scripts/runtimes/README.md "$share/accelc/runtimes"
cp -R schemas "$share/accelc/schemas"
cp LICENSE README.md Sources/accelc/accelc.docc/*.md "$share/doc/accelc"
find "$share" -type f -exec chmod 644 {} +
