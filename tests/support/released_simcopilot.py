"""A release of SimCopilot in its own layout, with small programs of ours under the names of released ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

PYTHON = """\
def total(items):
\tresult = 0
\tfor item in items:
\t\tresult += item
\treturn result


def unused(items):
\tprint("unused")
\treturn list(items)
"""
CASES = {
    "test_case1": "print('start', total([1, 2]))\nprint(total([3]))",
    "expected_output1": "start 3\\n3\\n",
    "test_case2": "print(total([]))",
    "expected_output2": "0",
    "test_case3": "print(total([4]))",
    "expected_output3": "4",
}
JAVA = """\
import junit.framework.TestCase;

class Machine {
  static int twice(int value) {
    return value + value;
  }
}

class Helper {
  static int once(int value) {
    return value + 0;
  }
}

public class FactorizationTester extends TestCase {
  public void testTwice() {
    if (Machine.twice(2) != 4 || Helper.once(3) != 3) {
      throw new AssertionError("twice");
    }
  }
@others
}
"""
_OTHERS = "\n".join(f"  public void testNothing{n}() {{}}" for n in range(17))
OLDER_HELPER = "class Helper { static int once(int value) { return value; } }"
JUNIT = {
    "junit/framework/TestCase.java": "package junit.framework; public class TestCase {}",
    "org/junit/runner/JUnitCore.java": """\
package org.junit.runner;
public class JUnitCore {
  public static class Result {
    public int runs;
    public java.util.List<Failure> failures = new java.util.ArrayList<>();
    public int getRunCount() { return runs; }
    public java.util.List<Failure> getFailures() { return failures; }
  }
  public static class Failure {
    public String trace;
    public String getTestHeader() { return "test"; }
    public String getTrace() { return trace; }
  }
  public static Result runClasses(Class<?>... classes) throws Exception {
    Result result = new Result();
    for (java.lang.reflect.Method method : classes[0].getMethods()) {
      if (method.getName().startsWith("test")) {
        result.runs++;
        try {
          method.invoke(classes[0].getConstructor().newInstance());
        } catch (java.lang.reflect.InvocationTargetException thrown) {
          Failure failure = new Failure();
          failure.trace = String.valueOf(thrown.getCause());
          result.failures.add(failure);
        }
      }
    }
    return result;
  }
}
""",
}


def write_release(root: Path, *, cases: Mapping[str, str] = CASES, labels: bool = True) -> Path:
    """Write the layout of the release, with one Python program, two tasks in it, and another whose input is missing."""
    python = root / "example_code" / "Python"
    for name, text in {"simplex_method": PYTHON, "Image_Filtering": "print('filtered')\n"}.items():
        (python / name).mkdir(parents=True)
        (python / name / f"{name}.py").write_text(text)
        (python / name / f"{name}.json").write_text(json.dumps(cases))
    (python / "simplex_method" / "data.txt").write_text("an input\n")
    spans = [
        _record("simplex_method", "final_output", [[3, 4], [9, 9]], [[4, 4]]),
        _record("Image_Filtering", "all_output", [[1, 1]], []),
    ]
    (python / "Python_tasks_checkpoints.json").write_text(json.dumps(spans))
    if labels:
        folder = root / "Analysis_Results" / "Dependency_Records" / "Python" / "Verified"
        folder.mkdir(parents=True)
        for name in ("simplex_method", "Image_Filtering"):
            uses = "var_name,usage_line,def_line,scope_type,range_type\nresult,4,2,local,\n"
            (folder / f"{name}_dependency_verified.csv").write_text(uses)
            (folder / f"{name}_reason_verified.csv").write_text("reason_category,usage_line\nLoop Body,4\n")
    return root


def add_java(root: Path) -> Path:
    """Add a Java program with three tasks: tested, in a class that an older jar contains, and in the test class."""
    folder = root / "example_code" / "Java" / "COMP215" / "A0" / "Test"
    folder.mkdir(parents=True)
    (folder / "FactorizationTester.java").write_text(JAVA.replace("@others", _OTHERS))
    spans = [_record("FactorizationTester", "final_output", [[5, 5], [11, 11], [17, 19]], [[5, 6]])]
    (root / "example_code" / "Java" / "Java_tasks_checkpoints.json").write_text(json.dumps(spans))
    _jar(folder / "older.jar", {"Helper.java": OLDER_HELPER})
    _jar(folder.parents[1] / "junit-platform-console-standalone-1.9.3.jar", JUNIT)
    labels = root / "Analysis_Results" / "Dependency_Records" / "Java" / "Verified"
    labels.mkdir(parents=True)
    uses = "name,usage_line,def_line,scope_type,range_type\nvalue,5,4,locals,\n"
    (labels / "FactorizationTester_dependency_verified.csv").write_text(uses)
    (labels / "FactorizationTester_reason_verified.csv").write_text("reason_category,usage_line\n")
    return root


def _record(name: str, output: str, infill: list[list[int]], completion: list[list[int]]) -> dict[str, object]:
    return {
        "Task_Name": name, "LN_range": [[1, 20]], "output_to_check": output,
        "checkpoint_LN_infilling": infill, "checkpoint_LN_Completion": completion,
    }  # fmt: skip


def _jar(path: Path, sources: Mapping[str, str]) -> None:
    folder = path.with_suffix("")
    for name, text in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    compiler = ["javac", "-d", str(folder / "classes"), *(str(folder / name) for name in sources)]
    subprocess.run(compiler, check=True)
    with zipfile.ZipFile(path, "w") as jar:
        for made in sorted((folder / "classes").rglob("*.class")):
            jar.write(made, made.relative_to(folder / "classes"))
    shutil.rmtree(folder)
