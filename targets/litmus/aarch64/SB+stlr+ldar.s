// STLR and LDAR order each other.
// Litmus: SB+sc

P0:
    mov w9, #1
    stlr w9, [x0]
    ldar w10, [x1]
    str w10, [x2]
    ret

P1:
    mov w9, #1
    stlr w9, [x1]
    ldar w10, [x0]
    str w10, [x2]
    ret
