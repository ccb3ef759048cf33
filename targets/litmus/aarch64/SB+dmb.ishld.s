// A barrier of loads orders no store.
// Litmus: SB+rlx

P0:
    mov w9, #1
    str w9, [x0]
    dmb ishld
    ldr w10, [x1]
    str w10, [x2]
    ret

P1:
    mov w9, #1
    str w9, [x1]
    dmb ishld
    ldr w10, [x0]
    str w10, [x2]
    ret
