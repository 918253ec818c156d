"""OpenSSF's model_signing and OpenSSH against ours: each accepts what the other signed, and rejects what was changed.

usage: signing.py ACCELC MINILM
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

FIXTURES = pathlib.Path(__file__).resolve().parent.parent.parent / "Tests" / "Fixtures"
failures = 0


def report(name, good, detail=""):
    global failures
    failures += not good
    print(f"  {'ok  ' if good else 'FAIL'} {name} {'' if good else detail}")


def main(accelc, _):
    accelc = str(pathlib.Path(accelc).resolve())
    if not shutil.which("openssl"):
        print("signing: skipped, since openssl is missing", file=sys.stderr)
        sys.exit(3)
    with tempfile.TemporaryDirectory() as folder:
        def run(*words):
            return subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)

        def peer(*words):
            return run(sys.executable, "-m", "model_signing", *words)

        package = pathlib.Path(folder) / "p.accelpkg"
        run(accelc, "convert", FIXTURES / "digits", "--shape", "batch=1,sequence=65", "--no-cache", "-q", "-o", package)
        for curve in ("prime256v1", "secp384r1", "secp521r1"):
            run("openssl", "ecparam", "-name", curve, "-genkey", "-noout", "-out", f"{curve}.pem")
            run("openssl", "pkey", "-in", f"{curve}.pem", "-pubout", "-out", f"{curve}.pub")
            key = ("--public_key", f"{curve}.pub")

            signed = run(accelc, "sign", package, "--format", "oms", "--key", f"{curve}.pem", "-o", "ours.sig")
            accepted = peer("verify", "key", package, "--signature", "ours.sig", *key)
            report(f"{curve}: model_signing accepts ours", signed.returncode == 0 and accepted.returncode == 0, accepted.stdout + signed.stderr)

            peer("sign", "key", package, "--private_key", f"{curve}.pem", "--signature", "theirs.sig")
            check = (accelc, "check-signature", package, "--public-key", f"{curve}.pub", "--signature")
            accepted = run(*check, "theirs.sig")
            report(f"{curve}: we accept model_signing's", accepted.returncode == 0, accepted.stderr)

            # A report is kept in the package after it is signed: both leave it out.
            run(accelc, "verify", package, "--against", FIXTURES / "digits")
            both = (peer("verify", "key", package, "--signature", "ours.sig", *key), run(*check, "ours.sig"))
            report(f"{curve}: a parity report does not matter", (package / "verify.json").exists() and all(one.returncode == 0 for one in both))
            (package / "verify.json").unlink()

            blob = package / "weights-0000.bin"
            whole = blob.read_bytes()
            blob.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
            both = (peer("verify", "key", package, "--signature", "ours.sig", *key), run(*check, "theirs.sig"))
            report(f"{curve}: both reject a flipped bit", both[0].returncode != 0 and both[1].returncode == 4)
            blob.write_bytes(whole)
            (package / "more").write_text("1")
            both = (peer("verify", "key", package, "--signature", "ours.sig", *key), run(*check, "theirs.sig"))
            report(f"{curve}: both reject one more file", both[0].returncode != 0 and both[1].returncode == 4)
            (package / "more").unlink()
    sys.exit(1 if failures else 0)


main(*sys.argv[1:])
