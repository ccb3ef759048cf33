//! Writes a simple litmus test as a C program: the threads' bodies are C already, and taken as they are.
//!
//! Or they are assembly: functions P0, P1 … with the addresses of the thread's locations in registers, in the order of the
//! test, and behind them that of an array for the values of its registers, in theirs.
//!
//! Only tests without loops, conditions and plain accesses: each register is set once, at the top of its thread.

/// The program for a test. Each run appends one line to the file that its argument names: the final values of `terms`
/// (`0:r0` or `x`), as `term=value` with blanks between. With `-DTOGETHER` threads wait for each other before they begin.
pub(crate) fn program(litmus: &str, terms: &[String], assembly: Option<&str>) -> String {
    let threads = threads(litmus);
    assert!(threads.len() >= 2, "{litmus}");
    let mut text = String::from(
        "#include <fcntl.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n#include <unistd.h>\n\n",
    );
    text += "#ifdef TOGETHER\nstatic pthread_barrier_t together;\n#endif\n\n";
    let mut shared: Vec<&String> = threads.iter().flat_map(|thread| &thread.parameters).collect();
    shared.sort();
    shared.dedup();
    for parameter in shared {
        let (kind, name) = parameter.split_once("* ").expect("a pointer");
        text += &format!("static {kind} {name} = {};\n", initial(litmus, name));
    }
    for term in terms {
        if let Some((thread, register)) = term.split_once(':') {
            text += &format!("static int out_{thread}_{register};\n");
        }
    }
    for line in assembly.into_iter().flat_map(str::lines) {
        text += &format!("__asm__({line:?});\n");
    }
    for (number, thread) in threads.iter().enumerate() {
        let own = terms.iter().filter_map(|term| term.split_once(':'));
        let own = own.filter(|(of, _)| *of == number.to_string());
        if assembly.is_some() {
            text += &format!("\nvoid P{number}({}, int *out);\n", thread.parameters.join(", "));
        } else {
            text += &format!("\nstatic void P{number}({}) {{\n", thread.parameters.join(", "));
            text.extend(thread.body.iter().map(|line| format!("    {line}\n")));
            text.extend(own.clone().map(|(of, register)| format!("    out_{of}_{register} = {register};\n")));
            text += "}\n";
        }
        let names = thread.parameters.iter().map(|parameter| parameter.split_once("* ").unwrap().1);
        let mut arguments: Vec<_> = names.map(|name| format!("&{name}")).collect();
        text += &format!("\nstatic void *thread_{number}(void *unused) {{\n");
        text += "#ifdef TOGETHER\n    pthread_barrier_wait(&together);\n#endif\n";
        if assembly.is_some() {
            text += "    int out[8] = {0};\n";
            arguments.push("out".to_owned());
        }
        text += &format!("    P{number}({});\n", arguments.join(", "));
        if assembly.is_some() {
            let values = own.enumerate();
            text.extend(values.map(|(at, (of, register))| format!("    out_{of}_{register} = out[{at}];\n")));
        }
        text += "    return unused;\n}\n";
    }
    text += &format!("\nint main(int argc, char **argv) {{\n    pthread_t threads[{}];\n", threads.len());
    text += "    char line[256];\n    if (argc != 2)\n        return 1;\n";
    let init = format!("    pthread_barrier_init(&together, NULL, {});\n", threads.len());
    text += &format!("#ifdef TOGETHER\n{init}#endif\n");
    for number in 0..threads.len() {
        text += &format!("    pthread_create(&threads[{number}], NULL, thread_{number}, NULL);\n");
    }
    for number in 0..threads.len() {
        text += &format!("    pthread_join(threads[{number}], NULL);\n");
    }
    let format: Vec<_> = terms.iter().map(|term| format!("{term}=%d")).collect();
    let values = terms.iter().map(|term| match term.split_once(':') {
        Some((thread, register)) => format!(", out_{thread}_{register}"),
        None => format!(", (int)atomic_load(&{term})"),
    });
    let values: String = values.collect();
    text += &format!("    int length = snprintf(line, sizeof line, \"{}\\n\"{values});\n", format.join(" "));
    text += "    int file = open(argv[1], O_WRONLY | O_APPEND | O_CREAT, 0666);\n";
    text += "    return file < 0 || write(file, line, length) != length;\n}\n";
    text
}

struct Thread {
    /// `atomic_int* x`
    parameters: Vec<String>,
    body: Vec<String>,
}

fn threads(litmus: &str) -> Vec<Thread> {
    let mut threads = Vec::new();
    let mut lines = litmus.lines();
    while let Some(line) = lines.next() {
        let head = format!("P{} (", threads.len());
        let Some(parameters) = line.strip_prefix(&head).and_then(|line| line.strip_suffix(") {")) else {
            continue;
        };
        let body: Vec<_> =
            lines.by_ref().take_while(|line| *line != "}").map(|line| line.trim().to_owned()).collect();
        for line in &body {
            let simple =
                ["atomic_", "int "].iter().any(|start| line.starts_with(start)) && line.ends_with(';');
            assert!(simple, "too much for this translation: {line}");
        }
        threads.push(Thread { parameters: parameters.split(", ").map(str::to_owned).collect(), body });
    }
    threads
}

/// What the init block says of a location: `{ x = 0; y = 0; }`.
fn initial<'a>(litmus: &'a str, name: &str) -> &'a str {
    let block = litmus.split_once('{').and_then(|(_, rest)| rest.split_once('}')).expect("an init block").0;
    let mut settings = block.split(';').filter_map(|setting| setting.split_once('='));
    settings.find(|(location, _)| location.trim() == name).map_or("0", |(_, value)| value.trim())
}
