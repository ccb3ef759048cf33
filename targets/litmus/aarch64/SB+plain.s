// Plain stores and loads: nothing is ordered.
// Litmus: SB+rlx

P0:
    mov w9, #1
    str w9, [x0]
    ldr w10, [x1]
    str w10, [x2]
    ret

P1:
    mov w9, #1
    str w9, [x1]
    ldr w10, [x0]
    str w10, [x2]
    ret
