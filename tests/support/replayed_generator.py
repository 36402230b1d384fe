"""A generator of DevBench instances that replays written answers: a program for `command/`, with planned faults.

``python replayed_generator.py INDEX LOG``: INDEX is a JSON file of answers by cell, LOG gets a line for each call. The
first scenario of each cell begins with a fault, by the cell's place in the index; after its diagnosis, a good answer
comes. It imports nothing of the package, so that a call takes some milliseconds.
"""

import json
import re
import sys
from pathlib import Path

FAULTS = ("wrong", "twin", "malformed", "cut_off", "refused", "hostile", "secret")
"""Planned faults: a wrong reference, a program of a public set, broken JSON, half an answer, a refusal, an attack
on the sandbox, a program with an access key."""
KEYWORDS = {"return", "raise", "throw", "await", "yield", "else", "finally", "static", "const", "this", "self", "true"}


def main() -> None:
    request = json.load(sys.stdin)
    index = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    question = request["messages"][1]["text"]
    found = re.search(r"Scenario (\w+/\w+)/(\d+)(-sibling)?:", question)
    cell, number = found[1], int(found[2])
    kind = re.search(r"- kind: (.*)", question)[1]
    band = re.search(r"- difficulty: (.*)", question)[1]
    repaired = any("could not be used" in message["text"] for message in request["messages"][2:])
    rejected = any("reviewers rejected" in message["text"] for message in request["messages"][2:])
    existing = question
    hides = "the suffix is empty" in question
    fits = [one for one in index["cells"][cell] if kind in one["kinds"] and band in one["bands"]]
    fits = [one for one in fits if hides or one["answer"]["suffix"].strip()]
    free = [one for one in fits if f"- {one['answer']['name']} (" not in existing]
    if rejected:  # the rejected instance is in the conversation, and no longer in the list
        free = [one for one in free if json.dumps(one["answer"]["name"]) not in request["messages"][-2]["text"]]
    text, finish = "I'm sorry, I cannot help with that.", "stop"
    is_first = number == index["first"].get(cell) and not repaired
    if free or (is_first and index["faults"].get(cell) == "twin"):
        chosen = free or index["cells"][cell]
        answer = dict(chosen[number % len(chosen)]["answer"])
        if hides:
            answer["tests"], answer["suffix"] = answer["suffix"] + answer["tests"], ""
        fault = index["faults"].get(cell) if is_first else None
        if fault == "twin":
            answer = index["twins"][cell]
        text, finish = faulty(fault, dict(answer), index)
    with Path(sys.argv[2]).open("a") as log:
        log.write(f"{found[0]} {len(request['messages'])}\n")
    sys.stdout.write(
        json.dumps({"text": text, "finish_reason": finish, "usage": {"input_tokens": 900, "output_tokens": 700}})
    )


def faulty(fault: str | None, answer: dict[str, str], index: dict) -> tuple[str, str]:
    """The text of an answer, and its finish reason."""
    if fault == "wrong":
        names = list(re.finditer(r"\b[a-z]\w{3,}\b(?=[.(,);\s])", answer["reference"]))
        names = [one for one in names if one[0] not in KEYWORDS]
        if names:
            start, end = names[-1].span()
            answer["reference"] = f"{answer['reference'][:start]}notThere{answer['reference'][end:]}"
    if fault == "secret":
        answer["tests"] += "\n" + index["secret"].get(answer["language"], "// ") + "ghp_" + "a1B2" * 9 + "\n"
    if fault == "hostile" and answer["language"] in index["hostile"]:
        answer["reference"] = index["hostile"][answer["language"]]
    answer.pop("language")
    text = json.dumps(answer)
    if fault == "malformed":
        return "```json\n" + text[:-1], "stop"
    if fault == "cut_off":
        return text[: len(text) // 2], "length"
    if fault == "refused":
        return "I'm sorry, but I can't help with that.", "stop"
    return text, "stop"


if __name__ == "__main__":
    main()
