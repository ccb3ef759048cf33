//! Effects with registers: the addresses that x86-64 instructions would touch.

use wmtrace_decoder::effect::{AccessKind, Concrete, Reg, Registers};
use wmtrace_decoder::x86::{Decoder, regs};

/// Registers of a thread: 0 unless set.
struct Thread {
    general: [u64; 128],
    vectors: Vec<(Reg, [u8; 64])>,
}

impl Thread {
    fn new() -> Thread {
        Thread { general: [0; 128], vectors: Vec::new() }
    }

    fn with(mut self, reg: Reg, value: u64) -> Thread {
        self.general[usize::from(reg.0)] = value;
        self
    }

    /// Lanes of `N` bytes, the lowest first.
    fn lanes<const N: usize>(mut self, reg: Reg, lanes: &[[u8; N]]) -> Thread {
        let mut vector = [0; 64];
        vector[..lanes.len() * N].copy_from_slice(&lanes.concat());
        self.vectors.push((reg, vector));
        self
    }

    fn mask(self, number: u8, bits: u64) -> Thread {
        self.lanes(regs::mask(number), &[bits.to_le_bytes()])
    }
}

impl Registers for Thread {
    fn general(&self, reg: Reg) -> u64 {
        self.general[usize::from(reg.0)]
    }

    fn vector(&self, reg: Reg) -> [u8; 64] {
        self.vectors.iter().find(|(named, _)| *named == reg).map_or([0; 64], |(_, vector)| *vector)
    }
}

const PC: u64 = 0x40_0000;

fn resolve(bytes: &[u8], thread: Thread) -> Vec<Concrete> {
    let effect = Decoder::new().decode(PC, bytes).expect("a known instruction");
    effect.resolve(&thread.with(regs::RIP, PC))
}

/// Addresses and lengths alone.
fn places(bytes: &[u8], thread: Thread) -> Vec<(u64, u64)> {
    resolve(bytes, thread).into_iter().map(|access| (access.addr, access.len)).collect()
}

#[test]
fn base_index_scale_displacement() {
    // mov [rbx + rcx*4 + 8], rdx
    let thread = Thread::new().with(regs::RBX, 0x1000).with(regs::RCX, 3);
    let found = resolve(&[0x48, 0x89, 0x54, 0x8b, 0x08], thread);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].addr, found[0].len), (AccessKind::Store, 0x1014, 8));
    assert!(!found[0].atomic && !found[0].conditional);
    // Addresses wrap.
    let thread = Thread::new().with(regs::RBX, u64::MAX).with(regs::RCX, u64::MAX);
    assert_eq!(places(&[0x48, 0x89, 0x54, 0x8b, 0x08], thread), [(3, 8)]);
}

#[test]
fn relative_to_the_program_counter() {
    // mov al, [rip + 0x1000]: 6 bytes long
    assert_eq!(places(&[0x8a, 0x05, 0, 0x10, 0, 0], Thread::new()), [(PC + 6 + 0x1000, 1)]);
}

#[test]
fn segments() {
    // mov rax, fs:[0x28]
    let canary = [0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0];
    assert_eq!(places(&canary, Thread::new().with(regs::FS_BASE, 0x7f00_0000_0000)), [(0x7f00_0000_0028, 8)]);
    // mov gs:[rdi], ecx
    let thread = Thread::new().with(regs::GS_BASE, 0x1000).with(regs::RDI, 0x20);
    assert_eq!(places(&[0x65, 0x89, 0x0f], thread), [(0x1020, 4)]);
}

#[test]
fn addresses_of_32_bits() {
    // mov eax, [ebx + ecx*2 + 4]: the sum is cut, and the upper halves do not count.
    let code = [0x67, 0x8b, 0x44, 0x4b, 0x04];
    let thread = Thread::new().with(regs::RBX, 0xdead_0000_ffff_fff0).with(regs::RCX, 0x10);
    assert_eq!(places(&code, thread), [(0x14, 4)]);
    // mov eax, fs:[ebx]: the segment is added after the cut.
    let thread = Thread::new().with(regs::RBX, 0x1_0000_0010).with(regs::FS_BASE, 0x7f00_0000_0000);
    assert_eq!(places(&[0x64, 0x67, 0x8b, 0x03], thread), [(0x7f00_0000_0010, 4)]);
}

#[test]
fn the_stack() {
    let thread = || Thread::new().with(regs::RSP, 0x8000).with(regs::RBP, 0x9000);
    assert_eq!(places(&[0x50], thread()), [(0x7ff8, 8)], "push rax");
    assert_eq!(places(&[0x58], thread()), [(0x8000, 8)], "pop rax");
    assert_eq!(places(&[0xc9], thread()), [(0x9000, 8)], "leave");
    assert_eq!(places(&[0xff, 0x74, 0x24, 8], thread()), [(0x8008, 8), (0x7ff8, 8)], "push [rsp + 8]");
    assert_eq!(places(&[0x8f, 0x44, 0x24, 8], thread()), [(0x8000, 8), (0x8010, 8)], "pop [rsp + 8]");
    assert_eq!(
        places(&[0xc8, 0x10, 0, 2], thread()),
        [(0x7ff8, 8), (0x8ff8, 8), (0x7ff0, 8), (0x7fe8, 8)],
        "enter 16, 2"
    );
}

#[test]
fn repeated() {
    let thread = || {
        Thread::new().with(regs::RSI, 0x1000).with(regs::RDI, 0x2000).with(regs::RCX, 5).with(regs::RAX, 7)
    };
    let backwards = || thread().with(regs::RFLAGS, 0x400);
    let movsq = [0xf3, 0x48, 0xa5];
    assert_eq!(places(&movsq, thread()), [(0x1000, 40), (0x2000, 40)]);
    // Downwards, the first element is the highest.
    assert_eq!(places(&movsq, backwards()), [(0x1000 - 32, 40), (0x2000 - 32, 40)]);
    assert_eq!(places(&movsq, thread().with(regs::RCX, 0)), []);
    assert_eq!(places(&[0xf3, 0xaa], backwards()), [(0x2000 - 4, 5)], "rep stosb");
    assert_eq!(places(&[0xaa], backwards()), [(0x2000, 1)], "stosb");
    // repe cmpsb may stop early.
    assert!(resolve(&[0xf3, 0xa6], thread()).iter().all(|access| access.conditional && access.len == 5));
    // A count that the address space cannot hold is cut, not multiplied out.
    assert_eq!(places(&[0xf3, 0x48, 0xab], thread().with(regs::RCX, u64::MAX)), [(0x2000, u64::MAX)]);
    // With 32-bit addresses the counter has 32 bits as well.
    let short = thread().with(regs::RCX, 0xffff_ffff_0000_0002);
    assert_eq!(places(&[0x67, 0xf3, 0xab], short), [(0x2000, 8)]);
}

#[test]
fn bit_strings() {
    let thread = |bit: i64| Thread::new().with(regs::RAX, 0x1000).with(regs::RCX, bit as u64);
    let bt32 = [0x0f, 0xa3, 0x08];
    let bt64 = [0x48, 0x0f, 0xa3, 0x08];
    let bt16 = [0x66, 0x0f, 0xa3, 0x08];
    for (code, bit, at, len) in [
        (&bt32[..], 0, 0x1000, 4),
        (&bt32, 31, 0x1000, 4),
        (&bt32, 32, 0x1004, 4),
        (&bt32, -1, 0xffc, 4),
        (&bt32, -32, 0xffc, 4),
        (&bt32, -33, 0xff8, 4),
        // Only the low 32 bits of the register count, with their sign.
        (&bt32, 0x1_0000_0020, 0x1004, 4),
        (&bt64, 64, 0x1008, 8),
        (&bt64, -65, 0xff0, 8),
        (&bt64, i64::MIN, 0x1000_u64.wrapping_sub(1 << 60), 8),
        (&bt16, 0x18, 0x1002, 2),
        (&bt16, 0xffff, 0xffe, 2),
    ] {
        assert_eq!(places(code, thread(bit)), [(at, len)], "bit {bit} with {code:02x?}");
    }
    // lock bts [rdi], esi
    let found =
        resolve(&[0xf0, 0x0f, 0xab, 0x37], Thread::new().with(regs::RDI, 0x1000).with(regs::RSI, 100));
    assert_eq!((found[0].kind, found[0].addr, found[0].atomic), (AccessKind::Rmw, 0x100c, true));
    // bt dword [rax], 100: a constant is taken modulo the width.
    assert_eq!(places(&[0x0f, 0xba, 0x20, 100], thread(0)), [(0x1000, 4)]);
}

#[test]
fn gathers_and_scatters() {
    // vgatherdps zmm0 {k1}, [rax + zmm1*4]
    let gather = [0x62, 0xf2, 0x7d, 0x49, 0x92, 0x04, 0x88];
    let indices: Vec<[u8; 4]> = (0..16_i32).map(|lane| (lane * 10 - 20).to_le_bytes()).collect();
    let thread = || Thread::new().with(regs::RAX, 0x1000).lanes(regs::zmm(1), &indices);
    assert_eq!(
        places(&gather, thread().mask(1, 0b1000_0000_0000_0111)),
        [(0x1000 - 80, 4), (0x1000 - 40, 4), (0x1000, 4), (0x1000 + 520, 4)]
    );
    assert_eq!(places(&gather, thread().mask(1, 0xffff_0000)), []);
    // vgatherqpd xmm0, [rax + xmm1*8 + 16], xmm2: signs of a vector, 64-bit indices.
    let thread = Thread::new()
        .with(regs::RAX, 0x1000)
        .lanes(regs::zmm(1), &[(-1_i64).to_le_bytes(), 2_i64.to_le_bytes()])
        .lanes(regs::zmm(2), &[u64::MAX.to_le_bytes(), (i64::MAX).to_le_bytes()]);
    assert_eq!(places(&[0xc4, 0xe2, 0xe9, 0x93, 0x44, 0xc8, 0x10], thread), [(0x1008, 8)]);
    // vgatherdpd ymm0, [rax + xmm1*8], ymm2: four 32-bit indices, masks of 64 bits.
    let thread = Thread::new()
        .lanes(regs::zmm(1), &[1_i32, 2, 3, 4].map(i32::to_le_bytes))
        .lanes(regs::zmm(2), &[0_u64, 1 << 63, 1 << 31, 1 << 63].map(u64::to_le_bytes));
    assert_eq!(places(&[0xc4, 0xe2, 0xed, 0x92, 0x04, 0xc8], thread), [(16, 8), (32, 8)]);
    // vpscatterqd [rax + zmm1*4] {k1}, ymm0
    let thread = Thread::new().lanes(regs::zmm(1), &[5_u64, 6, 7, 8].map(u64::to_le_bytes)).mask(1, 0b1001);
    let found = resolve(&[0x62, 0xf2, 0x7d, 0x49, 0xa1, 0x04, 0x88], thread);
    assert!(found.iter().all(|access| access.kind == AccessKind::Store && access.len == 4));
    assert_eq!(found.iter().map(|access| access.addr).collect::<Vec<_>>(), [20, 32]);
}

#[test]
fn masks() {
    let thread = |mask| Thread::new().with(regs::RAX, 0x1000).mask(1, mask);
    // vmovups [rax] {k1}, zmm0: neighbours are one range.
    let store = [0x62, 0xf1, 0x7c, 0x49, 0x11, 0x00];
    assert_eq!(places(&store, thread(0b1011)), [(0x1000, 8), (0x100c, 4)]);
    assert_eq!(places(&store, thread(u64::MAX)), [(0x1000, 64)]);
    assert_eq!(places(&store, thread(1 << 15)), [(0x103c, 4)]);
    assert_eq!(places(&store, thread(1 << 16)), []);
    // vmovdqu8 zmm0 {k1}{z}, [rax]: 64 lanes
    let load = [0x62, 0xf1, 0x7f, 0xc9, 0x6f, 0x00];
    assert_eq!(places(&load, thread(u64::MAX)), [(0x1000, 64)]);
    assert_eq!(places(&load, thread(1 << 63 | 1)), [(0x1000, 1), (0x103f, 1)]);
    // vmovss xmm0 {k1}, [rax]
    let scalar = [0x62, 0xf1, 0x7e, 0x09, 0x10, 0x00];
    assert_eq!(places(&scalar, thread(0b10)), []);
    assert_eq!(places(&scalar, thread(0b11)), [(0x1000, 4)]);
    // vpcompressd [rax] {k1}, zmm0: no gaps.
    let compress = [0x62, 0xf2, 0x7d, 0x49, 0x8b, 0x00];
    assert_eq!(places(&compress, thread(0b1000_1010)), [(0x1000, 12)]);
    assert_eq!(places(&compress, thread(0)), []);
    // vaddps zmm0 {k1}, zmm1, [rax]{1to16}: one element.
    assert_eq!(places(&[0x62, 0xf1, 0x74, 0x59, 0x58, 0x00], thread(1)), [(0x1000, 4)]);
    // vmaskmovps [rax], ymm1, ymm2
    let signs = [0, u32::MAX, 0x7fff_ffff, 0x8000_0000, 0x8000_0001].map(u32::to_le_bytes);
    let by_signs = Thread::new().with(regs::RAX, 0x1000).lanes(regs::zmm(1), &signs);
    assert_eq!(places(&[0xc4, 0xe2, 0x75, 0x2e, 0x10], by_signs), [(0x1004, 4), (0x100c, 8)]);
    // maskmovdqu xmm0, xmm1
    let mut bytes = [[0_u8]; 16];
    (bytes[1], bytes[15]) = ([0x80], [0xff]);
    let by_bytes = Thread::new().with(regs::RDI, 0x2000).lanes(regs::zmm(1), &bytes);
    assert_eq!(places(&[0x66, 0x0f, 0xf7, 0xc1], by_bytes), [(0x2001, 1), (0x200f, 1)]);
}

#[test]
fn translation() {
    // xlatb: only AL counts.
    let thread = Thread::new().with(regs::RBX, 0x1000).with(regs::RAX, 0x1_02ff);
    assert_eq!(places(&[0xd7], thread), [(0x10ff, 1)]);
}
