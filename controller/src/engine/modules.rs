//! The files whose code a process runs: which of them are under the model, where their code is, what they are
//! called, and which memory orders their accesses have.
//!
//! Files are read once and kept as long as wmtrace lives: the orders of an access borrow from them.

use crate::inspect::files::{self, ProgramFiles};
use crate::os::Tid;
use crate::os::proc::Mapping;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wmtrace_decoder::debug::Debug;
use wmtrace_decoder::effect::Arch;
use wmtrace_decoder::image::Image;
use wmtrace_decoder::orders::file::OrdersFile;
use wmtrace_decoder::orders::{EmptyFence, Options, Orders};
use wmtrace_decoder::{aarch64, x86};
use wmtrace_model::op::ModelKind;

use crate::engine::calls::{FINDS_TABLES, Kind, STEPPED_BEHIND, is_stepped, meaning, operator};
use crate::engine::library::is_known;
use crate::engine::runtime::{self, Native, Whose};
use crate::engine::{EngineError, EngineOptions, ModuleInfo};

/// What a file contains, at the addresses it was linked for.
pub(super) struct Binary {
    pub(super) path: String,
    pub(super) name: String,
    pub(super) image: &'static Image,
    pub(super) debug: &'static Debug,
    pub(super) orders: Orders<'static>,
    pub(super) managed: bool,
    /// Function pointers that the dynamic linker fills in, by their address: the function's name.
    slots: HashMap<u64, String>,
    /// Addresses and sizes of functions, by name.
    functions: HashMap<&'static str, Vec<(u64, u64)>>,
    /// Functions among its code that run natively although the rest is under the model.
    native: Vec<Native>,
    /// Functions with a meaning that run natively.
    pub(super) entries: Vec<(u64, Kind)>,
    /// Functions among that code that touch ranges of memory, or yield, by address.
    known: HashMap<u64, &'static str>,
    /// Whether it is an allocator.
    allocator: bool,
    /// The tables of pointers that the dynamic linker fills in.
    linkage: Vec<Range<u64>>,
    /// Whether it is the C library or the dynamic linker itself.
    pub(super) core: bool,
    /// Whether it is glibc, with its `malloc`.
    pub(super) glibc: bool,
    /// Fences without an instruction, by the address before which they happen.
    pub(super) fences: HashMap<u64, Vec<EmptyFence>>,
    lowest: u64,
    fixed: bool,
}

/// A file in the process's memory.
#[derive(Clone)]
pub(super) struct Module {
    pub(super) binary: Arc<Binary>,
    /// What is added to the file's addresses.
    pub(super) bias: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// Files that are the C runtime: they run natively.
const RUNTIME: [&str; 18] = [
    "libc.so",
    "libc-",
    "ld-linux",
    "ld-musl",
    "ld-2",
    "ld.so",
    "libm.so",
    "libm-",
    "libgcc_s",
    "libstdc++",
    "libpthread",
    "libdl.so",
    "librt.so",
    "libresolv",
    "libnss_",
    "libc++.so",
    "libc++abi",
    "libunwind",
];

/// Files that are allocators: they run natively, too. Their free lists are in memory that is freed.
const ALLOCATORS: [&str; 10] = [
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libtbbmalloc",
    "librpmalloc",
    "libsnmalloc",
    "libhoard",
    "libscalloc",
    "libhardened_malloc",
    "libltalloc",
];

/// Files whose `operator new` calls `malloc`.
const CXX: [&str; 2] = ["libstdc++", "libc++"];

/// The C library and the dynamic linker: what they lock is their own.
const CORE: [&str; 7] = ["libc.so", "libc-", "ld-linux", "ld-musl", "ld-2", "ld.so", "libpthread"];

/// All files read so far.
pub(super) struct Library {
    arch: Arch,
    known: HashMap<String, Option<Arc<Binary>>>,
    /// Where the program's files are found.
    root: PathBuf,
}

impl Library {
    /// Files with code for this architecture.
    pub(super) fn new(arch: Arch) -> Library {
        Library { arch, known: HashMap::new(), root: PathBuf::from("/") }
    }

    /// From now on files are this process's.
    pub(super) fn belongs_to(&mut self, process: Tid) {
        self.root = PathBuf::from(format!("/proc/{process}/root"));
    }

    /// The modules of a process, by address. `program` is the executable's mapped name.
    pub(super) fn modules(
        &mut self,
        mappings: &[Mapping],
        options: &EngineOptions,
    ) -> Result<Vec<Module>, EngineError> {
        let mut modules: Vec<Module> = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for mapping in mappings.iter().filter(|mapping| mapping.executable && mapping.is_file()) {
            if seen.contains(&mapping.name.as_str()) {
                continue;
            }
            seen.push(&mapping.name);
            let Some(binary) = self.binary(&mapping.name, options)? else { continue };
            let of_file = || mappings.iter().filter(|other| other.name == mapping.name);
            let start = of_file().map(|other| other.start).min().unwrap_or(mapping.start);
            let end = of_file().map(|other| other.end).max().unwrap_or(mapping.end);
            let bias = if binary.fixed { 0 } else { start.wrapping_sub(binary.lowest) };
            modules.push(Module { binary, bias, start, end });
        }
        modules.sort_by_key(|module| module.start);
        Ok(modules)
    }

    /// A warning of files whose code is mapped, but that could not be read: it runs natively.
    pub(super) fn unread(&self, mappings: &[Mapping]) -> Option<String> {
        let unread = |mapping: &&Mapping| {
            mapping.executable && mapping.is_file() && matches!(self.known.get(&mapping.name), Some(None))
        };
        let name = &mappings.iter().find(unread)?.name;
        Some(format!("{name} cannot be read: its code runs natively, out of the model's sight"))
    }

    /// What a file contains; `None` if it cannot be read.
    pub(super) fn binary(
        &mut self,
        path: &str,
        options: &EngineOptions,
    ) -> Result<Option<Arc<Binary>>, EngineError> {
        if let Some(known) = self.known.get(path) {
            return Ok(known.clone());
        }
        let read = |path: &Path| files::read_shared(path, files::MAX_BINARY);
        // The program may have made it itself, among files that only it sees.
        let inside = || read(&self.root.join(path.trim_start_matches('/')));
        let binary = match read(Path::new(path)).or_else(|_| inside()) {
            Ok(bytes) => Some(Arc::new(Binary::new(path, bytes, self.arch, options)?)),
            // Deleted, or a device: its code runs natively.
            Err(_) => None,
        };
        self.known.insert(path.to_owned(), binary.clone());
        Ok(binary)
    }

    /// What is known of the files read so far.
    pub(super) fn infos(&self) -> Vec<ModuleInfo> {
        let mut infos: Vec<ModuleInfo> = self
            .known
            .values()
            .flatten()
            .map(|binary| ModuleInfo {
                path: binary.path.clone(),
                build_id: binary.identity(),
                managed: binary.managed,
            })
            .collect();
        infos.sort_by(|a, b| a.path.cmp(&b.path));
        infos
    }
}

/// The sanitizer that a program is built with, or that the file is the runtime of. That of undefined behaviour (UBSan) is in
/// nobody's way.
fn sanitizer(image: &Image) -> Option<&'static str> {
    const SANITIZERS: [(&str, &str); 4] = [
        ("__asan_init", "AddressSanitizer (-fsanitize=address)"),
        ("__tsan_init", "ThreadSanitizer (-fsanitize=thread)"),
        ("__msan_init", "MemorySanitizer (-fsanitize=memory)"),
        ("__hwasan_init", "HWAddressSanitizer (-fsanitize=hwaddress)"),
    ];
    let has = |name: &str| {
        image.symbols().iter().any(|symbol| symbol.name == name)
            || image.imports().values().any(|import| import == name)
    };
    SANITIZERS.iter().find(|(name, _)| has(name)).map(|(_, sanitizer)| *sanitizer)
}

impl Binary {
    fn new(path: &str, bytes: Arc<[u8]>, arch: Arch, options: &EngineOptions) -> Result<Binary, EngineError> {
        let (lowest, fixed) = layout(&bytes);
        let image =
            Image::parse(bytes).map_err(|error| EngineError::Unsupported(format!("{path}: {error}")))?;
        if image.arch() != arch {
            let name = match arch {
                Arch::X86_64 => "x86-64",
                Arch::Aarch64 => "AArch64",
            };
            return Err(EngineError::Unsupported(format!("{path} is not a program for {name}")));
        }
        if let Some(sanitizer) = sanitizer(&image) {
            return Err(EngineError::Input(format!(
                "{path} is built with {sanitizer}, whose memory and threads are in the way of wmtrace's: build it without \
                 (wmtrace finds races, uses after free and uninitialised loads itself)"
            )));
        }
        let image: &'static Image = Box::leak(Box::new(image));
        let debug: &'static Debug =
            Box::leak(Box::new(Debug::new(image, Arc::new(ProgramFiles::new(Path::new(path))))));
        let name = Path::new(path)
            .file_name()
            .map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned());
        let file = match &options.orders {
            Some(text) => {
                let parsed = OrdersFile::parse(text)
                    .map_err(|error| EngineError::Input(format!("the orders file: {error}")))?;
                Some(Arc::new(parsed))
            }
            None => None,
        };
        let orders =
            Orders::new(image, debug, Options { assume: options.assume, file, module: name.clone() });
        let mut binary = Binary {
            path: path.to_owned(),
            managed: is_managed(path, &name, options),
            image,
            debug,
            orders,
            slots: slots(image),
            functions: HashMap::new(),
            linkage: [".got", ".got.plt"]
                .iter()
                .filter_map(|name| image.section_range(name))
                .map(|(start, len)| start..start.saturating_add(len))
                .collect(),
            glibc: name.starts_with("libc.so.6") && image.section(".gnu.version_d").is_some(),
            core: CORE.iter().any(|prefix| name.starts_with(prefix)),
            fences: HashMap::new(),
            native: Vec::new(),
            entries: Vec::new(),
            known: HashMap::new(),
            allocator: ALLOCATORS.iter().any(|prefix| name.starts_with(prefix)),
            lowest,
            fixed,
            name,
        };
        for symbol in image.symbols().iter().filter(|symbol| symbol.function) {
            binary.functions.entry(&symbol.name).or_default().push((symbol.addr, symbol.size));
        }
        if binary.managed {
            binary.native = binary.finds_native();
        }
        binary.find_entries();
        if binary.managed && options.model == ModelKind::C11 {
            binary.find_fences();
        }
        Ok(binary)
    }

    fn find_fences(&mut self) {
        let fences = match self.image.arch() {
            Arch::X86_64 => {
                let decoder = x86::Decoder::new();
                self.orders.empty_fences(&|pc, bytes| decoder.decode(pc, bytes).ok())
            }
            Arch::Aarch64 => {
                let decoder = aarch64::Decoder::new();
                self.orders.empty_fences(&|pc, bytes| decoder.decode(pc, bytes).ok())
            }
        };
        for fence in fences {
            self.fences.entry(fence.pc).or_default().push(fence);
        }
    }

    /// Code that runs natively: of a static program its C runtime, of any an allocator that it contains.
    fn finds_native(&self) -> Vec<Native> {
        let found = match self.image.arch() {
            Arch::X86_64 => runtime::native(self.image, self.debug),
            // There, code that is not waited for costs little.
            Arch::Aarch64 => Vec::new(),
        };
        if found.is_empty() {
            let tables = self.finds_tables().into_iter();
            return tables.map(|range| Native { range, whose: Whose::Support }).collect();
        }
        let stepped = self.stepped();
        let cut = |it: Native| {
            let parts = without(it.range, stepped.iter());
            parts.into_iter().map(move |range| Native { range, whose: it.whose })
        };
        found.into_iter().flat_map(cut).collect()
    }

    /// Functions that mean something to the model, as far as they run natively.
    fn find_entries(&mut self) {
        let calls_malloc = CXX.iter().any(|prefix| self.name.starts_with(prefix));
        for (&name, places) in &self.functions {
            let is_known = self.managed && is_known(runtime::implements(name));
            let meaning = meaning(name);
            if meaning.is_none() && !is_known {
                continue;
            }
            for &(addr, _) in places {
                let native = self.native_at(addr).map(|it| it.whose);
                if self.managed && native.is_none() {
                    continue;
                }
                if is_known {
                    let name = runtime::implements(name);
                    let known = self.known.entry(addr).or_insert(name);
                    *known = name.min(known);
                }
                // The C++ library's call `malloc`.
                let through = (calls_malloc || native == Some(Whose::Support)) && operator(name).is_some();
                if let Some(kind) = meaning.filter(|_| !through) {
                    self.entries.push((addr, kind));
                }
            }
        }
        self.entries.sort_by_key(|&(addr, _)| addr);
        self.entries.dedup_by_key(|&mut (addr, _)| addr);
    }

    /// The native part of the file's code that the address is in, if the rest is under the model.
    fn native_at(&self, addr: u64) -> Option<&Native> {
        let at = self.native.partition_point(|it| it.range.end <= addr);
        self.native.get(at).filter(|it| it.range.contains(&addr))
    }

    /// Functions that a static program has of the compiler's runtime, and that run natively ([`FINDS_TABLES`]).
    fn finds_tables(&self) -> Vec<Range<u64>> {
        /// How far from the first one they are, at most.
        const NEAR: u64 = 16 << 10;
        let Some(first) = self.extents(FINDS_TABLES[0]).next() else { return Vec::new() };
        let is_near = |range: &Range<u64>| range.start.abs_diff(first.start) < NEAR;
        // Compilers give copies of a function names with a suffix.
        let known = |name: &str| FINDS_TABLES.contains(&name.split('.').next().unwrap_or(name));
        let names = self.functions.keys().filter(|name| known(name));
        let mut ranges: Vec<_> = names.flat_map(|name| self.extents(name)).filter(is_near).collect();
        ranges.sort_by_key(|range| range.start);
        ranges
    }

    /// The parts of a range of the file's code that are under the model, if the file is.
    pub(super) fn watched(&self, range: Range<u64>) -> Vec<Range<u64>> {
        without(range, self.native.iter().map(|it| &it.range))
    }

    /// Functions that are run under the model wherever they are, by address ([`is_stepped`]).
    pub(super) fn stepped(&self) -> Vec<Range<u64>> {
        let names = self.functions.keys().filter(|name| is_stepped(name));
        let mut ranges: Vec<Range<u64>> = names.flat_map(|name| self.extents(name)).collect();
        for behind in self.extents(STEPPED_BEHIND) {
            let next =
                self.functions.values().flatten().map(|&(addr, _)| addr).filter(|&it| it >= behind.end);
            ranges.extend(next.min().map(|next| behind.start..next));
        }
        ranges.sort_by_key(|range| (range.start, range.end));
        ranges.dedup_by(|next, range| {
            let meet = next.start < range.end;
            range.end = if meet { range.end.max(next.end) } else { range.end };
            meet
        });
        ranges
    }

    /// Where the functions of this name are in the file.
    pub(super) fn extents(&self, name: &str) -> impl Iterator<Item = Range<u64>> {
        let sized = self.functions.get(name).into_iter().flatten().filter(|(_, size)| *size > 0);
        sized.map(|&(addr, size)| addr..addr.saturating_add(size))
    }

    /// The name of the function to which the dynamic linker points here; the address is the file's.
    pub(super) fn slot_name(&self, addr: u64) -> Option<&str> {
        self.slots.get(&addr).map(String::as_str)
    }

    /// Whether the file's address is in a table of the dynamic linker's.
    pub(super) fn is_linkage(&self, addr: u64) -> bool {
        self.linkage.iter().any(|range| range.contains(&addr))
    }

    /// Its build-id, or a checksum of it.
    pub(super) fn identity(&self) -> String {
        match self.image.build_id() {
            Some(id) => files::hex(id),
            None => {
                let code = self.image.code().iter();
                let sum = code.fold(crc32fast::Hasher::new(), |mut sum, code| {
                    sum.update(code.bytes.bytes());
                    sum
                });
                format!("crc32-{:08x}", sum.finalize())
            }
        }
    }
}

impl Module {
    pub(super) fn contains(&self, addr: u64) -> bool {
        (self.start..self.end).contains(&addr)
    }

    /// An address of the process as the file has it.
    pub(super) fn offset(&self, addr: u64) -> u64 {
        addr.wrapping_sub(self.bias)
    }

    /// Where its code is in the process. Without sections, only what unwind information calls a function: the rest
    /// of an executable segment may be data.
    pub(super) fn code(&self) -> Vec<(u64, u64)> {
        let code = self.binary.image.code();
        let ranges: Vec<Range<u64>> = if code.iter().all(|code| !code.name.is_empty()) {
            code.iter().map(|code| code.addr..code.end()).collect()
        } else {
            self.binary.image.functions().iter().map(|function| function.start..function.end).collect()
        };
        let moved = |part: Range<u64>| (part.start.wrapping_add(self.bias), part.end.wrapping_add(self.bias));
        ranges.into_iter().flat_map(|range| self.binary.watched(range)).map(moved).collect()
    }

    /// Whether the address is in a table of the dynamic linker's.
    pub(super) fn is_linkage(&self, addr: u64) -> bool {
        let offset = self.offset(addr);
        self.contains(addr) && self.binary.linkage.iter().any(|range| range.contains(&offset))
    }

    /// Whether the address is in a stub that leads to another module's function.
    pub(super) fn is_stub(&self, addr: u64) -> bool {
        let offset = self.offset(addr);
        let ranges =
            [".plt", ".plt.sec", ".plt.got", ".iplt"].map(|name| self.binary.image.section_range(name));
        self.contains(addr)
            && ranges.into_iter().flatten().any(|(start, size)| offset.wrapping_sub(start) < size)
    }

    /// The name of the function to which the dynamic linker points here.
    pub(super) fn slot(&self, addr: u64) -> Option<&str> {
        self.binary.slots.get(&self.offset(addr)).map(String::as_str)
    }

    /// Where functions with such names are in the process, if they are not under the model.
    pub(super) fn extents(&self, which: impl Fn(&str) -> bool) -> Vec<(u64, u64)> {
        let found =
            self.binary.functions.iter().filter(|(name, _)| which(name)).flat_map(|(_, places)| places);
        let moved =
            found.map(|&(addr, size)| addr.wrapping_add(self.bias)..addr.wrapping_add(self.bias + size));
        moved.filter(|it| !self.is_managed(it.start)).map(|it| (it.start, it.end)).collect()
    }

    /// Whether the address is of code that is under the model.
    pub(super) fn is_managed(&self, addr: u64) -> bool {
        self.contains(addr) && self.binary.managed && self.binary.native_at(self.offset(addr)).is_none()
    }

    /// Whose code runs natively there, if that is in a file of the program's.
    fn whose(&self, addr: u64) -> Option<Whose> {
        self.binary.native_at(self.offset(addr)).map(|it| it.whose)
    }

    /// Whether the address is the C library's.
    pub(super) fn is_core(&self, addr: u64) -> bool {
        self.contains(addr) && (self.binary.core || self.whose(addr) == Some(Whose::Core))
    }

    /// Whether the address is glibc's, with its `malloc`.
    pub(super) fn is_glibc(&self, addr: u64) -> bool {
        self.contains(addr) && (self.binary.glibc || self.whose(addr) == Some(Whose::Core))
    }

    /// Whether the address is an allocator's that is not the C library's.
    pub(super) fn is_allocator(&self, addr: u64) -> bool {
        self.contains(addr) && (self.binary.allocator || self.whose(addr) == Some(Whose::Allocator))
    }

    /// The function of an allocator that tells a block's size, and does nothing else.
    pub(super) fn asks_for_size(&self) -> Option<u64> {
        let names =
            ["malloc_usable_size", "_rjem_malloc_usable_size", "je_malloc_usable_size", "mi_usable_size"];
        let found = names.iter().filter_map(|name| self.binary.functions.get(name)).flatten();
        found.map(|&(addr, _)| addr.wrapping_add(self.bias)).find(|&addr| self.is_allocator(addr))
    }

    /// The name of a function of the C runtime inside the program's own file, if it touches ranges of memory or yields.
    pub(super) fn known_function(&self, addr: u64) -> Option<&'static str> {
        self.binary.known.get(&self.offset(addr)).copied().filter(|_| self.contains(addr))
    }

    /// Where functions with a meaning are in the process.
    pub(super) fn entries(&self) -> impl Iterator<Item = (u64, Kind)> {
        self.binary.entries.iter().map(|&(addr, kind)| (addr.wrapping_add(self.bias), kind))
    }

    /// Functions that are run under the model although the file is not, in the process.
    pub(super) fn stepped(&self) -> impl Iterator<Item = (u64, u64)> {
        let moved = |it: Range<u64>| (it.start.wrapping_add(self.bias), it.end.wrapping_add(self.bias));
        self.binary.stepped().into_iter().map(moved)
    }
}

/// A range without the holes in it, which are by address.
fn without<'a>(range: Range<u64>, holes: impl Iterator<Item = &'a Range<u64>>) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    let mut from = range.start;
    for hole in holes.filter(|hole| hole.start < range.end && hole.end > range.start) {
        parts.push(from..hole.start.max(from));
        from = from.max(hole.end);
    }
    parts.push(from..range.end.max(from));
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether the user means this file by what stands behind `--managed` or `--unmanaged`.
pub(crate) fn is_meant(path: &str, item: &str) -> bool {
    path.contains(item)
}

fn is_managed(path: &str, name: &str, options: &EngineOptions) -> bool {
    let listed = |list: &[String]| list.iter().any(|item| is_meant(path, item));
    if listed(&options.managed) {
        return true;
    }
    if listed(&options.unmanaged) {
        return false;
    }
    !RUNTIME.iter().chain(&ALLOCATORS).any(|prefix| name.starts_with(prefix))
}

/// The lowest address that the file asks for, and whether it insists on its addresses.
fn layout(bytes: &[u8]) -> (u64, bool) {
    let u16_at = |at: usize| bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]));
    let u64_at = |at: usize| {
        bytes.get(at..at.saturating_add(8)).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
    };
    const ET_EXEC: u16 = 2;
    const PT_LOAD: u64 = 1;
    let (table, size, count) = (u64_at(32) as usize, usize::from(u16_at(54)), usize::from(u16_at(56)));
    let header = |index: usize| table.saturating_add(index * size);
    let lowest = (0..count)
        .map(header)
        .filter(|&at| u64_at(at) & 0xffff_ffff == PT_LOAD)
        .map(|at| u64_at(at.saturating_add(16)) & !0xfff)
        .min();
    (lowest.unwrap_or(0), u16_at(16) == ET_EXEC)
}

/// Function pointers that the dynamic linker fills in (JUMP_SLOT, GLOB_DAT), by their address.
fn slots(image: &Image) -> HashMap<u64, String> {
    let mut slots = HashMap::new();
    let (Some(symbols), Some(strings)) = (image.section(".dynsym"), image.section(".dynstr")) else {
        return slots;
    };
    let (symbols, strings) = (symbols.bytes(), strings.bytes());
    for section in [".rela.plt", ".rela.dyn"] {
        let Some(section) = image.section(section) else { continue };
        for entry in section.bytes().chunks_exact(24) {
            let word = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"));
            let (kind, symbol) = (word(8) & 0xffff_ffff, (word(8) >> 32) as usize);
            let pointer = match image.arch() {
                Arch::X86_64 => matches!(kind, 6 | 7),
                Arch::Aarch64 => matches!(kind, 1025 | 1026),
            };
            if !pointer {
                continue;
            }
            let name = symbol.checked_mul(24).and_then(|at| symbols.get(at..at + 4));
            let name = name.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
            let Some(rest) = name.and_then(|at| strings.get(at..)) else { continue };
            let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
            slots.insert(word(0), String::from_utf8_lossy(&rest[..end]).into_owned());
        }
    }
    slots
}
