"""The notation that shapes are written in, and how it becomes C, C++ and Rust.

Blocks are made by indentation, as in Python. One statement per line:

    let x = E, let x: ptr = E, x = E       a local number, a local pointer to a node, an assignment
    STORE(a, E, order)                     expressions may have LOAD(a, order), ADD(a, E, order), SUB(a, E, order),
                                           CAS(a, x, E, order, order), NEW, null, p->value, a[x],
                                           &nodes[1]
    fence order                            a fence that is always there
    FENCE order                            the fence under test: where and whether it stands is the program's variant
    if E:, else:, while E:, loop:, break   as usual; `cold if E:` expects E to be false
    do: ... again if E                     do ... while (E); `again if FENCE order, E` has the fence in the condition
    check E, yield, free p, lock m, unlock m

Numbers are 32 bits wide and conditions are comparisons.
"""

import re


def parse(text):
    """The blocks of a text: a list of (line, children)."""
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines() if line.strip()]

    def block(at, indent):
        found = []
        while at < len(lines) and lines[at][0] >= indent:
            line = lines[at][1]
            at += 1
            children = []
            if at < len(lines) and lines[at][0] > indent:
                children, at = block(at, lines[at][0])
            found.append((line, children))
        return found, at

    return block(0, lines[0][0])[0] if lines else []


def arguments(text, at):
    """The arguments of a call whose opening parenthesis is at `at`, and where it ends."""
    found, depth, start = [], 0, at + 1
    for end in range(at, len(text)):
        if text[end] in "([":
            depth += 1
        elif text[end] in ")]":
            depth -= 1
        if depth == 0 or (depth == 1 and text[end] == ","):
            found.append(text[start:end].strip())
            start = end + 1
        if depth == 0:
            return found, end + 1
    raise ValueError(f"no end of the arguments in {text}")


class Language:
    """What the languages have in common."""

    suffix = ""
    step = "    "
    cold_hint = ()

    def directive(self, _text):
        """Whether a line is for the preprocessor."""
        return False

    def expression(self, text):
        """Translates an expression, or a statement that is one."""
        match = re.search(r"\b(LOAD|STORE|ADD|SUB|CAS)\(", text)
        if not match:
            return self.plain(text)
        args, end = arguments(text, match.end() - 1)
        return self.plain(text[: match.start()]) + self.operation(match.group(1), args) + self.expression(text[end:])

    def body(self, blocks, place, depth=1):
        """The lines of a block. `place` knows how the fence under test is written (places.py)."""
        out = []
        pad = self.step * depth
        index = 0
        while index < len(blocks):
            line, children = blocks[index]
            index += 1
            if line.startswith("FENCE "):
                out += [text if self.directive(text) else pad + text
                        for text in place.statement(self, line.split()[1])]
            elif line == "do:":
                condition = blocks[index][0]
                index += 1
                assert condition.startswith("again if "), condition
                out += self.do_while(children, condition[len("again if "):], place, depth)
            elif children:
                head, words = line.rstrip(":"), line.rstrip(":").split(" ", 1)
                if head == "else":
                    out[-1] = pad + "} else {"
                elif words[0] == "cold":
                    out.append(pad + self.cold_if(self.expression(words[1].split(" ", 1)[1])))
                    out += [pad + self.step + text for text in self.cold_hint]
                else:
                    out.append(pad + self.block_head(words[0], self.expression(words[1]) if words[1:] else ""))
                out += self.body(children, place, depth + 1)
                out.append(pad + "}")
            else:
                out += [pad + text for text in self.statement(line)]
        return out

    def statement(self, line):
        word, _, rest = line.partition(" ")
        if word == "let":
            name, value = rest.split(" = ", 1)
            return [self.let(*name.split(": "), value=self.expression(value))]
        if word in ("fence", "check", "yield", "free", "lock", "unlock", "break"):
            return [getattr(self, "do_" + word)(self.expression(rest) if word == "check" else rest)]
        return [self.expression(line) + ";"]

    def do_break(self, _):
        return "break;"

    def do_fence(self, order):
        return self.fence(order) + ";"


class Clike(Language):
    """What C and C++ have in common."""

    def directive(self, text):
        return text.startswith("#")

    def block_head(self, word, condition):
        return "for (;;) {" if word == "loop" else f"{word} ({condition}) {{"

    def do_while(self, children, condition, place, depth):
        pad = self.step * depth
        out = [pad + "do {"] + self.body(children, place, depth + 1)
        if not condition.startswith("FENCE "):
            return out + [f"{pad}}} while ({self.expression(condition)});"]
        order, condition = condition[len("FENCE "):].split(", ", 1)
        out.append(pad + "} while (")
        for text in place.expression(self, order):
            out.append(text if self.directive(text) else f"{pad}    {text},")
        return out + [f"{pad}    {self.expression(condition)});"]

    def do_check(self, condition):
        return f"assert({condition});"

    def plain(self, text):
        return re.sub(r"\bnull\b", self.null, text).replace("NEW", self.new)


class C(Clike):
    name = "c"
    suffix = "c"
    null = "NULL"
    new = "malloc(sizeof(struct node))"

    def order(self, order):
        return "memory_order_" + order

    def fence(self, order):
        return f"atomic_thread_fence({self.order(order)})"

    def operation(self, name, args):
        where = "&" + args[0]
        if name == "CAS":
            orders = ", ".join(map(self.order, args[3:]))
            return (f"atomic_compare_exchange_strong_explicit({where}, &{args[1]}, {self.expression(args[2])}, "
                    f"{orders})")
        call = {"LOAD": "load", "STORE": "store", "ADD": "fetch_add", "SUB": "fetch_sub"}[name]
        values = [self.expression(value) for value in args[1:-1]]
        return f"atomic_{call}_explicit({', '.join([where, *values, self.order(args[-1])])})"

    def let(self, name, kind="int", value=""):
        return f"{'struct node *' if kind == 'ptr' else 'int '}{name} = {value};"

    def cold_if(self, condition):
        return f"if (__builtin_expect({condition}, 0)) {{"

    def do_yield(self, _):
        return "sched_yield();"

    def do_free(self, name):
        return f"free({name});"

    def do_lock(self, name):
        return f"pthread_mutex_lock(&{name});"

    def do_unlock(self, name):
        return f"pthread_mutex_unlock(&{name});"

    def shared(self, kind, name, size, value):
        array = f"[{size}]" if size else ""
        if kind == "lock":
            return f"static pthread_mutex_t {name} = PTHREAD_MUTEX_INITIALIZER;"
        if kind == "node":
            return f"static struct node {name}{array};"
        kind = {"atomic": "atomic_int ", "atomic ptr": "_Atomic(struct node *) ", "plain": "int "}[kind]
        start = f" = {{{', '.join([value] * size)}}}" if size else f" = {value}"
        return f"static {kind}{name}{array}{start if value not in ('0', 'null') else ''};"

    def program(self, shape, place, fields):
        out = [*place.header_comment(self), "#include <assert.h>", "#include <pthread.h>", "#include <sched.h>",
               "#include <stdatomic.h>", "#include <stddef.h>", "#include <stdlib.h>", *place.includes(self), ""]
        if fields:
            out += ["struct node {", *(f"    int {field};" for field in fields), "};", ""]
        out += [self.shared(*declaration) for declaration in shape.declarations()]
        out += ["", *place.preamble(self)]
        for number, text in enumerate(shape.threads):
            out += [f"static void *thread{number}(void *unused) {{", "    (void)unused;",
                    *place.locals(self, text), *self.body(parse(text), place), "    return NULL;", "}", ""]
        others = range(1, len(shape.run))
        out.append("int main(void) {")
        out.append(f"    pthread_t {', '.join(f'other{n}' for n in others)};")
        out += [*self.body(parse(shape.before), place)]
        out += [f"    pthread_create(&other{n}, NULL, thread{shape.run[n]}, NULL);" for n in others]
        out.append(f"    thread{shape.run[0]}(NULL);")
        out += [f"    pthread_join(other{n}, NULL);" for n in others]
        out += [*self.body(parse(shape.after), place), "    return 0;", "}"]
        return out


class Cpp(Clike):
    name = "cpp"
    suffix = "cc"
    null = "nullptr"
    new = "new Node"

    def order(self, order):
        return "std::memory_order_" + order

    def fence(self, order):
        return f"std::atomic_thread_fence({self.order(order)})"

    def operation(self, name, args):
        call = {"LOAD": "load", "STORE": "store", "ADD": "fetch_add", "SUB": "fetch_sub",
                "CAS": "compare_exchange_strong"}[name]
        orders = 2 if name == "CAS" else 1
        values = [self.expression(value) for value in args[1:-orders]]
        return f"{args[0]}.{call}({', '.join(values + [self.order(order) for order in args[-orders:]])})"

    def let(self, name, kind="int", value=""):
        return f"{'Node *' if kind == 'ptr' else 'int '}{name} = {value};"

    def cold_if(self, condition):
        return f"if ({condition}) [[unlikely]] {{"

    def do_yield(self, _):
        return "std::this_thread::yield();"

    def do_free(self, name):
        return f"delete {name};"

    def do_lock(self, name):
        return f"{name}.lock();"

    def do_unlock(self, name):
        return f"{name}.unlock();"

    def shared(self, kind, name, size, value):
        array = f"[{size}]" if size else ""
        if kind == "lock":
            return f"static std::mutex {name};"
        if kind == "node":
            return f"static Node {name}{array};"
        kind = {"atomic": "std::atomic<int>", "atomic ptr": "std::atomic<Node *>", "plain": "int"}[kind]
        if size:
            return f"static {kind} {name}{array};"
        return f"static {kind} {name}{{{self.plain(value)}}};"

    def program(self, shape, place, fields):
        out = [*place.header_comment(self), "#include <atomic>", "#include <cassert>", "#include <mutex>",
               "#include <thread>", *place.includes(self), ""]
        if fields:
            out += ["struct Node {", *(f"    int {field};" for field in fields), "};", ""]
        out += [self.shared(*declaration) for declaration in shape.declarations()]
        out += ["", *place.preamble(self)]
        for number, text in enumerate(shape.threads):
            out += [f"static void thread{number}() {{", *place.locals(self, text), *self.body(parse(text), place),
                    "}", ""]
        others = range(1, len(shape.run))
        out += ["int main() {", *self.body(parse(shape.before), place)]
        out += [f"    std::thread other{n}(thread{shape.run[n]});" for n in others]
        out.append(f"    thread{shape.run[0]}();")
        out += [f"    other{n}.join();" for n in others]
        out += [*self.body(parse(shape.after), place), "}"]
        return out


class Rust(Language):
    name = "rust"
    suffix = "rs"
    cold_hint = ("cold();",)

    def order(self, order):
        return "Ordering::" + {"relaxed": "Relaxed", "acquire": "Acquire", "release": "Release",
                               "acq_rel": "AcqRel", "seq_cst": "SeqCst"}[order]

    def fence(self, order):
        return f"fence({self.order(order)})"

    def plain(self, text):
        text = re.sub(r"\bnull\b", "null_mut()", text)
        text = text.replace("NEW", "Box::into_raw(Box::new(Node::default()))")
        text = re.sub(r"\b(\w+)->", r"(*\1).", text)
        text = re.sub(r"\[([a-z]+)\]", r"[\1 as usize]", text)
        return re.sub(r"&(?=\w+\[)", "&raw mut ", text)

    def operation(self, name, args):
        where = self.plain(args[0])
        if name == "CAS":
            orders = ", ".join(map(self.order, args[3:]))
            return f"{where}.compare_exchange({args[1]}, {self.expression(args[2])}, {orders}).is_ok()"
        call = {"LOAD": "load", "STORE": "store", "ADD": "fetch_add", "SUB": "fetch_sub"}[name]
        values = [self.expression(value) for value in args[1:-1]]
        return f"{where}.{call}({', '.join(values + [self.order(args[-1])])})"

    def let(self, name, kind="i32", value=""):
        return f"let mut {name}: {'*mut Node' if kind == 'ptr' else kind} = {value};"

    def block_head(self, word, condition):
        return "loop {" if word == "loop" else f"{word} {condition} {{"

    def cold_if(self, condition):
        return f"if {condition} {{"

    def do_while(self, children, condition, place, depth):
        pad = self.step * depth
        out = [pad + "while {"] + self.body(children, place, depth + 1)
        if condition.startswith("FENCE "):
            order, condition = condition[len("FENCE "):].split(", ", 1)
            out += [f"{pad}    {text}" for text in place.statement(self, order)]
        return out + [f"{pad}    {self.expression(condition)}", pad + "} {}"]

    def do_check(self, condition):
        return f"assert!({condition});"

    def do_yield(self, _):
        return "std::thread::yield_now();"

    def do_free(self, name):
        return f"drop(Box::from_raw({name}));"

    def do_lock(self, name):
        return f"let guard = {name}.lock().unwrap();"

    def do_unlock(self, name):
        return "drop(guard);"

    def shared(self, kind, name, size, value):
        if kind == "lock":
            return f"static {name}: Mutex<()> = Mutex::new(());"
        if kind == "node":
            one = "Node { " + ", ".join(f"{field}: 0" for field in value) + " }"
            return f"static mut {name}: {f'[Node; {size}]' if size else 'Node'} = " + \
                (f"[{', '.join([one] * size)}];" if size else f"{one};")
        types = {"atomic": ("", "AtomicI32", "AtomicI32::new(%s)"), "plain": ("mut ", "i32", "%s"),
                 "atomic ptr": ("", "AtomicPtr<Node>", "AtomicPtr::new(%s)")}
        mutable, kind, one = types[kind]
        one %= self.plain(value)
        if size:
            return f"static {mutable}{name}: [{kind}; {size}] = [{', '.join([one] * size)}];"
        return f"static {mutable}{name}: {kind} = {one};"

    def program(self, shape, place, fields):
        out = [*place.header_comment(self),
               "#![allow(dead_code, non_upper_case_globals, static_mut_refs, unused_assignments, unused_imports)]",
               "#![allow(unexpected_cfgs, unused_mut, unused_unsafe, unused_variables)]",
               "use std::ptr::null_mut;", "use std::sync::Mutex;",
               "use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering, fence};",
               *place.includes(self), ""]
        if fields:
            out += ["#[derive(Default)]", "struct Node {", *(f"    {field}: i32," for field in fields), "}", ""]
        for kind, name, size, value in shape.declarations():
            out.append(self.shared(kind, name, size, fields if kind == "node" else value))
        out += ["", "#[cold]", "#[inline(always)]", "fn cold() {}", "", *place.preamble(self)]
        for number, text in enumerate(shape.threads):
            out += [f"fn thread{number}() {{", "    unsafe {",
                    *(self.step + line for line in place.locals(self, text)),
                    *self.body(parse(text), place, 2), "    }", "}", ""]
        others = range(1, len(shape.run))
        out += ["fn main() {", *self.unsafe(shape.before, place)]
        out += [f"    let other{n} = std::thread::spawn(thread{shape.run[n]});" for n in others]
        out.append(f"    thread{shape.run[0]}();")
        out += [f"    other{n}.join().unwrap();" for n in others]
        return out + [*self.unsafe(shape.after, place), "}"]

    def unsafe(self, text, place):
        return ["    unsafe {", *self.body(parse(text), place, 2), "    }"] if text else []


LANGUAGES = {language.name: language() for language in (C, Cpp, Rust)}
