"""The values of a parity report, without its sentences."""
import json

# Sentences, and what says nothing of a value.
LEFT_OUT = {"accelc", "format", "headline", "title", "remark", "remarks", "origin", "detail", "remedy", "reason", "source"}
# Properties that tell the entries of a list apart.
IDENTITY = ("stage", "function", "part", "name", "label", "what", "fault", "target", "against", "step", "row")
# Sentences by stage: the stages count.
KEYS = {"caught"}
# Lists and values of sentences: their number counts.
COUNTED = {"failures", "uncheckedLimits", "failure", "allowed", "limits", "differences"}


def reduced(value):
    if isinstance(value, dict):
        if "sqnr" in value and "cosine" in value:
            return " ".join(str(value[name]) for name in sorted(value))
        result = {}
        for name, member in value.items():
            if name in LEFT_OUT:
                continue
            if name in COUNTED:
                result[name] = len(member) if isinstance(member, list) else member if isinstance(member, int) else member is not None
            elif name in KEYS and isinstance(member, dict):
                result[name] = sorted(member)
            elif member is not None:
                result[name] = reduced(member)
        return result
    if isinstance(value, list):
        if not value or not all(isinstance(each, dict) for each in value):
            return value
        result = {}
        for each in value:
            identity = {name for name in IDENTITY if isinstance(each.get(name), (str, int))}
            key = unused(" ".join(str(each[name]) for name in IDENTITY if name in identity), result)
            result[key] = reduced({name: member for name, member in each.items() if name not in identity})
        return result
    return value


def unused(name, names):
    """The name, numbered where it is taken."""
    number, result = 1, name
    while result in names:
        number += 1
        result = f"{name} #{number}"
    return result


def verified(folder, words):
    """The status and the values of the report of one verification."""
    if not (folder.path / words[0]).exists():
        return "nothing to verify"
    report = folder.path / "report.json"
    report.unlink(missing_ok=True)
    status, text, _ = folder.run(["verify", *words, "--report", "report.json", "--json", "--threads", "1"])
    if not report.exists():
        return folder.failure(status, text)
    return {"status": status, "report": reduced(json.loads(report.read_text()))}
