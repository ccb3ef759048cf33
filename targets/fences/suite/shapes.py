"""The shapes: small algorithms that need a fence, in the notation of notation.py.

A shape has its shared variables, the texts of its threads (of which one has the fence under test), and one text for each
skeleton that the fence can stand in. The comment of each shape says why it is right with the fence, and wrong without.
"""

import re
import textwrap
from dataclasses import dataclass

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


# At most one thread finds the other's flag down, as each raises its own first. That needs a seq_cst fence between the store
# and the load of both threads. Without the fence of one of them both get in, and their accesses to `data` race.
DEKKER = {
    "straight": """
        STORE(x, 1, relaxed)
        FENCE seq_cst
        if LOAD(y, relaxed) == 0:
            data = data + 1
        """,
    "loop_head": """
        let inside = 0
        let i = 0
        STORE(x, 1, relaxed)
        while i < 2:
            FENCE seq_cst
            if inside == 0 && LOAD(y, relaxed) == 0:
                data = data + 1
                inside = 1
            i = i + 1
        """,
    "loop_end": """
        let i = 0
        while i < 2:
            i = i + 1
            STORE(x, i, relaxed)
            FENCE seq_cst
        if LOAD(y, relaxed) == 0:
            data = data + 1
        """,
    "do_while": """
        let i = 0
        do:
            i = i + 1
            STORE(x, i, relaxed)
        again if FENCE seq_cst, i < 2
        if LOAD(y, relaxed) == 0:
            data = data + 1
        """,
    "after_loop": """
        let i = 0
        while i < 2:
            i = i + 1
            STORE(x, i, relaxed)
        FENCE seq_cst
        if LOAD(y, relaxed) == 0:
            data = data + 1
        """,
    # `wanted` is 1 for ever.
    "branch": """
        if LOAD(wanted, relaxed) == 1:
            STORE(x, 1, relaxed)
            FENCE seq_cst
            if LOAD(y, relaxed) == 0:
                data = data + 1
        """,
    "cold": """
        cold if LOAD(wanted, relaxed) == 1:
            STORE(x, 1, relaxed)
            FENCE seq_cst
            if LOAD(y, relaxed) == 0:
                data = data + 1
        """,
}


def dekker(skeleton):
    other = """
        STORE(y, 1, relaxed)
        fence seq_cst
        if LOAD(x, relaxed) == 0:
            data = data + 1
        """
    return Shape("store buffering (Dekker), one of two seq_cst fences", "seq_cst",
                 "atomic x\natomic y\natomic wanted = 1\nplain data", [DEKKER[skeleton], other], [0, 1])


# The writer fills a node, publishes it, and frees it when the reader says that it is done. Without the release fence the
# reader does not see what was filled in.
RCU = {
    "straight": """
        n->value = 42
        FENCE release
        STORE(head, n, relaxed)
        """,
    "loop_head": """
        n->value = 0
        let i = 0
        while i < 3:
            FENCE release
            if i == 2:
                STORE(head, n, relaxed)
            else:
                n->value = n->value + 21
            i = i + 1
        """,
    "loop_end": """
        n->value = 0
        let i = 0
        while i < 2:
            n->value = n->value + 21
            i = i + 1
            FENCE release
        STORE(head, n, relaxed)
        """,
    "do_while": """
        n->value = 0
        let i = 0
        do:
            n->value = n->value + 21
            i = i + 1
        again if FENCE release, i < 2
        STORE(head, n, relaxed)
        """,
    "after_loop": """
        n->value = 0
        let i = 0
        while i < 2:
            n->value = n->value + 21
            i = i + 1
        FENCE release
        STORE(head, n, relaxed)
        """,
    # There is no other writer.
    "branch": """
        if LOAD(head, relaxed) == null:
            n->value = 42
            FENCE release
        STORE(head, n, relaxed)
        """,
    "cold": """
        cold if LOAD(head, relaxed) == null:
            n->value = 42
            FENCE release
        STORE(head, n, relaxed)
        """,
}


def rcu(skeleton):
    writer = """
        let n: ptr = NEW
        """ + RCU[skeleton] + """
        while LOAD(quiet, acquire) == 0:
            yield
        free n
        """
    reader = """
        let p: ptr = LOAD(head, acquire)
        while p == null:
            yield
            p = LOAD(head, acquire)
        check p->value == 42
        STORE(quiet, 1, release)
        """
    return Shape("publication of a pointer, the writer's fence", "release", "atomic ptr head\natomic quiet",
                 [writer, reader], [0, 1], fields=("value",))


# The reader announces the node that it is about to use, and looks whether it is still the current one. The writer replaces
# the node, and looks whether the old one is announced before it uses that for something else. The seq_cst fences of both
# see to it that one of them notices. Without the reader's, both go on, and their accesses to `value` race.
HAZARD = {
    "straight": """
        let p: ptr = LOAD(head, relaxed)
        STORE(hazard, p, relaxed)
        FENCE seq_cst
        let now: ptr = LOAD(head, acquire)
        if now == p:
            check p->value == 42
        """,
    "loop_head": """
        let p: ptr = LOAD(head, relaxed)
        STORE(hazard, p, relaxed)
        loop:
            FENCE seq_cst
            let now: ptr = LOAD(head, acquire)
            if now == p:
                break
            p = now
            STORE(hazard, p, relaxed)
        check p->value == 42
        """,
    "loop_end": """
        let p: ptr = null
        do:
            p = LOAD(head, relaxed)
            STORE(hazard, p, relaxed)
            FENCE seq_cst
        again if LOAD(head, acquire) != p
        check p->value == 42
        """,
    "do_while": """
        let p: ptr = null
        do:
            p = LOAD(head, relaxed)
            STORE(hazard, p, relaxed)
        again if FENCE seq_cst, LOAD(head, acquire) != p
        check p->value == 42
        """,
    "after_loop": """
        let p: ptr = LOAD(head, relaxed)
        let i = 0
        while i < 2:
            STORE(hazard, p, relaxed)
            i = i + 1
        FENCE seq_cst
        if LOAD(head, acquire) == p:
            check p->value == 42
        """,
    "branch": """
        let p: ptr = LOAD(head, relaxed)
        if p != null:
            STORE(hazard, p, relaxed)
            FENCE seq_cst
            if LOAD(head, acquire) == p:
                check p->value == 42
        """,
    "cold": """
        let p: ptr = LOAD(head, relaxed)
        cold if p != null:
            STORE(hazard, p, relaxed)
            FENCE seq_cst
            if LOAD(head, acquire) == p:
                check p->value == 42
        """,
}


def hazard(skeleton):
    writer = """
        let old: ptr = LOAD(head, relaxed)
        let next: ptr = &nodes[1]
        next->value = 42
        STORE(head, next, release)
        fence seq_cst
        while LOAD(hazard, acquire) == old:
            yield
        old->value = 7
        """
    reader = HAZARD[skeleton] + """
        STORE(hazard, null, release)
        """
    before = """
        let start: ptr = &nodes[0]
        start->value = 42
        STORE(head, start, relaxed)
        """
    return Shape("hazard pointer, the reader's seq_cst fence", "seq_cst",
                 "node nodes[2]\natomic ptr head\natomic ptr hazard", [writer, reader], [0, 1], before=before,
                 fields=("value",))


# The deque of Chase and Lev in C11 (Le et al. 2013), without growth: the owner pushes two items and takes from one end, a
# thief steals from the other. Without the release fence of `push`, the thief's access to an item's payload races.
CHASE_LEV = {
    "straight": """
        payload[0] = 7
        STORE(buffer[0], 0, relaxed)
        payload[1] = 8
        STORE(buffer[1], 1, relaxed)
        FENCE release
        STORE(bottom, 2, relaxed)
        """,
    "loop_head": """
        let i = 0
        while i < 3:
            FENCE release
            STORE(bottom, i, relaxed)
            if i < 2:
                payload[i] = 7 + i
                STORE(buffer[i], i, relaxed)
            i = i + 1
        """,
    "loop_end": """
        let i = 0
        while i < 2:
            payload[i] = 7 + i
            STORE(buffer[i], i, relaxed)
            i = i + 1
            FENCE release
        STORE(bottom, 2, relaxed)
        """,
    "do_while": """
        let i = 0
        do:
            payload[i] = 7 + i
            STORE(buffer[i], i, relaxed)
            i = i + 1
        again if FENCE release, i < 2
        STORE(bottom, 2, relaxed)
        """,
    "after_loop": """
        let i = 0
        while i < 2:
            payload[i] = 7 + i
            STORE(buffer[i], i, relaxed)
            i = i + 1
        FENCE release
        STORE(bottom, 2, relaxed)
        """,
    # The deque is never full.
    "branch": """
        let i = 0
        while i < 2:
            if LOAD(bottom, relaxed) - LOAD(top, acquire) < 2:
                payload[i] = 7 + i
                STORE(buffer[i], i, relaxed)
                FENCE release
                STORE(bottom, i + 1, relaxed)
            i = i + 1
        """,
    "cold": """
        let i = 0
        while i < 2:
            cold if LOAD(bottom, relaxed) - LOAD(top, acquire) < 2:
                payload[i] = 7 + i
                STORE(buffer[i], i, relaxed)
                FENCE release
                STORE(bottom, i + 1, relaxed)
            i = i + 1
        """,
}


def chase_lev(skeleton):
    owner = CHASE_LEV[skeleton] + """
        let takes = 0
        while takes < 2:
            let b = LOAD(bottom, relaxed) - 1
            STORE(bottom, b, relaxed)
            fence seq_cst
            let t = LOAD(top, relaxed)
            let item = -1
            if t <= b:
                item = LOAD(buffer[b], relaxed)
                if t == b:
                    if CAS(top, t, t + 1, seq_cst, relaxed):
                        won = won + 1
                    else:
                        item = -1
                    STORE(bottom, b + 1, relaxed)
            else:
                STORE(bottom, b + 1, relaxed)
            if item >= 0:
                check payload[item] == 7 + item
                taken = taken + item + 1
            takes = takes + 1
        """
    thief = """
        let t = LOAD(top, acquire)
        fence seq_cst
        let b = LOAD(bottom, acquire)
        if t < b:
            let item = LOAD(buffer[t], relaxed)
            if CAS(top, t, t + 1, seq_cst, relaxed):
                check payload[item] == 7 + item
                stolen = item + 1
        """
    shared = """
        plain payload[2]
        atomic buffer[2]
        atomic top
        atomic bottom
        plain won
        plain taken
        plain stolen
        """
    return Shape("deque of Chase and Lev, the fence of push", "release", shared, [owner, thief], [0, 1],
                 after="check taken + stolen == 3")


# Who finds the object made uses it without the lock, after an acquire fence. Without that, its accesses race with those of
# the thread that has made it.
DCL = {
    "straight": """
        let p: ptr = LOAD(instance, relaxed)
        FENCE acquire
        if p == null:
            MAKE
            p = LOAD(instance, relaxed)
        check p->value == 42
        """,
    "loop_head": """
        let p: ptr = LOAD(instance, relaxed)
        loop:
            FENCE acquire
            if p != null:
                break
            MAKE
            p = LOAD(instance, relaxed)
        check p->value == 42
        """,
    "loop_end": """
        let p: ptr = null
        while p == null:
            p = LOAD(instance, relaxed)
            if p == null:
                MAKE
            FENCE acquire
        check p->value == 42
        """,
    "do_while": """
        let p: ptr = null
        do:
            p = LOAD(instance, relaxed)
            if p == null:
                MAKE
        again if FENCE acquire, p == null
        check p->value == 42
        """,
    "after_loop": """
        while LOAD(instance, relaxed) == null:
            MAKE
        FENCE acquire
        let p: ptr = LOAD(instance, relaxed)
        check p->value == 42
        """,
    "branch": """
        let p: ptr = LOAD(instance, relaxed)
        if p != null:
            FENCE acquire
        else:
            MAKE
            p = LOAD(instance, relaxed)
        check p->value == 42
        """,
    "cold": """
        let p: ptr = LOAD(instance, relaxed)
        cold if p != null:
            FENCE acquire
        else:
            MAKE
            p = LOAD(instance, relaxed)
        check p->value == 42
        """,
}

# With the lock held, who comes second knows what the first has done.
DCL_MAKE = """
lock making
if LOAD(instance, relaxed) == null:
    let n: ptr = NEW
    n->value = 42
    fence release
    STORE(instance, n, relaxed)
unlock making
"""


def dcl(skeleton):
    get = re.sub(r"( *)MAKE\n", lambda match: textwrap.indent(DCL_MAKE.lstrip(), match.group(1)), DCL[skeleton])
    return Shape("double-checked initialisation, the fence of who finds it made", "acquire",
                 "atomic ptr instance\nlock making", [get], [0, 0], fields=("value",))


SHAPES = {function.__name__: function
          for function in (mp, mp_back, seqlock, dekker, rcu, hazard, chase_lev, refcount, dcl)}
