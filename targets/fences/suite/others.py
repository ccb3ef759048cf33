"""The programs of others/: files, each of which makes right and wrong programs.

A line that ends with `//= right` or `//= wrong` is only in programs of that kind, without the mark. The first lines may say:

    // Values NAME: a | b | c      makes a program with each of these values in the place of NAME; if there are several
                                   such lines, they are gone through together
    // Flags: -g3                  for the compiler
    // Flags of wrong: -DWEAK      for the wrong programs only; `Flags of right` likewise
    // Compilers: g++ clang++-19   that can compile it; all unless said
    // Levels: O0 O2               of optimisation; all unless said
    // Unsettled: yes              the wrong programs may also be clean if the report says that something was strengthened or is not known
"""

import re
from pathlib import Path

from .program import Program

DIRECTORY = Path(__file__).resolve().parent.parent / "others"
LANGUAGES = {".c": "c", ".cc": "cpp", ".rs": "rust"}


def other_programs():
    for path in sorted(DIRECTORY.iterdir()):
        yield from programs_of(path)


def programs_of(path):
    text = path.read_text()
    said = dict(re.findall(r"^// (Flags|Flags of wrong|Flags of right|Compilers|Levels|Unsettled): (.*)$", text, re.M))
    values = {name: [value.strip() for value in choices.split("|")]
              for name, choices in re.findall(r"^// Values (\w+):(.*)$", text, re.M)}
    text = re.sub(r"^// (Values|Flags|Compilers|Levels|Unsettled).*\n", "", text, flags=re.M)
    language = LANGUAGES[path.suffix]
    for number in range(max(map(len, values.values()), default=1)):
        for variant in ("right", "wrong"):
            def fill(template):
                for name, choices in values.items():
                    template = re.sub(rf"\b{name}\b", lambda _: choices[number], template)
                return template

            flags = fill(said.get("Flags", "")).split()
            flags += said.get(f"Flags of {variant}", "").split()
            if language == "cpp" and not any(flag.startswith("-std") for flag in flags):
                flags.append("-std=c++17")
            yield Program(
                family="other", name=f"{path.stem}-{number + 1}-{variant}", language=language,
                correct=variant == "right", variant=variant, place=str(number + 1),
                files={"main" + path.suffix: fill(only(text, variant))}, flags=flags,
                levels=tuple(said.get("Levels", "").split()), compilers=tuple(said.get("Compilers", "").split()),
                settled=False if "Unsettled" in said else None)


def only(text, variant):
    """The lines of a variant."""
    lines = []
    for line in text.splitlines():
        code, _, mark = line.partition(" //= ")
        if mark in ("", variant):
            lines.append(code)
    return "\n".join(lines) + "\n"
