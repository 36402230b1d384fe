"""Answers that fake a pass are flagged; honest ones, and what the reference answer does too, are not."""

from __future__ import annotations

import pytest

from caretbench.execution.scan.tamper import TamperPattern, tamper_flags, tamper_table
from caretbench.languages import languages

EARLY, HOOK = "tamper:early_exit", "tamper:exit_hook"
WEAKENED, REACHES = "tamper:weakened_assertions", "tamper:reaches_the_harness"

FAKED = [
    ("python", "    import sys; sys.exit(0)\n", EARLY),
    ("python", "    import os\n    os._exit(0)\n", EARLY),
    ("python", "raise SystemExit\n", EARLY),
    ("python", "import atexit, os\natexit.register(lambda: os._exit(0))\n", HOOK),
    ("python", "import builtins\nbuiltins.AssertionError = str\n", WEAKENED),
    ("python", "for f in os.listdir('/proc/self/fd'): os.write(int(f), b'D')\n", REACHES),
    ("python", "sys._getframe(1).f_globals.clear()\n", REACHES),
    ("javascript", "process.exit(0);\n", EARLY),
    ("javascript", "process['exit'](0);\n", EARLY),
    ("javascript", "process.on('uncaughtException', () => {});\n", HOOK),
    ("javascript", "assert.strictEqual = () => {};\n", WEAKENED),
    ("javascript", "const a = assert\na.ok = () => {}\n", WEAKENED),
    ("javascript", "((a) => { a[name] = () => {}; })(assert);\n", WEAKENED),
    ("javascript", "const check = require('node:assert');\nfor (const k in check) check[k] = () => {};\n", WEAKENED),
    ("javascript", "Object.assign(checks, { strictEqual() {} });\n", WEAKENED),
    ("javascript", "t.assert.throws = () => {};\n", WEAKENED),
    ("typescript", "const a: any = assert as any\na.rejects = async () => {};\n", WEAKENED),
    ("javascript", "const a = require('node:assert'); a.ok = noop;\n", WEAKENED),
    ("javascript", "const { strict: check } = require('assert'); check.match = noop;\n", WEAKENED),
    ("javascript", "const a = require(`node:assert`); set(a, 'strictEqual');\n", WEAKENED),
    ("javascript", "import a from 'node:assert'; Reflect.set(a, 'equal', () => {});\n", WEAKENED),
    ("javascript", "const { mock } = require('node:test'); mock.method(library, 'equal', () => {});\n", WEAKENED),
    ("javascript", "require('node:assert')['strictEqual'] = () => {};\n", WEAKENED),
    ("javascript", "const t = require('node:test'); t.test = () => {};\n", WEAKENED),
    ("javascript", "globalThis.test = () => {};\n", WEAKENED),
    ("typescript", "import * as a from 'node:assert'; const { equal } = replaced(a);\n", WEAKENED),
    ("typescript", "import { strict as a } from 'node:assert'; [a.equal] = [() => {}];\n", WEAKENED),
    ("typescript", "console.assert = () => {};\n", WEAKENED),
    ("typescript", "fs.writeSync(3, 'D');\n", REACHES),
    ("java", "System.exit(0);\n", EARLY),
    ("java", "Runtime.getRuntime().halt(0);\n", EARLY),
    ("java", "  return 1;\n}\npublic static void main(String[] a) {}\n}\nclass B {\n", "tamper:swallows_code"),
    ("java", "ClassLoader.getSystemClassLoader().setDefaultAssertionStatus(false);\n", WEAKENED),
    ("java", "Runtime.getRuntime().addShutdownHook(t);\n", HOOK),
    ("cpp", "std::quick_exit(0);\n", EARLY),
    ("cpp", "#define NDEBUG\n#include <cassert>\n", WEAKENED),
    ("cpp", "write(3, token, 9);\n", REACHES),
    ("rust", "std::process::exit(0);\n", EARLY),
    ("rust", "use std::process::{self, exit};\n", EARLY),
    ("rust", "std::panic::set_hook(Box::new(|_| ()));\n", HOOK),
    ("rust", "macro_rules! assert_eq { ($($any:tt)*) => {}; }\n", WEAKENED),
    ("rust", "impl PartialEq for A { fn eq(&self, _: &Self) -> bool { true } }\n", WEAKENED),
    ("rust", 'unsafe { file.write(b"D") };\n', REACHES),
    ("ruby", "  exit\n", EARLY),
    ("ruby", "  Process.exit!(true)\n", EARLY),
    ("ruby", "  Kernel.send('ex' + 'it')\n", "tamper:hidden_code"),
    ("ruby", "at_exit { exit 0 }\n", HOOK),
    ("ruby", "class Integer\n  def ==(other) = true\nend\n", WEAKENED),
    ("ruby", "def assert_equal(*)\nend\n", WEAKENED),
    ("ruby", "  skip 'later'\n", WEAKENED),
    ("ruby", "  ObjectSpace.each_object(String) { |text| IO.for_fd(3).write(text) }\n", REACHES),
    ("csharp", "Environment.Exit(0);\n", EARLY),
    ("csharp", "System.Diagnostics.Trace.Listeners.Clear();\n", WEAKENED),
    ("csharp", "AppDomain.CurrentDomain.ProcessExit += (s, e) => {};\n", HOOK),
]

HONEST = [
    ("python", "    with path.open('w') as stream:\n        stream.write(text)\n    return exit_code\n"),
    ("python", "    assert exists, 'gone'\n"),
    ("javascript", "const assert = require('assert');\nassert.strictEqual(total, 3);\n"),
    ("javascript", "const value = assert => assert(1);\nif (assert === other) exit();\n"),
    ("javascript", "const { ok: isRight } = require('assert');\nreply.ok = true;\nseen[key] = 1;\n"),
    ("javascript", "const a = require('node:assert');\na.equal(x, 1);\na(x); // b\nthrow new a.AssertionError({});\n"),
    ("typescript", "import { strict as assert } from 'assert';\n// assert that a is\nassert.ok(a);\n"),
    (
        "javascript",
        "const test = require('node:test');\ntest('adds', t => { t.total = 1; assert.equal(t.total, 1) });\n",
    ),
    ("javascript", "this.match = pattern;\nstate.fail = failed.length;\n"),
    ("java", "  static void mainLoop() {}\n  Main.main(arguments);\n"),
    ("typescript", "import assert from 'assert';\nfs.writeFileSync(path, text);\n"),
    ("java", "System.out.println(exit);\nThread.currentThread().join();\n"),
    ("cpp", "stream.write(buffer, 3);\nfile.close(1);\nassert(total == 3);\n"),
    ("rust", "let total: i32 = all.iter().map(|one| one * 2).sum();\nassert_eq!(total, 3);\nprocess(total);\n"),
    ("rust", "    self.exit = exit_code;\n    Ok(abort)\n"),
    ("ruby", "  raise ArgumentError, 'none' if items.empty?\n  items.sum { |item| item.exit_code }\n"),
    ("ruby", "    assert_equal 3, total\n    return nil unless aborted?\n    @exit = :abort\n"),
    ("csharp", "Debug.Assert(total == 3);\nConsole.WriteLine(Environment.NewLine);\n"),
]


@pytest.mark.parametrize(("language", "answer", "flag"), FAKED)
def test_a_faked_pass_is_flagged(language: str, answer: str, flag: str) -> None:
    assert flag in tamper_flags(answer, "", language)


@pytest.mark.parametrize(("language", "answer"), HONEST)
def test_an_honest_answer_is_not_flagged(language: str, answer: str) -> None:
    assert tamper_flags(answer, "", language) == ()


def test_what_the_reference_does_too_is_honest() -> None:
    assert tamper_flags("sys.exit(1)\n", "    sys.exit(2)\n", "python") == ()
    assert tamper_flags("exit!(0)\n", "return 1\n", "ruby") == (EARLY,)  # another way than the reference's


def test_each_flag_stands_once() -> None:
    assert tamper_flags("sys.exit(0)\nos._exit(0)\nsys.exit(0)\n", "", "python") == (EARLY,)


def test_every_language_has_patterns() -> None:
    assert all(tamper_table(name) for name in languages())
    assert tamper_flags("exit(0)", "", "cobol") == ()


HIDDEN = [
    ("javascript", "assert /* of */ . equal = () => {};", WEAKENED),
    ("javascript", "assert // of\n  .equal = () => {};", WEAKENED),
    ("typescript", "\\u{61}ssert.equal = () => {};", WEAKENED),
    ("java", "Sys\\uu0074em.exit(0);", EARLY),
    ("python", "unittest.TestCase.\uff41ssertEqual = print", WEAKENED),
    ("python", "getattr(os, '_ex' 'it')(0)", EARLY),
    ("cpp", "#unde\\\nf assert", WEAKENED),
    ("go", "func panic(any) {}", WEAKENED),
]


@pytest.mark.parametrize(("language", "answer", "flag"), HIDDEN)
def test_another_spelling_hides_nothing(language: str, answer: str, flag: str) -> None:
    assert flag in tamper_flags(answer, "", language)


@pytest.mark.parametrize("seed", ["/**/", "/*", "def f(", 'extern "C" ', "new Promise(", "Runtime.", "\n", '" + '])
@pytest.mark.parametrize("language", ["python", "javascript", "java", "cpp"])
def test_no_answer_keeps_the_scan_busy(language: str, seed: str) -> None:
    assert isinstance(tamper_flags("#" + seed * 2_000, "", language), tuple)


def test_patterns_that_hostile_text_could_make_slow_are_refused() -> None:
    with pytest.raises(ValueError, match="be bounded"):
        TamperPattern(name="early_exit", pattern=r"exit\([^)]*\)")


def test_what_is_too_long_to_be_scanned_is_flagged() -> None:
    text = "x = 1\n" * 20_000
    assert tamper_flags(text, "", "python") == ("tamper:hidden_code",)
    assert tamper_flags(text, text, "python") == ()


def test_what_a_test_runner_would_report_is_flagged() -> None:
    assert "tamper:forges_the_report" in tamper_flags("path.write_text('<testsuite>')", "", "python")
    assert "tamper:forges_the_report" in tamper_flags("import _pytest.runner", "", "python")
    assert "tamper:forges_the_report" in tamper_flags("sys.modules['pytest'].fail = print", "", "python")
