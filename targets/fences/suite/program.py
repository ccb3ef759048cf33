"""What the runner knows of a program."""

from dataclasses import dataclass, field


@dataclass
class Program:
    family: str
    name: str  # SHAPE-PLACE-VARIANT, and perhaps something more
    language: str
    correct: bool
    variant: str
    place: str
    files: dict  # name: text; the first is the main one
    flags: list = field(default_factory=list)
    levels: tuple = ()  # of optimisation; empty: all
    compilers: tuple = ()  # empty: all of the language
    settled: bool | None = None  # whether the evidence tells that it is wrong; None: the compiler decides

    def __hash__(self):
        return hash((self.language, self.name))
