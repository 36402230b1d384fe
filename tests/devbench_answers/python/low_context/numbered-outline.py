from dataclasses import dataclass


@dataclass
class Section:
    heading: str
    parts: tuple["Section", ...] = ()


def numbered(sections: tuple[Section, ...], above: str = ""):
    """Yield "1 Heading", "1.1 Part", ... of an outline, parents before their parts."""
    for position, section in enumerate(sections, start=⟦1):
        number = f"{above}{position}"
        yield f"{number} {section.heading}"
        yield from numbered(section.parts, f"{number}.")
⟧
⟦tests⟧
guide = (
    Section("Tools"),
    Section("Hulls", (Section("Planks"), Section("Ribs", (Section("Oak"),)))),
    Section("Paint"),
)
lines = numbered(guide)
assert next(lines) == "1 Tools"
assert list(lines) == ["2 Hulls", "2.1 Planks", "2.2 Ribs", "2.2.1 Oak", "3 Paint"]
assert list(numbered(())) == []
assert list(numbered((Section("Only"),), "A.")) == ["A.1 Only"]
many = tuple(Section(letter) for letter in "abcdefghijk")
assert list(numbered(many))[-1] == "11 k"
