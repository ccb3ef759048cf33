"""All programs of the suite."""

from dataclasses import replace

from .notation import LANGUAGES
from .others import other_programs
from .places import CORRECT, PLACES, VARIANTS, Place
from .program import Program
from .shapes import SHAPES

# Options of debug information and of the linker, with which some of the fence programs are compiled, too: for C and C++,
# for Rust, whether the evidence that a fence is missing is as good as with -g, and what else must be so.
OPTIONS = {
    "g1": (["-g1"], ["-Cdebuginfo=1"], False),
    "g3": (["-g3"], None, None),
    "split": (["-gsplit-dwarf"], ["-Csplit-debuginfo=unpacked"], None),
    "icf_gold": (["-ffunction-sections", "-fuse-ld=gold", "-Wl,--icf=all"], None, None),
    "icf_lld": (["-ffunction-sections", "-fuse-ld=lld", "-Wl,--icf=all"], None, None),
}
WITH_OPTIONS = ("mp-after_loop", "mp-inline", "seqlock-do_while", "refcount-branch", "mp_back-loop_head")


def fence_program(language, shape_name, place_name, variant):
    shape = SHAPES[shape_name](PLACES[place_name][0])
    place = Place(shape.title, place_name, variant, shape.order)
    files = {"main." + language.suffix: language.program(shape, place, shape.fields), **place.other_files(language)}
    flags = place.flags(language)
    if language.name == "cpp":
        flags.append("-std=c++20" if place_name == "cold" else "-std=c++17")
    return Program(family="fence", name=f"{shape_name}-{place_name}-{variant}", language=language.name,
                   correct=variant in CORRECT, variant=variant, place=place_name,
                   files={name: "\n".join(lines) + "\n" for name, lines in files.items()}, flags=flags)


def fence_programs():
    for language in LANGUAGES.values():
        for shape in SHAPES:
            for place in PLACES:
                for variant in VARIANTS:
                    yield fence_program(language, shape, place, variant)


def option_programs():
    for language in LANGUAGES.values():
        for name in WITH_OPTIONS:
            for variant in VARIANTS:
                for option, (flags, rust_flags, settled) in OPTIONS.items():
                    flags = rust_flags if language.name == "rust" else flags
                    if flags:
                        program = fence_program(language, *name.split("-"), variant)
                        yield replace(program, family="option", name=f"{program.name}-{option}",
                                      flags=program.flags + flags, settled=settled,
                                      levels=("O0", "O1", "O2", "O3", "Os"))


def all_programs():
    yield from fence_programs()
    yield from other_programs()
    yield from option_programs()
