//! Runs the built program in a directory of files.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A directory of this test's own, gone when it ends.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(test: &str) -> Directory {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Runs `wmtrace litmus` in the directory.
    pub(crate) fn litmus(&self, arguments: &str) -> Run {
        Run::from(self.command(arguments).output().unwrap())
    }

    /// `wmtrace litmus` in the directory.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wmtrace"));
        command.arg("litmus").args(arguments.split_whitespace()).current_dir(&self.0);
        command
    }

    /// The answer to this test, as JSON.
    pub(crate) fn answer(&self, options: &str, text: &str) -> Value {
        self.file("t.litmus", text);
        let run = self.litmus(&format!("--format json {options} t.litmus"));
        assert_eq!(run.err, "");
        run.json()["tests"][0].take()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        Run {
            status: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    /// The JSON object, which is the last line.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.out.lines().last().expect("some output")).unwrap()
    }
}

/// Store buffering with this order and condition, and lines of metadata.
pub(crate) fn sb(metadata: &str, order: &str, condition: &str) -> String {
    let thread = |number, mine, other| {
        format!(
            "P{number} (atomic_int* x, atomic_int* y) {{
               atomic_store_explicit({mine}, 1, memory_order_{order});
               int r0 = atomic_load_explicit({other}, memory_order_{order});
             }}\n"
        )
    };
    format!("C SB\n{metadata}\n{{}}\n{}{}{condition}\n", thread(0, "x", "y"), thread(1, "y", "x"))
}

pub(crate) const BOTH_ZERO: &str = "(0:r0=0 /\\ 1:r0=0)";

/// Message passing; the data is plain, and read only if the flag is seen.
pub(crate) fn mp_plain(store: &str, load: &str) -> String {
    format!(
        "C MP {{}}
         P0 (int* data, atomic_int* flag) {{ *data = 1; atomic_store_explicit(flag, 1, memory_order_{store}); }}
         P1 (int* data, atomic_int* flag) {{
           int r0 = atomic_load_explicit(flag, memory_order_{load});
           int r1 = 2;
           if (r0) {{ r1 = *data; }}
         }}
         ~exists (1:r0=1 /\\ 1:r1=0)"
    )
}
