#!/usr/bin/env bash
# Prints a formula for Homebrew that installs the archives of a folder (packages.sh) from ADDRESS/VERSION.
# usage: formula.sh FOLDER VERSION ADDRESS
set -euo pipefail
folder=$1 version=$2 address=${3%/}

archive() { # machine, block of the system, block of the processor: nothing where there is no such archive
    local name=accelc-$version-$1.tar.gz sum
    [ -f "$folder/$name" ] || return 0
    sum=$(awk -v name="$name" '$2 == name { print $1 }' "$folder/SHA256SUMS")
    printf '  %s do\n    %s do\n      url "%s"\n      sha256 "%s"\n    end\n  end\n' "$2" "$3" "$address/$version/$name" "$sum"
}

cat <<END
class Accelc < Formula
  desc "Compiles machine learning models into compressed packages"
  homepage "$address"
  version "$version"
  license "Apache-2.0"
$(archive arm64-macos on_macos on_arm; archive x86_64-macos on_macos on_intel
    archive x86_64-linux on_linux on_intel; archive aarch64-linux on_linux on_arm)

  def install
    prefix.install Dir["*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/accelc --version")
  end
end
END
