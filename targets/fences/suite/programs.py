"""All programs of the suite."""

from dataclasses import dataclass, field

from .notation import LANGUAGES
from .places import CORRECT, PLACES, VARIANTS, Place
from .shapes import SHAPES

# Combinations that make no sense, and why.
LEFT_OUT = {}


@dataclass
class Program:
    family: str
    name: str
    language: str
    correct: bool
    variant: str
    place: str
    files: dict  # name: text; the first is the main one
    flags: list = field(default_factory=list)
    levels: tuple = ()  # of optimisation; empty: all
    compilers: tuple = ()  # empty: all of the language


def fence_programs():
    for language in LANGUAGES.values():
        for shape_name, make in SHAPES.items():
            for place_name, (skeleton, _) in PLACES.items():
                if (shape_name, place_name) in LEFT_OUT:
                    continue
                shape = make(skeleton)
                for variant in VARIANTS:
                    place = Place(shape.title, place_name, variant, shape.order)
                    main = language.program(shape, place, shape.fields)
                    files = {"main." + language.suffix: main, **place.other_files(language)}
                    flags = place.flags(language)
                    if language.name == "cpp":
                        flags.append("-std=c++20" if place_name == "cold" else "-std=c++17")
                    elif language.name == "c":
                        flags.append("-std=gnu11")
                    yield Program("fence", f"{shape_name}-{place_name}-{variant}", language.name, variant in CORRECT,
                                  variant, place_name, {name: text(lines) for name, lines in files.items()}, flags)


def text(lines):
    return "\n".join(lines) + "\n"


def all_programs():
    yield from fence_programs()
