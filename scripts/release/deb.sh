#!/usr/bin/env bash
# Makes a Debian package of a tree (tree.sh): accelc_VERSION_ARCHITECTURE.deb. The tool is static, so that it depends on nothing.
# usage: deb.sh TREE VERSION amd64|arm64 FOLDER
set -euo pipefail
tree=$1 version=$2 architecture=$3 folder=$4
maintainer=${ACCELC_MAINTAINER:-accelc developers <accelc@localhost>}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
umask 022
chmod 755 "$root"

mkdir "$root/usr" "$root/DEBIAN"
cp -R "$tree/bin" "$tree/share" "$root/usr"
share=$root/usr/share
doc=$share/doc/accelc
mv "$share/zsh/site-functions" "$share/zsh/vendor-completions"
gzip -9n "$share"/man/man1/*.1
cat >"$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: accelc

Files: *
Copyright: the authors of accelc
License: Apache-2.0
 The licence is in /usr/share/common-licenses/Apache-2.0.
END
rm "$doc/LICENSE"
gzip -9n >"$doc/changelog.gz" <<END
accelc ($version) stable; urgency=medium

  * Release $version.

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
cat >"$root/DEBIAN/control" <<END
Package: accelc
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(find "$root/usr" -type f -printf '%s\n' | awk '{ sum += $1 } END { print int((sum + 1023) / 1024) }')
Recommends: openssh-client, openssl, curl
Suggests: python3
Section: devel
Priority: optional
Description: compiler of machine learning models into compressed packages
 accelc turns a model as Hugging Face ships it into one compressed package
 that a CPU or an accelerator runs, and verifies it. It also writes Core ML,
 Core AI, MLX, CTranslate2 and GGUF models.
END
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
chmod -R u=rwX,go=rX "$root/usr"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --build --root-owner-group -Zxz "$root" "$folder/accelc_${version}_$architecture.deb" >/dev/null
