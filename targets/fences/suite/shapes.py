"""The shapes: small algorithms that need a fence, in the notation of notation.py.

A shape has its shared variables, the texts of its threads (of which one has the fence under test), and one text for each
skeleton that the fence can stand in. The comment of each shape says why it is right with the fence, and wrong without.
"""

from dataclasses import dataclass, field

SKELETONS = ("straight", "loop_head", "loop_end", "do_while", "after_loop", "branch", "cold")


@dataclass
class Shape:
    """One shape with one skeleton."""
    title: str
    order: str  # of the fence under test
    shared: str  # one declaration per line: kind name[size] = value
    threads: list  # texts
    run: list  # which text each thread runs; the first is main's
    before: str = ""
    after: str = ""
    fields: tuple = ()  # of the struct `node`

    def declarations(self):
        """Kind, name, size or 0, initial value."""
        for line in self.shared.strip().splitlines():
            what, _, value = line.strip().partition(" = ")
            kind, name = what.rsplit(" ", 1)
            name, _, size = name.rstrip("]").partition("[")
            yield kind, name, int(size or 0), value or ("null" if kind == "atomic ptr" else "0")


# Who sees the flag must see what was written before it. The release fence of the writer and the acquire fence of the
# reader synchronise. Without the latter, the two accesses to `data` race.
MP = {
    "straight": """
        let seen = LOAD(flag, relaxed)
        FENCE acquire
        if seen == 1:
            check data == 42
        """,
    "loop_head": """
        let seen = 0
        loop:
            FENCE acquire
            if seen == 1:
                break
            yield
            seen = LOAD(flag, relaxed)
        check data == 42
        """,
    "loop_end": """
        let seen = 0
        while seen == 0:
            yield
            seen = LOAD(flag, relaxed)
            FENCE acquire
        check data == 42
        """,
    "do_while": """
        let seen = 0
        do:
            yield
            seen = LOAD(flag, relaxed)
        again if FENCE acquire, seen == 0
        check data == 42
        """,
    "after_loop": """
        while LOAD(flag, relaxed) == 0:
            yield
        FENCE acquire
        check data == 42
        """,
    "branch": """
        let tries = 0
        while tries < 3:
            if LOAD(flag, relaxed) == 1:
                FENCE acquire
                check data == 42
                break
            yield
            tries = tries + 1
        """,
    "cold": """
        let tries = 0
        while tries < 3:
            cold if LOAD(flag, relaxed) == 1:
                FENCE acquire
                check data == 42
                break
            yield
            tries = tries + 1
        """,
}


def mp(skeleton):
    writer = """
        data = 42
        fence release
        STORE(flag, 1, relaxed)
        """
    return Shape("message passing, the reader's fence", "acquire", "plain data\natomic flag", [writer, MP[skeleton]],
                 [0, 1])


# The consumer's answer goes back the same way. Without its release fence, the accesses to `reply` race.
MP_BACK = {
    "straight": """
        reply = 14
        FENCE release
        STORE(ack, 2, relaxed)
        """,
    # The last iteration publishes what those before have written.
    "loop_head": """
        let i = 0
        while i < 3:
            FENCE release
            STORE(ack, i, relaxed)
            if i < 2:
                reply = reply + 7
            i = i + 1
        """,
    "loop_end": """
        let i = 0
        while i < 2:
            reply = reply + 7
            i = i + 1
            FENCE release
        STORE(ack, 2, relaxed)
        """,
    "do_while": """
        let i = 0
        do:
            reply = reply + 7
            i = i + 1
        again if FENCE release, i < 2
        STORE(ack, 2, relaxed)
        """,
    "after_loop": """
        let i = 0
        while i < 2:
            reply = reply + 7
            i = i + 1
        FENCE release
        STORE(ack, 2, relaxed)
        """,
    # `data` is 5 whenever this is reached.
    "branch": """
        if data == 5:
            reply = 14
            FENCE release
        STORE(ack, 2, relaxed)
        """,
    "cold": """
        cold if data == 5:
            reply = 14
            FENCE release
        STORE(ack, 2, relaxed)
        """,
}


def mp_back(skeleton):
    producer = """
        data = 5
        STORE(flag, 1, release)
        while LOAD(ack, relaxed) != 2:
            yield
        fence acquire
        check reply == 14
        """
    consumer = """
        while LOAD(flag, acquire) == 0:
            yield
        check data == 5
        """ + MP_BACK[skeleton]
    return Shape("message passing and an answer, the answer's release fence", "release",
                 "plain data\nplain reply\natomic flag\natomic ack", [producer, consumer], [0, 1])


# Both halves are from the same write if the sequence number is even and has not changed. If the reader has seen a half of
# a write, the writer's release fence and the reader's acquire fence synchronise, and the second load of `seq` sees that
# the write has begun. Without the reader's fence this load may be old, and the halves differ.
SEQLOCK = {
    "straight": """
        let s = LOAD(seq, acquire)
        let a = LOAD(first, relaxed)
        let b = LOAD(second, relaxed)
        FENCE acquire
        let again = LOAD(seq, relaxed)
        if s == again && s % 2 == 0:
            check a == b
        """,
    "loop_head": """
        let s = 1
        let a = 0
        let b = 0
        loop:
            FENCE acquire
            if s % 2 == 0 && LOAD(seq, relaxed) == s:
                break
            yield
            s = LOAD(seq, acquire)
            a = LOAD(first, relaxed)
            b = LOAD(second, relaxed)
        check a == b
        """,
    "loop_end": """
        let s = 0
        let a = 0
        let b = 0
        do:
            yield
            s = LOAD(seq, acquire)
            a = LOAD(first, relaxed)
            b = LOAD(second, relaxed)
            FENCE acquire
        again if s % 2 != 0 || LOAD(seq, relaxed) != s
        check a == b
        """,
    "do_while": """
        let s = 0
        let a = 0
        let b = 0
        do:
            yield
            s = LOAD(seq, acquire)
            a = LOAD(first, relaxed)
            b = LOAD(second, relaxed)
        again if FENCE acquire, s % 2 != 0 || LOAD(seq, relaxed) != s
        check a == b
        """,
    # The loop adds up the halves: 0, or 2 of 1.
    "after_loop": """
        let s = LOAD(seq, acquire)
        let i = 0
        let sum = 0
        while i < 2:
            if i == 0:
                sum = sum + LOAD(first, relaxed)
            else:
                sum = sum + LOAD(second, relaxed)
            i = i + 1
        FENCE acquire
        if LOAD(seq, relaxed) == s && s % 2 == 0:
            check sum != 1
        """,
    "branch": """
        let s = LOAD(seq, acquire)
        if s % 2 == 0:
            let a = LOAD(first, relaxed)
            let b = LOAD(second, relaxed)
            FENCE acquire
            if LOAD(seq, relaxed) == s:
                check a == b
        """,
    "cold": """
        let s = LOAD(seq, acquire)
        cold if s % 2 == 0:
            let a = LOAD(first, relaxed)
            let b = LOAD(second, relaxed)
            FENCE acquire
            if LOAD(seq, relaxed) == s:
                check a == b
        """,
}


def seqlock(skeleton):
    writer = """
        let s = LOAD(seq, relaxed)
        STORE(seq, s + 1, relaxed)
        fence release
        STORE(first, 1, relaxed)
        STORE(second, 1, relaxed)
        STORE(seq, s + 2, release)
        """
    return Shape("seqlock, the reader's fence", "acquire", "atomic seq\natomic first\natomic second",
                 [writer, SEQLOCK[skeleton]], [0, 1])


# Who drops the last reference destroys the object: by then all others have used it, which the acquire fence makes known.
# Without it, the destruction races with what the other thread did before its drop.
REFCOUNT = {
    "straight": """
        let last = SUB(count, 1, release)
        last = SUB(count, 1, release)
        FENCE acquire
        if last == 1:
            object = 0
        """,
    "loop_head": """
        let last = 0
        let i = 0
        loop:
            FENCE acquire
            if last == 1:
                object = 0
                break
            if i == 2:
                break
            last = SUB(count, 1, release)
            i = i + 1
        """,
    "loop_end": """
        let last = 0
        let i = 0
        while i < 2:
            last = SUB(count, 1, release)
            i = i + 1
            FENCE acquire
        if last == 1:
            object = 0
        """,
    "do_while": """
        let last = 0
        let i = 0
        do:
            last = SUB(count, 1, release)
            i = i + 1
        again if FENCE acquire, last != 1 && i < 2
        if last == 1:
            object = 0
        """,
    "after_loop": """
        let last = 0
        let i = 0
        while i < 2:
            last = SUB(count, 1, release)
            i = i + 1
        FENCE acquire
        if last == 1:
            object = 0
        """,
    "branch": """
        let i = 0
        while i < 2:
            if SUB(count, 1, release) == 1:
                FENCE acquire
                object = 0
            i = i + 1
        """,
    "cold": """
        let i = 0
        while i < 2:
            cold if SUB(count, 1, release) == 1:
                FENCE acquire
                object = 0
            i = i + 1
        """,
}


def refcount(skeleton):
    text = """
        check object == 7
        """ + REFCOUNT[skeleton]
    return Shape("the drop of a counted reference, the fence of the last", "acquire", "plain object\natomic count = 4", [text],
                 [0, 0], before="object = 7", after="check object == 0")


SHAPES = {function.__name__: function for function in (mp, mp_back, seqlock, refcount)}
