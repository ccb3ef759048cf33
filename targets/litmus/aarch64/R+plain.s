// Plain stores and loads.
// Litmus: R+rlx

P0:
    mov w9, #1
    str w9, [x0]
    mov w9, #1
    str w9, [x1]
    ret

P1:
    mov w9, #2
    str w9, [x1]
    ldr w10, [x0]
    str w10, [x2]
    ret
