"""Merge the log files of several hosts into one, ordered by time."""

import heapq
import os
from contextlib import ExitStack, suppress
from datetime import datetime


class Malformed(ValueError):
    pass


def parse(line):
    """The time of a line and its text: ``2024-05-01T10:00:00 message``."""
    stamp, separator, message = line.rstrip("\n").partition(" ")
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        raise Malformed(line) from None
    if not separator:
        raise Malformed(line)
    return moment, message


def entries(host, stream, rejected):
    """Yield (time, host, message) of each good line; bad lines go to ``rejected`` with their host."""
    for line in stream:
        try:
            moment, message = parse(line)
        except Malformed:
            rejected.append((host, line.rstrip("\n")))
        else:
            yield moment, host, message


def merge(sources, target):
    """Merge the files of ``sources`` (host: path) into ``target`` and give the rejected lines.

    Each line of the target is ``time host message``, the time in ISO format. The target appears only when it
    is complete: a failure half-way leaves neither it nor the partial file.
    """
    rejected = []
    partial = f"{target}.partial"
    try:
⟦        with ExitStack() as stack:
            streams = [
                entries(host, stack.enter_context(open(path, encoding="utf-8")), rejected)
                for host, path in sources.items()
            ]
            with open(partial, "w", encoding="utf-8") as output:
                for moment, host, message in heapq.merge(*streams):
                    output.write(f"{moment.isoformat()} {host} {message}\n")
        os.replace(partial, target)
⟧    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(partial)
        raise
    return rejected
⟦tests⟧
import tempfile

with tempfile.TemporaryDirectory() as folder:
    web, queue, merged = (os.path.join(folder, name) for name in ("web.log", "queue.log", "all.log"))
    with open(web, "w", encoding="utf-8") as stream:
        stream.write("2024-05-01T10:00:00 start\n")
        stream.write("garbage\n")
        stream.write("2024-05-01T10:00:09 GET /orders/7\n")
    with open(queue, "w", encoding="utf-8") as stream:
        stream.write("2024-05-01T09:59:58 idle\n2024-05-01T10:00:05 job 7 done\n2024-05-01T10:00:10\n")

    rejected = merge({"web": web, "queue": queue}, merged)
    assert sorted(rejected) == [("queue", "2024-05-01T10:00:10"), ("web", "garbage")]
    with open(merged, encoding="utf-8") as stream:
        assert stream.read() == (
            "2024-05-01T09:59:58 queue idle\n"
            "2024-05-01T10:00:00 web start\n"
            "2024-05-01T10:00:05 queue job 7 done\n"
            "2024-05-01T10:00:09 web GET /orders/7\n"
        )
    assert sorted(os.listdir(folder)) == ["all.log", "queue.log", "web.log"]

    lost = os.path.join(folder, "lost.log")
    try:
        merge({"web": web, "lost": lost}, os.path.join(folder, "never.log"))
    except FileNotFoundError:
        pass
    else:
        raise AssertionError("a missing source was ignored")
    assert sorted(os.listdir(folder)) == ["all.log", "queue.log", "web.log"]

    assert merge({}, os.path.join(folder, "empty.log")) == []
    assert os.path.getsize(os.path.join(folder, "empty.log")) == 0
