#!/usr/bin/env bash
# Makes the packages of a release out of trees (tree.sh) called accelc-VERSION-MACHINE-SYSTEM, beside them in their folder:
#   accelc-VERSION-MACHINE-SYSTEM.tar.gz, a wheel, a deb (where dpkg-deb is), accelc-VERSION.artifactbundle.zip, install.sh, SHA256SUMS,
#   and where ACCELC_RELEASES is the address of releases a formula for Homebrew, accelc.rb
# The same trees and SOURCE_DATE_EPOCH give the same bytes.
# usage: packages.sh FOLDER VERSION
set -euo pipefail
folder=$(realpath "$1") version=$2
here=$(realpath "$(dirname "$0")")
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0} PYTHONDONTWRITEBYTECODE=1
tar=$(command -v gtar || command -v tar) # GNU tar, also on a Mac

cd "$folder"
rm -f ./*.tar.gz ./*.whl ./*.deb ./*.zip SHA256SUMS accelc.rb
variants=()
for tree in "accelc-$version"-*/; do
    tree=${tree%/}
    case ${tree#"accelc-$version-"} in
        x86_64-linux) tag=manylinux_2_17_x86_64 deb=amd64 triples=x86_64-unknown-linux-gnu ;;
        aarch64-linux) tag=manylinux_2_17_aarch64 deb=arm64 triples=aarch64-unknown-linux-gnu ;;
        arm64-macos) tag=macosx_15_0_arm64 deb="" triples=arm64-apple-macosx ;;
        x86_64-macos) tag=macosx_15_0_x86_64 deb="" triples=x86_64-apple-macosx ;;
        *) echo "packages: unknown machine of $tree" >&2; exit 1 ;;
    esac
    "$tar" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --mode=u=rwX,go=rX --owner=0 --group=0 --numeric-owner --format=ustar -c "$tree" |
        gzip -9n >"$tree.tar.gz"
    python3 "$here/wheel.py" "$tree" "$version" "$tag" .
    if [ -n "$deb" ]; then
        if command -v dpkg-deb >/dev/null; then "$here/deb.sh" "$tree" "$version" "$deb" .; else echo "packages: no dpkg-deb, so no deb" >&2; fi
    fi
    variants+=("$tree=$triples")
done
python3 "$here/bundle.py" "$version" "accelc-$version.artifactbundle.zip" "${variants[@]}"
cp "$here/../install.sh" .
sum=$(command -v sha256sum || echo "shasum -a 256")
shopt -s nullglob
# shellcheck disable=SC2086
$sum ./*.tar.gz ./*.whl ./*.deb ./*.zip install.sh | sed 's|\./||' >SHA256SUMS
if [ -n "${ACCELC_RELEASES:-}" ]; then "$here/formula.sh" . "$version" "$ACCELC_RELEASES" >accelc.rb; fi
