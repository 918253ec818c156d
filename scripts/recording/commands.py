"""The command scripts of the tests: the exit status of every command, and the error of each that fails."""
import os
import pathlib
import shutil

from .reports import unused

# A run of these ends at no fixed point.
UNSTEADY = ("--timeout",)


def jobs(tool, tests):
    scripts = sorted((tests / "CommandTests/Scripts").glob("*.txt"))
    return [(f"script {script.stem}", lambda script=script: replay(tool, tests, script)) for script in scripts]


def replay(tool, tests, script):
    with tool.folder() as folder:
        record, lines = {}, script.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines):
            if line.startswith("$ "):
                command(folder, line[2:], lines[number + 1:], record)
            elif line and line[0] not in "#|>2" and not line.startswith(("exit", "error", "no ", "contains", "same", "exists", "!")):
                change(folder.path, tests / "Fixtures", split(line), lines[number + 1:])
        return record


def command(folder, text, following, record):
    words, changes, saved = split(text), {}, None
    while words and words[0] != "accelc":
        name, _, value = words.pop(0).partition("=")
        changes[name] = value
    if len(words[-1]) > 1 and words[-1].startswith(">"):
        saved = words.pop()[1:]
    words = words[1:]
    fails = any(line.startswith("exit ") and line != "exit 0" for line in up_to_command(following))
    # Printed text is not recorded, so that a command which fails can print JSON; one whose text is saved cannot.
    asks = fails and not saved and "--json" not in words
    status, output, _ = folder.run(with_json(words) if asks else words, changes)
    entry = {"status": status}
    error = folder.error(output)
    if error is not None:
        entry["error"] = error
    elif asks and status == 2:
        # It may be --json that this command does not take.
        entry = {"status": folder.run(words, changes)[0]}
    if any(word.startswith(UNSTEADY) for word in words):
        entry.pop("error", None)
    if saved:
        (folder.path / saved).write_bytes(output)
    record[unused(text, record)] = entry


def with_json(words):
    position = words.index("--") if "--" in words else len(words)
    return words[:position] + ["--json"] + words[position:]


def up_to_command(lines):
    for line in lines:
        if line.startswith("$ "):
            return
        yield line


def change(folder, fixtures, words, following):
    """A line that changes files."""
    action, path = words[0], folder / words[1]
    if action == "fixture":
        source, target = fixtures / words[1], folder / words[-1]
        shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)
    elif action == "file":
        path.parent.mkdir(parents=True, exist_ok=True)
        text = []
        for line in following:
            if not line.startswith("| ") and line != "|":
                break
            text.append(line[2:] + "\n")
        path.write_text("".join(text), encoding="utf-8")
    elif action in ("flip", "write", "truncate"):
        path.chmod(0o644)
        data, place = bytearray(path.read_bytes()), int(words[2])
        if action == "flip":
            data[place] ^= 0xFF
        elif action == "write":
            new = bytes.fromhex(words[3])
            place += len(data) if place < 0 else 0
            data[place:place + len(new)] = new
        if action == "truncate":
            os.truncate(path, place)
        else:
            # A new file: hard links to the old one keep its bytes, as an atomic write leaves them.
            pathlib.Path(f"{path}.new").write_bytes(data)
            os.replace(f"{path}.new", path)
    elif action == "link":
        os.link(path, folder / words[2])
    elif action == "symlink":
        os.symlink(words[1], folder / words[2])
    elif action == "remove":
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    else:
        raise ValueError(f"a line of a script that is not known: {' '.join(words)}")


def split(text):
    """Words at spaces; quotes keep spaces in a word."""
    words, word, quote = [], None, None
    for character in text:
        if quote:
            if character == quote:
                quote = None
            else:
                word = (word or "") + character
        elif character in "'\"":
            quote, word = character, word or ""
        elif character == " ":
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + character
    return words + ([word] if word is not None else [])
