#!/usr/bin/env python3
"""Makes an artifact bundle (SE-0305), by which build-tool plugins of SwiftPM run the tool without building it.

usage: bundle.py VERSION OUT.zip TREE=TRIPLE[,TRIPLE]...
  TREE   a folder with bin/accelc; each becomes a variant for its triples
"""
import json
import sys
from pathlib import Path

from wheel import write_zip


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    version, variants, entries = sys.argv[1], [], []
    for tree, triples in (argument.rsplit("=", 1) for argument in sys.argv[3:]):
        path = f"{Path(tree).name}/bin/accelc"
        variants.append({"path": path, "supportedTriples": triples.split(",")})
        entries.append((f"accelc.artifactbundle/{path}", (Path(tree) / "bin/accelc").read_bytes(), True))
    tool = {"type": "executable", "version": version, "variants": variants}
    info = json.dumps({"schemaVersion": "1.0", "artifacts": {"accelc": tool}}, indent=2)
    write_zip(Path(sys.argv[2]), [("accelc.artifactbundle/info.json", info.encode(), False)] + entries)


if __name__ == "__main__":
    main()
