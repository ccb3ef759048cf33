// Full barriers.
// Litmus: SB+sc-fences

P0:
    mov w9, #1
    str w9, [x0]
    dmb ish
    ldr w10, [x1]
    str w10, [x2]
    ret

P1:
    mov w9, #1
    str w9, [x1]
    dmb ish
    ldr w10, [x0]
    str w10, [x2]
    ret
