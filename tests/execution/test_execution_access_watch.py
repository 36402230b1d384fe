"""Watch of programs: files outside of their own folders and connections are seen, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from caretbench.build.validation.forbidden_access import forbidden_access
from caretbench.execution.cache.cache_keys import verdict_key
from caretbench.execution.cache.result_cache import ResultCache
from caretbench.execution.execution_types import ExecutionRequest, Status
from caretbench.execution.local_executor import LocalExecutor
from caretbench.execution.sandbox.program_sandbox import Sandbox, SandboxUnavailable

NODE = "const fs = require('fs');\n"
FILES = "#include <fstream>\n#include <netdb.h>\n#include <string>\n#include <arpa/inet.h>\n#include <sys/socket.h>\n"
FORBIDDEN = [
    ("python", "assert open('/etc/passwd').read()\n", "reads /etc/passwd"),
    ("python", "import os\nfrom pathlib import Path\nassert os.listdir(Path('/') / 'etc')\n", "reads /etc"),
    ("python", "try:\n    open('/var/log/app.log', 'a')\nexcept OSError:\n    pass\n", "writes /var/log/app.log"),
    ("python", "import socket\ntry:\n    socket.create_connection(('10.1.2.3', 80), 1)\nexcept OSError:\n    pass\n",
     "connects to 10.1.2.3, port 80"),
    ("python", "import urllib.request\ntry:\n    urllib.request.urlopen('http://example.com')\nexcept OSError:\n"
     "    pass\n", "looks up a host's name"),
    ("python", "import subprocess\nsubprocess.run(['cat', '/etc/hostname'], check=True)\n", "reads /etc/hostname"),
    ("python", "import inspect\ndef f():\n    return 1\nassert 'return' in inspect.getsource(f)\n",
     "reads its own source"),
    ("javascript", f"{NODE}try {{ fs.readFileSync('/home/me/settings.json') }} catch {{}}\n",
     "reads /home/me/settings.json"),
    ("javascript", f"{NODE}if (!fs.readFileSync(__filename, 'utf8').length) throw Error()\n", "reads its own source"),
    ("javascript", "fetch('http://example.com').catch(() => {})\n", "looks up a host's name"),
    ("javascript", "require('net').connect(80, '10.0.0.1').on('error', () => {})\n", "connects to 10.0.0.1, port 80"),
    ("cpp", f"{FILES}int main() {{ std::ifstream file(\"/etc/hostname\"); }}\n", "reads /etc/hostname"),
    ("cpp", f"{FILES}int main() {{ std::ofstream file(\"/srv/left.txt\"); }}\n", "writes /srv/left.txt"),
    ("cpp", FILES + "int main() {\n  sockaddr_in6 to{};\n  to.sin6_family = AF_INET6;\n  to.sin6_port = htons(443);\n"
     "  inet_pton(AF_INET6, \"2001:db8::1\", &to.sin6_addr);\n  int s = socket(AF_INET6, SOCK_STREAM, 0);\n"
     "  return connect(s, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;\n}\n",
     "connects to 2001:db8::1, port 443"),
]  # fmt: skip
HARMLESS = [
    ("python", "import decimal, email.message, sqlite3, tempfile, zoneinfo\nzoneinfo.ZoneInfo('Europe/Berlin')\n"
     "with tempfile.TemporaryFile() as file:\n    file.write(b'etc')\nopen('/dev/null', 'w').write('x')\n"
     "assert open('/proc/self/stat').read()\nopen('usr.txt', 'w').write('x')\n"
     "try:\n    open('/nonexistent/settings.json')\nexcept FileNotFoundError:\n    pass\n"),
    ("python", "import logging, socket, threading, traceback, warnings\nwarnings.warn('old')\ntry:\n    1 / 0\n"
     "except ZeroDivisionError:\n    assert '1 / 0' in traceback.format_exc()\nserver = socket.create_server(('', 0))\n"
     "socket.create_connection(('localhost', server.getsockname()[1]))\nassert socket.getfqdn()\n"),
    ("javascript", f"{NODE}fs.writeFileSync('/tmp/work/x', '1'); fs.readFileSync('/dev/null'); fs.readdirSync('.')\n"
     "const server = require('http').createServer((q, s) => s.end('x')).listen(0, async () => {\n"
     "  await (await fetch(`http://127.0.0.1:${server.address().port}`)).text(); server.close() })\n"),
    ("cpp", f"{FILES}int main() {{ std::ofstream(\"/tmp/x\") << 1; std::ifstream file(\"/proc/self/maps\"); }}\n"),
]  # fmt: skip


@pytest.fixture(scope="module")
def executor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalExecutor]:
    sandbox = Sandbox()
    if sandbox.probe().level != "namespaces":
        pytest.skip("only namespaces show what a program opens")
    yield LocalExecutor(sandbox=sandbox, cache=ResultCache(tmp_path_factory.mktemp("cache")))
    sandbox.close()


def watched(identity: str, language: str, source: str) -> ExecutionRequest:
    return ExecutionRequest(id=identity, language=language, source=source, watched=True)


def test_accesses_are_seen_and_only_those_that_the_program_makes(executor: LocalExecutor) -> None:
    cases = {f"{number}": case for number, case in enumerate((*FORBIDDEN, *((*one, "") for one in HARMLESS)))}
    requests = {name: watched(name, language, source) for name, (language, source, _) in cases.items()}
    results = [one for one in executor.submit(requests.values()) if one.status is not Status.SKIPPED]
    assert results
    for result in results:
        assert (result.status, result.accesses is None) == (Status.PASSED, False), (cases[result.id], result.stderr)
        assert (
            forbidden_access(requests[result.id].source, requests[result.id].language, result.accesses)
            == cases[result.id][2]
        ), result.accesses


def test_a_program_that_is_not_watched_keeps_its_key_and_has_no_accesses(executor: LocalExecutor) -> None:
    request = watched("one", "python", "open('/etc/passwd')\n")
    plain = request.model_copy(update={"watched": False})
    assert verdict_key(request, toolchain="t", bundle="") != verdict_key(plain, toolchain="t", bundle="")
    [result] = executor.submit([plain])
    assert (result.status, result.accesses) == (Status.PASSED, None)


def test_under_landlock_accesses_are_unseen(tmp_path: Path) -> None:
    sandbox = Sandbox(level="landlock")
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    [result] = LocalExecutor(sandbox=sandbox, cache=ResultCache(tmp_path)).submit([watched("one", "python", "1\n")])
    assert (result.status, result.accesses) == (Status.PASSED, None)
