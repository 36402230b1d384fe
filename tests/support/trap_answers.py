"""Right answers that look like noise: brackets in literals, lines repeated on purpose, prose and fences as content.

An answer is between ``«`` and ``»`` in its program. ``hidden`` marks those that are right with a hidden suffix, too.
"""

# ruff: noqa: E501  a program per line

from __future__ import annotations

from typing import NamedTuple


class Trap(NamedTuple):
    """A right answer at its caret."""

    name: str
    language: str
    program: str
    hidden: bool = False

    @property
    def parts(self) -> tuple[str, str, str]:
        """Prefix, answer and suffix."""
        prefix, _, rest = self.program.partition("«")
        answer, _, suffix = rest.partition("»")
        return prefix, answer, suffix


def _java(body: str) -> str:
    return f"class A {{\n    int f(int x) {{\n        {body}\n    }}\n}}\n"


def _js(body: str) -> str:
    return f"function f(x) {{\n  {body}\n}}\n"


def _cpp(body: str) -> str:
    return f"#include <string>\nint f(int x) {{\n    {body}\n}}\n"


TRAPS = (
    # Brackets in literals
    Trap("python bracket in string", "python", 'def f(x):\n    «y = "}" + ")" * 2\n    return y»\n', True),
    Trap("python f-string braces", "python", 'def f(x):\n    «y = f"{{{x}}}"\n    return y + "("»\n', True),
    Trap("python regex", "python", 'import re\ndef f(x):\n    «return re.sub(r"[)\\]}]", "", x)»\n', True),
    Trap("java char", "java", _java("«char c = '}';\n        char d = '\"';\n        return c;»")),
    Trap("java string", "java", _java('«String s = "}}";\n        return s.length();»')),
    Trap("java text block", "java", _java('«String s = """\n            }\n            """;\n        return x;»')),
    Trap("java comment", "java", _java("«x++; // }\n        /* ) */\n        return x;»")),
    Trap("js regex", "javascript", _js("«const r = /[}\\])]/;\n  return r.test(x);»")),
    Trap("js template", "javascript", _js("«const s = `}${x + `)`}`;\n  return s;»")),
    Trap("js template with lines", "javascript", _js("«const s = `\nHere is the code:\n}\n`;\n  return s;»")),
    Trap("ts template", "typescript", _js("«const s: string = `{${x}`;\n  return s;»")),
    Trap("ts regex", "typescript", _js("«return x.replace(/\\{|\\(/g, '');»")),
    Trap("cpp raw string", "cpp", _cpp('«std::string s = R"x(}")")x";\n    return s.size();»')),
    Trap("cpp char", "cpp", _cpp("«if (x == '{') return '}';\n    return x;»")),
    Trap("csharp interpolated", "csharp", _java('«var s = $"{{{x}}}";\n        return s.Length;»')),
    Trap("csharp verbatim", "csharp", _java('«var s = @"}""{";\n        return s.Length;»')),
    Trap("go raw string", "go", "package a\n\nfunc f(x int) string {\n\t«s := `}\n)`\n\treturn s»\n}\n"),
    Trap("go rune", "go", "package a\n\nfunc f(x rune) bool {\n\t«if x == '}' {\n\t\treturn true\n\t}\n\treturn false»\n}\n"),
    Trap("rust lifetime and char", "rust", "fn f<'a>(x: &'a str) -> char {\n    «let y: &'a str = x;\n    if y == \"}\" { '{' } else { '}' }»\n}\n"),
    Trap("rust raw string", "rust", 'fn f() -> usize {\n    «let s = r#"}")"#;\n    s.len()»\n}\n'),
    Trap("ruby interpolation", "ruby", 'def f(x)\n  «y = "#{x}}"\n  y + ")"»\nend\n'),
    Trap("ruby heredoc", "ruby", "def f(x)\n  «y = <<~TEXT\n    end\n    }\n  TEXT\n  y»\nend\n"),
    # What a grammar may not know
    Trap("cpp pointer to member", "cpp", _cpp('«struct S { int g(); } s;\n    S* p = &s;\n    int (S::*g)() = &S::g;\n    return (p->*g)() + (s.*g)();»')),
    Trap("cpp if 0", "cpp", _cpp('«x++;\n#if 0\nold version (not finished\n#endif\n    return x;»')),
    Trap("cpp if 0 with an apostrophe", "cpp", _cpp("«x++;\n#if 0\n    it doesn't work {\n#endif\n    return x;»")),
    Trap("cpp case range", "cpp", _cpp('«switch (x) {\n        case 0 ... 3: return 1;\n        default: return 2;\n    }»')),
    Trap("cpp computed goto", "cpp", _cpp('«void* a[] = {&&one, &&two};\n    goto *a[x];\none:\n    return 1;\ntwo:\n    return 2;»')),
    Trap("cpp statement expression", "cpp", _cpp('«int y = ({ int z = x; z + 1; });\n    return y;»')),
    Trap("cpp macro without semicolon", "cpp", _cpp('«BEGIN_SCOPE(x)\n    x++;\n    END_SCOPE\n    return x;»')),
    Trap("cpp assembler", "cpp", _cpp('«asm volatile("nop" : "+r"(x) : : "memory");\n    return x;»')),
    Trap("cpp digraphs", "cpp", _cpp('«int a<:2:> = <% 1, 2 %>;\n    return a<:0:>;»')),
    Trap("cpp placement new", "cpp", _cpp('«alignas(int) char b[4];\n    return *new (b) int{x};»')),
    Trap("cpp if consteval", "cpp", _cpp('«if consteval { return 1; } else { return x; }»')),
    Trap("cpp directive in an expression", "cpp", _cpp('«return g(x,\n#ifdef A\n        1\n#else\n        2\n#endif\n    );»')),
    Trap("cpp branches that open one block", "cpp", _cpp('«#ifdef A\n    if (x) {\n#else\n    if (!x) {\n#endif\n        x++;\n    }\n    return x;»')),
    Trap("csharp branches that open one block", "csharp", _java('«#if A\n        if (x > 1) {\n#else\n        if (x > 2) {\n#endif\n            x++;\n        }\n        return x;»')),
    Trap("cpp attributes", "cpp", _cpp('«[[maybe_unused]] int y = x;\n    if (x) [[likely]] return 1;\n    return y;»')),
    Trap("cpp foreach macro", "cpp", _cpp('«Q_FOREACH (const int& y, list) {\n        x += y;\n    }\n    return x;»')),
    # Lines repeated on purpose
    Trap("python pop twice", "python", "def f(q):\n    q.pop()\n    «q.pop()\n    return q»\n", True),
    Trap("python pop before pop", "python", "def f(q):\n    «x = 1\n    q.pop()»\n    q.pop()\n    return q\n"),
    Trap("python long call twice", "python", "def f(out):\n    out.write_separator_line('-')\n    «out.write_separator_line('-')\n    return 1»\n", True),
    Trap("python long call before it", "python", "def f(out):\n    «out.begin()\n    out.write_separator_line('-')»\n    out.write_separator_line('-')\n"),
    Trap("python next twice", "python", "def f(it):\n    line = next(it)\n    «line = next(it)\n    return line»\n", True),
    Trap("python augmented twice", "python", "def f(x):\n    x *= 2\n    «x *= 2\n    return x»\n", True),
    Trap("python same last line", "python", "def f(x):\n    «if x:\n        return None»\n    return None\n"),
    Trap("python same header with its body", "python", "def f(x):\n    for i in x:\n        g(i)\n    «for i in x:\n        h(i)»\n"),
    Trap("python nested same loop", "python", "def f(x):\n    for _ in range(3):\n        «for _ in range(3):\n            x += 1»\n    return x\n"),
    Trap("java call twice", "java", _java("list.poll();\n        «list.poll();\n        return x;»")),
    Trap("java call before it", "java", _java("«x++;\n        list.poll();»\n        list.poll();\n        return x;")),
    Trap("java nested same loop", "java", _java("while (next()) {\n            «while (next()) {\n                x++;\n            }»\n        }\n        return x;")),
    Trap("js assertions twice", "javascript", _js("iterator.next();\n  «iterator.next();\n  return x;»")),
    Trap("cpp shift twice", "cpp", _cpp("x <<= 1;\n    «x <<= 1;\n    return x;»")),
    Trap("go call twice", "go", "package a\n\nfunc f(r R) {\n\tr.UnreadRune()\n\t«r.UnreadRune()\n\tr.Close()»\n}\n"),
    Trap("rust call twice", "rust", "fn f(c: &mut C) {\n    c.next();\n    «c.next();\n    c.finish();»\n}\n"),
    Trap("ruby shift twice", "ruby", "def f(q)\n  q.shift\n  «q.shift\n  q»\nend\n"),
    Trap("csharp read twice", "csharp", _java("reader.Read();\n        «reader.Read();\n        return x;»")),
    Trap("same case bodies", "java", _java("switch (x) {\n            case 1:\n                x = 2;\n                break;\n            «case 3:\n                x = 2;\n                break;»\n        }\n        return x;")),
    # The beginning of the caret's line again, as a part of the answer
    Trap("python recursion", "python", "def fact(n):\n    return n * fact(«fact(n - 1))»\n"),
    Trap("python name that begins so", "python", "def f(iffy):\n    if «iffy > 3»:\n        return 1\n"),
    Trap("python not not", "python", "def f(x):\n    return not «not x»\n"),
    Trap("python chained", "python", "def f(x):\n    total = «totals = x»\n    return total, totals\n"),
    Trap("java recursion", "java", _java("return max(«max(1, 2), x);»")),
    Trap("java minus minus", "java", _java("return -«-x;»")),
    Trap("js await", "javascript", "async function f(x) {\n  await «await x;»\n}\n"),
    Trap("rust references", "rust", "fn f(x: i32) -> i32 {\n    g(&«&x)»\n}\n"),
    # Column 0 and odd layout
    Trap("python comment in column 0", "python", "def f(x):\n    «a = 1\n# next\n    return a»\n", True),
    Trap("python continued in column 0", "python", "def f(x):\n    «a = g(\n1,\n)\n    return a»\n", True),
    Trap("python string in column 0", "python", 'def f(x):\n    «a = """\none\n"""\n    return a»\n', True),
    Trap("python backslash", "python", "def f(x):\n    «a = 1 + \\\n2\n    return a»\n", True),
    Trap("python commented-out code", "python", "def f(x):\n    «a = 1\n#    return 2\n\n    return a»\n", True),
    Trap("python else", "python", "def f(x):\n    if x:\n        «y = 1\n    else:\n        y = 2»\n    return y\n"),
    Trap("python except", "python", "def f(x):\n    try:\n        «y = 1\n    except OSError:\n        y = 2»\n    return y\n"),
    Trap("python deeper than needed", "python", "def f(x):\n    if x:\n    «        y = 1\n            z = 2»\n    return 3\n"),
    Trap("java else", "java", _java("if (x > 1) {\n            «x--;\n        } else {\n            x++;»\n        }\n        return x;")),
    Trap("cpp directive", "cpp", _cpp("«x++;\n#ifdef DEBUG\n    x--;\n#endif\n    return x;»")),
    Trap("cpp label", "cpp", _cpp("«goto done;\ndone:\n    return x;»")),
    Trap("csharp region", "csharp", _java("«x++;\n#region a\n        x--;\n#endregion\n        return x;»")),
    Trap("ruby =begin", "ruby", "def f(x)\n  «y = 1\n=begin\nHere is the code:\n=end\n  y»\nend\n"),
    Trap("python tabs", "python", "def f(x):\n\t«if x:\n\t\treturn 1\n\treturn 2»\n", True),
    Trap("javascript lines at will", "javascript", _js("«if (x)\n{ x++ }\n      else\n  x--\nreturn x»")),
    # Prose and fences as content
    Trap("python docstring", "python", 'def f(x):\n    «"""Here is the code:\n\n    ```python\n    f(1)\n    ```\n    """\n    return x»\n'),
    Trap("python comment that chats", "python", "def f(x):\n    «# Here is the code:\n    y = 1\n    # This completes the function.\n    return y»\n", True),
    Trap("python string of prose", "python", 'def f(x):\n    «y = """\nSure! Here is the completed code:\n\nThis completes the function.\n"""\n    return y»\n', True),
    Trap("python words", "python", "def f(x, y):\n    «return x if x not in y and y is not None else None»\n", True),
    Trap("python header of words", "python", "def f(x):\n    «for item in x:\n        yield item\n    else:\n        pass»\n", True),
    Trap("java comment that chats", "java", _java("«/*\n        Here is the code:\n        This completes the function.\n        */\n        return x;»")),
    Trap("javascript comment", "javascript", _js("«// This completes the function.\n  return x;»")),
    Trap("ruby words", "ruby", "def f(x)\n  «raise ArgumentError unless x and not y\n  return x unless x nil\n  x»\nend\n".replace(" unless x nil", " unless y")),
    Trap("ruby commands", "ruby", "class A\n  «attr_reader :name\n  include Comparable\n  private»\n\n  def f\n  end\nend\n"),
    Trap("sql in go", "go", "package a\n\nfunc f() string {\n\t«return `\nSelect the rows that are new.\n\nThis completes the query.\n`»\n}\n"),
    Trap("cpp go to the end", "cpp", _cpp("«int y = x;\n\n    // Note that the value is checked before it is used.\n    return y;»")),
    Trap("javascript tagged template", "javascript", _js("«return sql`\nThe rows that are new.\n`;»")),
    Trap("rust doc comment", "rust", "mod a {\n    «/// Here is the code:\n    /// ```\n    /// f(1)\n    /// ```\n    fn f(x: i32) -> i32 {\n        x\n    }»\n}\n"),
    # Ends
    Trap("python blank lines at its beginning", "python", "def f(x):«\n\n    return x»\n", True),
    Trap("python class after class", "python", "class A:\n    «x = 1\n\n    def g(self):\n        return 1»\n\n\nclass B:\n    pass\n"),
    Trap("java array", "java", _java("int[] a = {«1, 2};\n        return a[0];»")),
    Trap("typescript generics", "typescript", _js("«const a: Map<string, Array<number>> = new Map();\n  return a;»")),
    Trap("typescript jsx-like", "typescript", _js("«const a = <number>x;\n  return a < 3 && 4 > a;»")),
    Trap("csharp lambda", "csharp", _java("«return Run(() => {\n            return 1;\n        });»")),
    Trap("go func literal", "go", "package a\n\nfunc f() {\n\t«defer func() {\n\t\tg()\n\t}()\n\th()»\n}\n"),
    Trap("rust match", "rust", "fn f(x: i32) -> i32 {\n    match x {\n        «1 => 2,\n        _ => {\n            3\n        }»\n    }\n}\n"),
    Trap("ruby block", "ruby", "def f(x)\n  «x.each do |y|\n    puts y if y\n  end\n  x.map { |y| y }»\nend\n"),
)  # fmt: skip
"""Right answers, one per trap."""
