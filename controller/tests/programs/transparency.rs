//! Programs that everybody has do under wmtrace what they do alone. They write files, which are compared.

use crate::build::{GNU_O2, MUSL_STATIC};
use crate::run::{Directory, Report, executions, feed};
use crate::source::{Source, Variant};

/// Text that compresses, but not to nothing: little in CI, more in scripts/test-long.
fn input() -> String {
    let mut state = 1_u32;
    let words = std::iter::from_fn(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some(["store ", "load ", "fence ", "release\n", "acquire "][(state >> 16) as usize % 5])
    });
    words.take(executions() as usize * 4).collect()
}

/// A command, the files it finds, and the one that it makes.
struct Case {
    program: &'static str,
    args: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    made: &'static str,
    /// For wmtrace.
    options: &'static str,
}

const PIGZ: Case = Case {
    program: "/usr/bin/pigz",
    args: &["-n", "-k", "-p", "2", "-1", "input"],
    files: &[],
    made: "input.gz",
    options: "",
};

const PBZIP2: Case = Case {
    program: "/usr/bin/pbzip2",
    args: &["-k", "-p2", "-b1", "-1", "input"],
    files: &[],
    made: "input.bz2",
    options: "",
};

const XZ: Case = Case {
    program: "/usr/bin/xz",
    args: &["-k", "-T2", "-0", "--block-size=512", "input"],
    files: &[],
    made: "input.xz",
    options: "",
};

const SQLITE3: Case = Case {
    program: "/usr/bin/sqlite3",
    args: &["-batch", "db", ".read script"],
    files: &[("script", SQL)],
    made: "answer",
    options: "",
};

const PYTHON3: Case = Case {
    program: "/usr/bin/python3",
    args: &["-I", "-S", "script.py"],
    files: &[("script.py", PYTHON)],
    made: "answer",
    // Its threads are detached: the default limits are enough because the one that is left runs natively in the end.
    options: "",
};

const BASH: Case = Case {
    program: "/bin/bash",
    args: &["--norc", "script.sh"],
    files: &[("script.sh", SHELL)],
    made: "answer",
    options: "",
};

const SQL: &str = "PRAGMA threads=2;
CREATE TABLE t(a INTEGER, b TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<50) INSERT INTO t SELECT i, 'x'||i FROM n;
CREATE INDEX ti ON t(b);
.output answer
SELECT count(*), sum(a), max(b) FROM t;
";

const PYTHON: &str = "import queue, threading
todo, done = queue.Queue(), []
def work():
    while (number := todo.get()) is not None:
        done.append(number * number)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for number in range(4): todo.put(number)
for thread in threads: todo.put(None)
for thread in threads: thread.join()
with open('answer', 'w') as file: print(sorted(done), file=file)
";

const SHELL: &str = "trap 'echo usr1 >> answer' USR1
trap 'echo bye >> answer' EXIT
sort input | uniq -c | sort -rn | head -n 3 > answer
(kill -USR1 $$) & wait $!
sh -c 'kill -TERM $$' 2> /dev/null; echo $? >> answer
echo $(echo a | cat | cat) >> answer
false | true; echo \"${PIPESTATUS[*]}\" >> answer
cat <<< here >> answer
";

/// Runs a program alone, and gives what it made.
fn alone(program: &str, args: &[&str], files: &[(&str, &str)], made: &str) -> Vec<u8> {
    let directory = prepared(files);
    let output = feed(directory.command(program).args(args), "");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    let made = std::fs::read(directory.path.join(made)).unwrap();
    assert!(!made.is_empty(), "{program} made an empty file");
    made
}

fn prepared(files: &[(&str, &str)]) -> Directory {
    let directory = Directory::new("transparency");
    directory.file("input", input());
    for (name, content) in files {
        directory.file(name, content);
    }
    directory
}

/// Runs a program under wmtrace; what it makes must be what it makes alone.
fn same(program: &str, args: &[&str], files: &[(&str, &str)], made: &str, options: &str) {
    let expected = alone(program, args, files, made);
    let under = prepared(files);
    under.file("expected", &expected);
    // What it makes is its own: only who is among its files can look.
    let look = format!("cmp {made} expected");
    let words = ["--format", "json", "-o", "out", "--model", "sc", "-n", "1", "--cleanup", &look];
    let mut command = under.wmtrace(&words);
    command.args(options.split_whitespace()).arg("--").arg(program).args(args);
    let report = Report::read(&feed(&mut command, "")).unwrap();
    report.is_clean(1).unwrap();
    assert_eq!(under.processes(), []);
}

impl Case {
    fn is_the_same(&self) {
        same(self.program, self.args, self.files, self.made, self.options);
    }
}

#[test]
fn pigz() {
    PIGZ.is_the_same();
}

#[test]
fn pbzip2() {
    PBZIP2.is_the_same();
}

#[test]
fn xz() {
    XZ.is_the_same();
}

#[test]
fn sqlite3() {
    SQLITE3.is_the_same();
}

#[test]
fn python3() {
    PYTHON3.is_the_same();
}

#[test]
fn bash_with_pipes_and_signals() {
    BASH.is_the_same();
}

#[test]
fn static_musl() {
    let built = Source::named("odd/tee.c").build(Variant::Right, MUSL_STATIC);
    same(built.path.to_str().unwrap(), &["input", "answer"], &[], "answer", "");
}

/// Without wmtrace: the programs are there, and repeat themselves.
#[test]
fn what_is_compared_does_not_differ_by_itself() {
    for case in [PIGZ, PBZIP2, XZ, SQLITE3, PYTHON3, BASH] {
        let [first, second] = [(); 2].map(|()| alone(case.program, case.args, case.files, case.made));
        assert!(first == second, "{}", case.program);
    }
}

/// A program is called by the name that was typed, as a shell would call it; and in a replay by the same.
#[test]
fn a_program_knows_the_name_that_it_was_called_by() {
    let directory = Directory::new("name");
    let built = Source::named("odd/tells_its_name.c").build(Variant::Buggy, GNU_O2);
    std::fs::copy(&built.path, directory.path.join("tells")).unwrap();
    let output = directory.wmtrace(&["-n", "1", "-o", "out", "./tells"]).output().unwrap();
    let replay = directory.wmtrace(&["replay"]).arg(&directory.recordings()[0]).output().unwrap();
    for shown in [&output.stdout, &replay.stdout] {
        let text = String::from_utf8_lossy(shown);
        assert!(text.contains("| called ./tells\n"), "{text}");
    }
}
