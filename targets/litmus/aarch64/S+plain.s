// Plain stores and loads.
// Litmus: S+rlx

P0:
    mov w9, #2
    str w9, [x0]
    mov w9, #1
    str w9, [x1]
    ret

P1:
    ldr w10, [x1]
    mov w9, #1
    str w9, [x0]
    str w10, [x2]
    ret
