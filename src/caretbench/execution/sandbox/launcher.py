"""First process of a sandbox. Never imported: an interpreter inside the sandbox runs its text.

It is process 1 of the sandbox's process namespace, so no signal of the program can end it and every orphan
comes to it. Over a socket pair (which cannot be opened again through ``/proc``) it reads one job, places the
files, bounds the resources, starts the program, waits for it, and writes what became of it. It needs nothing
but the standard library and starts in about ten milliseconds of CPU.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import signal
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 4, 22, 24
FILTER = 2
CAPABILITY_VERSION = 0x20080522
NEW_MOUNTS, BIND, RECURSIVE, PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
NO_SUID, NO_DEVICES, NO_EXECUTION = 2, 4, 8
TEMPORARY, SHARED = "/tmp", "/dev/shm"  # noqa: S108 - inside the sandbox
FOLDERS = ("/tmp/work", "/tmp/home")  # noqa: S108
TERMINALS = 16
"""Maximum number of pseudo-terminals of a program: the machine has some thousands for all."""
DISPLAY_SOCKET = "/tmp/.X11-unix/X99"  # noqa: S108 - inside the sandbox
DISPLAY_WAIT_S = 20.0

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise where a call of the C library failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))


def mount(source: bytes, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None) -> None:
    """Mount in this process's own namespace."""
    check(libc.mount(source, target, kind, ctypes.c_ulong(flags), options), "mount %s" % target.decode())


def cover_proc_files(covers: str, kept: list[str]) -> None:
    """Cover all files of /proc about the kernel and the machine except ``kept``.

    Files and folders are covered by empty ones, settings by copies of a few; all these lie on a read-only mount.
    """
    own = str(os.getpid())  # this process is no program's: some of its files can be opened for writing by all
    for name in os.listdir("/proc"):
        if (name.isdigit() and name != own) or name in kept:
            continue
        place = "/proc/" + name
        cover = "/sys" if name == "sys" else "/folder" if os.path.isdir(place) else "/file"
        try:
            mount((covers + cover).encode(), place.encode(), None, BIND)
        except FileNotFoundError:
            # A kernel module was unloaded in this moment.
            continue


def mount_memory(place: str, options: str) -> None:
    """Mount an empty file system in memory with bounded size and number of files, writable by all users."""
    mount(b"tmpfs", place.encode(), b"tmpfs", NO_SUID | NO_DEVICES, options.encode() + b",mode=1777")


def mount_files(options: str) -> None:
    """Mount an empty /tmp with the work folder and the home folder."""
    mount_memory(TEMPORARY, options)
    for folder in FOLDERS:
        os.mkdir(folder, 0o700)


def mount_bounded_files(options: str) -> None:
    """Cover bubblewrap's /tmp and /dev/shm by file systems with a bounded number of files; binds below /tmp stay."""
    with open("/proc/self/mountinfo", "rb") as stream:  # which writes a space as \040
        places = [line.split()[4].decode("unicode_escape").encode("latin-1") for line in stream]
    held: dict[bytes, int] = {}
    for place in sorted(set(places)):
        if place.startswith(b"/tmp/") and not any(place.startswith(above + b"/") for above in held):
            held[place] = os.open(place, os.O_PATH)
    mount_memory(SHARED, options)
    mount_files(options)
    for place, descriptor in held.items():
        source = b"/proc/self/fd/%d" % descriptor
        if os.path.isdir(source):
            os.makedirs(place, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
        mount(source, place, None, BIND | RECURSIVE)
        os.close(descriptor)
    os.chdir(FOLDERS[0])


def mount_terminals() -> None:
    """Give the program pseudo-terminals of its own: no other program can open them, and it cannot use up all."""
    # Terminals of a warm sandbox were once opened by each other's programs, and ran out for the whole machine.
    options = b"newinstance,ptmxmode=0666,mode=0620,max=%d" % TERMINALS
    mount(b"devpts", b"/dev/pts", b"devpts", NO_SUID | NO_EXECUTION, options)


def drop_capabilities() -> None:
    """Drop all capabilities, and the bounding set."""
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # beyond the last one that this kernel knows, or no right to drop: then there is none to keep
    check(libc.capset(header, bytes(24)), "capset")


def install_filter(program: bytes) -> None:
    """Install the system call filter for this process and its children."""
    if program:
        code = ctypes.create_string_buffer(program, len(program))
        table = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
        check(libc.prctl(PR_SET_SECCOMP, FILTER, table, 0, 0), "seccomp")


def read_exactly(channel: int, size: int) -> bytes:
    """Read ``size`` bytes."""
    chunks: list[bytes] = []
    while size:
        chunk = os.read(channel, min(size, 1 << 20))
        if not chunk:
            os._exit(101)
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def write_files(files: list[tuple[str, bytes]]) -> None:
    """Write the program's files into the fresh work folder."""
    for path, data in files:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(data)


def set_up_project(tree: dict[str, Any], files: list[tuple[str, bytes]]) -> None:
    """Set up a project: delete files, write files, then create links and set executable bits."""
    for path in tree["deleted"]:
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        else:
            os.unlink(path)
    for path in tree["folders"]:
        os.makedirs(path, exist_ok=True)
    write_files(files)
    for path, target in tree["links"]:
        os.symlink(target, path)
    for path in tree["executable"]:
        os.chmod(path, 0o755)  # noqa: S103  as the project has it


def open_proxy_listener(door: int, port: int) -> None:
    """Listen on the proxy's port inside, and send the listening socket to the host."""
    # Imported only where it is needed: every program waits for imports.
    import socket

    with socket.socket(fileno=door) as way, socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen()
        socket.send_fds(way, [b"d"], [listener.fileno()])


def start_display(command: list[str]) -> int | None:
    """Start an X server for the program and wait until it listens."""
    os.makedirs(os.path.dirname(DISPLAY_SOCKET), mode=0o1777, exist_ok=True)
    child = os.fork()
    if child == 0:
        try:
            sink = os.open("/dev/null", os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(sink, descriptor)
            os.execv(command[0], command)
        finally:
            os._exit(127)
    deadline = time.monotonic() + DISPLAY_WAIT_S
    while not os.path.exists(DISPLAY_SOCKET):
        if time.monotonic() > deadline or os.waitpid(child, os.WNOHANG)[0]:
            return None
        time.sleep(0.01)
    return child


def move_descriptor(taken: int, wish: int) -> int:
    """Move a descriptor to the wished number and let the program inherit it."""
    os.dup2(taken, wish, inheritable=True)
    os.close(taken)
    return wish


def run_program(job: dict[str, Any], gates: list[int], before: Callable[[], None] | None = None) -> None:
    """Set the limits and execute the program, in the child process. Return if it runs in this interpreter."""
    for name, soft, hard in job["rlimits"]:
        number = getattr(resource, name)
        ceiling = resource.getrlimit(number)[1]
        if ceiling != resource.RLIM_INFINITY:
            # Nobody without rights may raise a limit that the caller's shell has set lower.
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(number, (soft, hard))
    environment = dict(job["environment"])
    if gates:
        environment["CARETBENCH_SENTINEL"] = "%d:%d" % tuple(gates)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.setpgid(0, 0)
    if job.get("stdin") is not None:
        # A file, not a pipe: a program that reads nothing would leave the writer waiting.
        source = os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o600)  # noqa: S108 - inside the sandbox
        rest = memoryview(job["stdin"])
        while rest:
            rest = rest[os.write(source, rest) :]
        os.lseek(source, 0, os.SEEK_SET)
        os.dup2(source, 0)
        os.close(source)
    try:
        os.chdir(job["directory"])
    except OSError as error:
        os.write(2, ("cannot enter %s: %s\n" % (job["directory"], error.strerror)).encode())
        os._exit(127)
    if before is not None:
        before()
    if job.get("forked"):
        os.environ.clear()
        os.environ.update(environment)
        sys.argv[:] = job["argv"]
        return
    try:
        os.execvpe(job["argv"][0], job["argv"], environment)
    except OSError as error:
        os.write(2, ("cannot start %s: %s\n" % (job["argv"][0], error.strerror)).encode())
    os._exit(127)


def report_fault(channel: int, why: str) -> None:
    """Report the reason why the program was not started, and exit."""
    os.write(channel, ('{"error": "%s"}\n' % why).encode())
    os._exit(0)


def prepare_program(channel: int, job: dict[str, Any]) -> int | None:
    """Write the program's files and start its X server; return the server's process id, or None without one."""
    if job.get("tree"):
        try:
            set_up_project(job["tree"], job["files"])
        except OSError as error:
            report_fault(channel, "the project was not put in place: %s" % error.strerror)
    else:
        write_files(job["files"])
    if job.get("door") is not None:
        open_proxy_listener(job["door"], job["port"])
    display = start_display(job["display"]) if job["display"] else None
    if job["display"] and display is None:
        report_fault(channel, "the X server inside the sandbox did not start")
    return display


def open_sentinel_pipes(job: dict[str, Any]) -> tuple[list[int], int]:
    """Open the sentinel's pipes; return the program's two descriptors and ours ([] and -1 without a sentinel)."""
    if not job["nonce"]:
        return [], -1
    question, give = os.pipe()
    answer, write_end = os.pipe()
    os.write(give, job["nonce"])
    os.close(give)
    gates = [move_descriptor(question, job["descriptors"][0]), move_descriptor(write_end, job["descriptors"][1])]
    return gates, answer


def read_sentinel(answer: int, nonce: bytes) -> bytes:
    """Return what the program wrote to its sentinel's pipe; nothing without a sentinel."""
    try:
        # Two bytes more than the secret: the mark of a check that waits, and one that shows a longer text.
        return os.read(answer, len(nonce) + 2) if nonce else b""
    except BlockingIOError:
        return b""


def load_module(text: str, name: str) -> dict[str, Any]:
    """Return the names of a module of ours that comes with a job."""
    names: dict[str, Any] = {}
    exec(compile(text, name, "exec", dont_inherit=True), names)  # noqa: S102  ours
    return names


def wait_for_program(child: int, display: int | None) -> tuple[int, float, int]:
    """Wait for the program; return its status, and CPU time and peak memory of all ended processes but the X server."""
    cpu, peak = 0.0, 0
    while True:
        pid, code, usage = os.wait4(-1, 0)
        if pid != display:
            cpu += usage.ru_utime + usage.ru_stime
            peak = max(peak, usage.ru_maxrss)
        if pid == child:
            return code, cpu, peak


def run_job(channel: int, job: dict[str, Any], before: Callable[[], None] | None = None) -> None:
    """Run one job and report its outcome; ``before`` is called last in the program's process before it starts.

    Returns in the program's own process alone, where the program is a harness that runs in this interpreter.
    """
    tree, nonce = job.get("tree"), job["nonce"]
    display = prepare_program(channel, job)
    gates, answer = open_sentinel_pipes(job)
    watch = (
        load_module(job["watch"]["code"], "access_watch.py")["AccessWatch"](job["watch"]) if "watch" in job else None
    )
    os.write(channel, b'{"started": true}\n')
    # The kernel spares the first process every signal but those that it handles, as Python does this one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if answer >= 0:
            # A program that runs in this interpreter would hold it, too.
            os.close(answer)
        run_program(job, gates, watch.begin(before) if watch else before)
        return
    if watch:
        watch.serve()
    for gate in gates:
        os.close(gate)
    if gates:
        # A process that the program left behind may hold the pipe open for ever.
        os.set_blocking(answer, False)
    status, cpu, peak = wait_for_program(child, display)
    said = read_sentinel(answer, nonce)
    if tree and tree["results"]:
        load_module(tree["reader"], "result_reader.py")["read_out"](channel, tree)
    if watch:
        watch.report(channel)
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    reached = "true" if nonce and said == nonce else "false"
    waits = "true" if nonce and said == nonce + b"?" else "false"
    text = '{"code": %d, "cpu_s": %.4f, "peak_kb": %d, "sentinel": %s, "waits": %s, "own_s": %.4f}\n'
    os.write(channel, (text % (code, cpu, peak, reached, waits, time.process_time())).encode())
    os._exit(0)


def read_job(channel: int) -> dict[str, Any]:
    """Return the job that the supervisor sends."""
    job: dict[str, Any] = marshal.loads(read_exactly(channel, int.from_bytes(read_exactly(channel, 8), "big")))
    return job


def main() -> None:
    """Do one job.

    Arguments: descriptors of the channel and of the system call filter, mount options of files in memory, the covers'
    folder, what is kept of /proc.
    """
    given, rules, files, covers, kept = (int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5:])
    # About 1 of 100 cold starts failed where a drawn descriptor was the launcher's own channel; 0 of 1,200 since.
    # So it goes to a low number: the program's two are drawn from the high ones.
    channel = os.dup(given)
    os.close(given)
    try:
        check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")  # no writing into this process through /proc/1/mem
        check(libc.unshare(NEW_MOUNTS), "unshare")
        mount(b"none", b"/", None, RECURSIVE | PRIVATE)
        mount_bounded_files(files)
        cover_proc_files(covers, kept)
        mount_terminals()
        with open(rules, "rb") as stream:
            program = stream.read()
        drop_capabilities()
        install_filter(program)
    except OSError as error:
        os.write(channel, ('{"error": "the walls were not built: %s"}\n' % error).encode())
        os._exit(0)
    run_job(channel, read_job(channel))


if __name__ == "__main__":
    main()
