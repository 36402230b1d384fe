"""Error kinds of small answers: calls with the same meaning, and answers that do not stop after a wrong statement."""

# ruff: noqa: E501  a case is a line: the reference, and the answer
from __future__ import annotations

import pytest

from caretbench.metrics.error_kinds.compared_answer import CaretPlace
from caretbench.metrics.error_kinds.text_kinds import text_kinds

PLACES = {
    "python": (
        "import log\n\n\ndef labels(x, row, key, name):\n    return [x, row, key, name]\n\n\ndef total(rows, user):\n    n = 0\n    ",
        "\n    return n\n\n\nprint(total([1], 'u'))\n",
    ),
    "java": (
        "class Shop {\n  int x, row, key;\n  int total(List<Item> rows, User user) {\n    int n = 0;\n    ",
        "\n    return n;\n  }\n}\n",
    ),
    "javascript": (
        "const x = 1, row = 2, key = 3;\nfunction total(rows, user) {\n  let n = 0;\n  ",
        "\n  return n;\n}\n",
    ),
    "cpp": ("int x, row, key;\nint total(std::vector<Item> rows, User user) {\n  int n = 0;\n  ", "\n  return n;\n}\n"),
    "csharp": (
        "class Shop {\n  int x, row, key;\n  int Total(List<Item> rows, User user) {\n    int n = 0;\n    ",
        "\n    return n;\n  }\n}\n",
    ),
    "go": (
        "package a\n\nvar x, row, key int\n\nfunc total(rows []Item, user User) int {\n\tn := 0\n\t",
        "\n\treturn n\n}\n",
    ),
    "rust": (
        "static X: i32 = 1;\nfn total(rows: Vec<Item>, user: User) -> i32 {\n    let mut n = 0;\n    ",
        "\n    n\n}\n",
    ),
    "ruby": ("x = row = key = 1\n\ndef total(rows, user)\n  n = 0\n  ", "\n  n\nend\n"),
}

SAME = {
    "python": [
        ('n = user.count("all")', "n = user.count('all')"),
        ('n = user.count("it\'s")', "n = user.count('it\\'s')"),
        ('n = user.count("all")', 'n = user.count("""all""")'),
        ('n = user.count(f"{user}: all")', "n = user.count(f'{user}: all')"),
        ('n = load(user, r"a\\d")', "n = load(user, r'a\\d')"),
        ('n = user["name"].count(user["age"])', "n = user['name'].count(user['age'])"),
        ("n = load(user, deep=True, limit=3)", "n = load(user, limit=3, deep=True)"),
        ("n = load(path=user, deep=True)", "n = load(deep=True, path=user)"),
        ("n = load(user, *rows, b=1, a=2, **user)", "n = load(user, *rows, a=2, b=1, **user)"),
        ("n = load(outer(b=1, a=2), c=3)", "n = load(outer(a=2, b=1), c=3)"),
        ("n = load({'a': user, 'b': rows})", "n = load({'b': rows, 'a': user})"),
        ("n = sum(item.price(2) for item in rows)", "n = sum(row.price(2) for row in rows)"),
        ("n = sum([cost(row) for row in rows])", "n = sum([cost(item) for item in rows])"),
        ("n = sum(cost(k, v) for k, v in rows.items())", "n = sum(cost(name, x) for name, x in rows.items())"),
        ("n = len({key: cost(key) for key in rows})", "n = len({x: cost(x) for x in rows})"),
        ("n = sum(cost(a, b) for a in rows for b in a)", "n = sum(cost(row, x) for row in rows for x in row)"),
        ("n = max(rows, key=lambda item: cost(item))", "n = max(rows, key=lambda row: cost(row))"),
        ("for item in rows:\n        n += cost(item)", "for row in rows:\n        n += cost(row)"),
        ('n = ", ".join(str(item) for item in rows)', "n = ', '.join(str(x) for x in rows)"),
        ("n = sum(1 for item in rows if ok(item.key, key=item))", "n = sum(1 for key in rows if ok(key.key, key=key))"),
    ],
    "java": [
        ("for (Item item : rows) n += cost(item);", "for (Item row : rows) n += cost(row);"),
        ("n = rows.stream().mapToInt(item -> cost(item)).sum();", "n = rows.stream().mapToInt(x -> cost(x)).sum();"),
        ("n = fold(rows, (a, b) -> join(a, b));", "n = fold(rows, (x, row) -> join(x, row));"),
        ('n = user.count("it\'s");', 'n = user.count("it\\\'s");'),
        ("n = fold(rows, (Item a) -> join(a, 1));", "n = fold(rows, (Item key) -> join(key, 1));"),
        ("try { n = load(); } catch (Error a) { log(a, 1); }", "try { n = load(); } catch (Error x) { log(x, 1); }"),
    ],
    "javascript": [
        ('n = user.count("all");', "n = user.count('all');"),
        ("n = user.count('all');", "n = user.count(`all`);"),
        ('n = user.count("it\'s");', "n = user.count('it\\'s');"),
        ("n = load(user, { deep: true, limit: 3 });", "n = load(user, { limit: 3, deep: true });"),
        ("n = load({ a: { c: 1, d: 2 }, b: 3 });", "n = load({ b: 3, a: { d: 2, c: 1 } });"),
        ("n = sum(rows.map(item => cost(item)));", "n = sum(rows.map(row => cost(row)));"),
        ("n = rows.reduce((a, b) => join(a, b), 0);", "n = rows.reduce((x, row) => join(x, row), 0);"),
        ("n = rows.filter(function (item) { return ok(item); });", "n = rows.filter(function (x) { return ok(x); });"),
        ("for (const item of rows) n += cost(item);", "for (const key of rows) n += cost(key);"),
        ("try { n = load(); } catch (error) { log(error); }", "try { n = load(); } catch (x) { log(x); }"),
    ],
    "cpp": [
        ("for (auto item : rows) n += cost(item);", "for (auto row : rows) n += cost(row);"),
        ("for (const auto& item : rows) n += cost(item);", "for (const auto& row : rows) n += cost(row);"),
        (
            "n = fold(rows, [](int a, int b) { return join(a, b); });",
            "n = fold(rows, [](int x, int row) { return join(x, row); });",
        ),
        ('n = user.count(R"(all)");', 'n = user.count("all");'),
        ("try { n = load(); } catch (Error& a) { log(a); }", "try { n = load(); } catch (Error& x) { log(x); }"),
    ],
    "csharp": [
        ("n = Load(user, deep: true, limit: 3);", "n = Load(user, limit: 3, deep: true);"),
        ("n = rows.Sum(item => Cost(item));", "n = rows.Sum(row => Cost(row));"),
        ("foreach (var item in rows) n += Cost(item);", "foreach (var row in rows) n += Cost(row);"),
        ('n = user.Count(@"all");', 'n = user.Count("all");'),
    ],
    "go": [
        ('n = user.Count("all")', "n = user.Count(`all`)"),
        (
            "for _, item := range rows {\n\t\tn += cost(item)\n\t}",
            "for _, row := range rows {\n\t\tn += cost(row)\n\t}",
        ),
        ("n = fold(rows, func(a int) int { return cost(a) })", "n = fold(rows, func(x int) int { return cost(x) })"),
    ],
    "rust": [
        ("n = rows.iter().map(|item| cost(item)).sum();", "n = rows.iter().map(|user| cost(user)).sum();"),
        ("for item in rows { n += cost(item); }", "for user in rows { n += cost(user); }"),
    ],
    "ruby": [
        ('n = user.count("all")', "n = user.count('all')"),
        ("n = load(user, deep: true, limit: 3)", "n = load(user, limit: 3, deep: true)"),
        ("n = rows.sum { |item| cost(item) }", "n = rows.sum { |row| cost(row) }"),
    ],
}

OTHER = {
    "python": [
        ('n = user.count("all")', "n = user.count('al l')"),
        ("n = user.count('all')", "n = user.count(b'all')"),
        ("n = load(user, deep=True, limit=3)", "n = load(user, deep=3, limit=True)"),
        ("n = load(user, rows)", "n = load(rows, user)"),
        ("n = sum(cost(a, b) for a, b in rows)", "n = sum(cost(b, a) for a, b in rows)"),
        ("n = sum(cost(item) for item in rows)", "n = sum(cost(user) for item in rows)"),
        ("n = sum(item.price(2) for item in rows)", "n = sum(row.cost(2) for row in rows)"),
        ("n = load({'a': user, 'b': rows})", "n = load({'b': user, 'a': rows})"),
        ("n = cost(x) + sum(cost(x) for x in rows)", "n = cost(y) + sum(cost(y) for y in rows)"),
        ("n = max(rows, key=user.name)", "n = max(rows, name=user.key)"),
        ("n = load(user, (1,))", "n = load(user, (1))"),
        ("n = load(**user, a=1)", "n = load(**rows, a=1)"),
    ],
    "java": [
        ("n = load(user, rows);", "n = load(rows, user);"),
        ("n = fold(rows, (a, b) -> join(a, b));", "n = fold(rows, (a, b) -> join(b, a));"),
        ("for (Item item : rows) n += cost(item);", "for (Item item : rows) n += cost(user);"),
        ("n = user.count(\"a\");", "n = user.count('a');"),
    ],
    "javascript": [
        ("n = load({ deep: true, limit: 3 });", "n = load({ deep: 3, limit: true });"),
        ("n = rows.reduce((a, b) => join(a, b), 0);", "n = rows.reduce((a, b) => join(b, a), 0);"),
        ("n = load({ ...user, a: 1 });", "n = load({ a: 1, ...user });"),
        ("n = user.count(`${key}`);", "n = user.count('${key}');"),
    ],
    "cpp": [
        ("n = user.count(\"a\");", "n = user.count('a');"),
        ("for (auto item : rows) n += cost(item);", "for (auto item : rows) n += cost(user);"),
        ("n = fold(rows, [](int a, int b) { return join(a, b); });", "n = fold(rows, [](int a, int b) { return join(b, a); });"),
    ],
}  # fmt: skip

GOES_ON = {
    "python": [
        ("n = len(rows)", "print(rows)\n    log.info(user)"),
        ("n = len(rows)", "user = rows\n    for row in rows:\n        print(row)"),
        ("n += user.age", "log.info(n)\n    n = 0\n    rows.clear()"),
        ("rows.sort()", "n = 3\n    n += 1\n    user = n"),
        ("rows.sort()", "print(rows)\n    print(user)"),
        ("if user:\n        n = 1", "n = 2\n    rows.clear()"),
        ("for row in rows:\n        n += row", "n = sum(rows)\n    print(n)"),
        ("log.info(user)", "n = 1\n\n    n = 2"),
        ("user.save()", "raise ValueError(user)\n    n = 1"),
        ("n = 1\n    user.save()", "print(n)\n    rows.clear()\n    log.info(n)"),
        ("assert user", "print(user)\n    n = 1"),
        ("del rows[0]", "rows = rows[1:]\n    n = len(rows)"),
    ],
    "java": [
        ("n = rows.size();", "log(rows);\n    user.save();"),
        ("user.save();", "n = 3;\n    n += 2;"),
        ("if (user != null) { n = 1; }", "n = 2;\n    rows.clear();"),
        ("for (Item row : rows) { n += row.cost(); }", "n = 2;\n    log(n);"),
        ("int k = n;", "rows.clear();\n    user.save();"),
        ("rows.clear();", "n++;\n    user.save();"),
        ("user.save(n);", "int k = 2;\n    n = k;\n    log(k);"),
        ("n += 1;", "log(n);\n    rows.clear();\n    log(user);"),
    ],
    "javascript": [
        ("n = rows.length;", "log(rows);\n  user.save();"),
        ("user.save();", "const k = 3;\n  n += k;"),
        ("if (user) { n = 1; }", "n = 2;\n  rows.pop();"),
        ("for (const row of rows) { n += row; }", "n = 2;\n  log(n);"),
        ("const k = n;", "rows.pop();\n  user.save();"),
        ("rows.pop();", "n++;\n  await user.save();"),
        ("await user.save(n);", "let k = 2;\n  n = k;\n  log(k);"),
        ("n += 1;", "log(n);\n  rows.pop();\n  log(user);"),
    ],
    "cpp": [
        ("n = rows.size();", "log(rows);\n  user.save();"),
        ("user.save();", "int k = 3;\n  n += k;"),
        ("if (user) { n = 1; }", "n = 2;\n  rows.clear();"),
        ("for (auto row : rows) { n += row; }", "n = 2;\n  log(n);"),
        ("int k = n;", "rows.clear();\n  user.save();"),
        ("rows.clear();", "n++;\n  user->save();"),
        ("std::cout << n;", "n = 2;\n  rows.clear();"),
        ("n += 1;", "log(n);\n  rows.clear();\n  log(user);"),
    ],
    "csharp": [("n = rows.Count;", "Log(rows);\n    user.Save();"), ("user.Save();", "var k = 3;\n    n += k;")],
    "go": [("n = len(rows)", "log(rows)\n\tuser.Save()"), ("user.Save()", "k := 3\n\tn += k")],
    "rust": [("n = rows.len();", "log(rows);\n    user.save();"), ("user.save();", "let k = 3;\n    n += k;")],
    "ruby": [("n = rows.size", "log(rows)\n  user.save"), ("user.save", "k = 3\n  n += k")],
}

STOPS = {
    "python": [
        ("n = sum(rows)", "for row in rows:\n        n += row"),
        ("n = sum(rows)", "found = list(rows)\n    n = sum(found)"),
        ("return sum(rows)", "k = 0\n    for row in rows:\n        k += row\n    return k"),
        ("rows.append(cost(user))", "k = cost(user)\n    rows.append(k)"),
        ("for row in rows:\n        n += row", "k = 0\n    while k < 3:\n        n += rows[k]\n        k += 1"),
        ("raise ValueError(user)", "text = str(user)\n    raise ValueError(text)"),
    ],
    "java": [
        ("n = sum(rows);", "int k = sum(rows);\n    n = k;"),
        ("return sum(rows);", "int k = sum(rows);\n    return k;"),
        ("user.save(cost(n));", "int k = cost(n);\n    user.save(k);"),
    ],
    "javascript": [
        ("n = sum(rows);", "const k = sum(rows);\n  n = k;"),
        ("return sum(rows);", "let k = 0;\n  for (const row of rows) k += row;\n  return k;"),
        ("const f = (a) => a + 1;", "let k = 1;\n  const f = (a) => a + k;"),
        ("rows.forEach((a) => user.add(a));", "rows.forEach(function (a) {\n    const k = a;\n    user.add(k);\n  });"),
    ],
    "cpp": [
        ("n = sum(rows);", "int k = sum(rows);\n  n = k;"),
        ("return sum(rows);", "int k = sum(rows);\n  return k;"),
        ("auto f = [](int a) { return a; };", "int k = 1;\n  auto f = [](int a) { int b = a; return b; };"),
    ],
}

WITHIN_LINES = [
    ("python", "n = ", "len(rows)", "rows\n    print(n)", True),
    ("python", "n = ", "len(rows)", "sum(\n        rows\n    )", False),
    ("python", "n = cost(", "rows)", "user)\n    print(n)", True),
    ("java", "n = ", "rows.size();", "user.age();\n    log(n);", True),
    ("javascript", "n = ", "rows.map(a => a);", "rows.map(function (a) { const k = a; return k; });", False),
    ("javascript", "rows.map(", "a => a);", "function (a) { const k = a; return k; });", False),
    ("javascript", "rows.map(", "a => a);", "user);\n  log(n);", True),
    ("cpp", "n = ", "rows.size();", "user.age();\n  log(n);", True),
    ("cpp", "n = fold(rows, ", "join);", "[](int a) { int k = a; return k; });", False),
]


def kinds_of(language: str, reference: str, answer: str, begun: str = "") -> set[str]:
    prefix, suffix = PLACES[language]
    found = text_kinds(answer, reference, CaretPlace(prefix + begun, suffix, language))
    return {name for name, value in found.items() if value}


def cases(table: dict[str, list[tuple[str, str]]]) -> list[tuple[str, str, str]]:
    return [(language, *pair) for language, pairs in table.items() for pair in pairs]


@pytest.mark.parametrize(("language", "reference", "answer"), cases(SAME))
def test_calls_with_the_same_meaning_are_not_wrong(language: str, reference: str, answer: str) -> None:
    assert "wrong_call" not in kinds_of(language, reference, answer)
    assert "wrong_call" not in kinds_of(language, answer, reference)


@pytest.mark.parametrize(("language", "reference", "answer"), cases(OTHER))
def test_calls_with_another_meaning_are_wrong(language: str, reference: str, answer: str) -> None:
    assert "wrong_call" in kinds_of(language, reference, answer)
    assert "wrong_call" in kinds_of(language, answer, reference)


@pytest.mark.parametrize(("language", "reference", "answer"), cases(GOES_ON))
def test_a_wrong_statement_that_goes_on_does_not_stop(language: str, reference: str, answer: str) -> None:
    assert "over_generation" in kinds_of(language, reference, answer)


@pytest.mark.parametrize(("language", "reference", "answer"), cases(STOPS))
def test_another_way_that_ends_alike_stops(language: str, reference: str, answer: str) -> None:
    assert not {"over_generation", "several_blocks"} & kinds_of(language, reference, answer)


@pytest.mark.parametrize(("language", "begun", "reference", "answer", "goes_on"), WITHIN_LINES)
def test_statements_after_a_line_that_was_begun(
    language: str, begun: str, reference: str, answer: str, goes_on: bool
) -> None:
    assert ("over_generation" in kinds_of(language, reference, answer, begun)) == goes_on
