// Plain stores.
// Litmus: 2+2W+rlx

P0:
    mov w9, #1
    str w9, [x0]
    mov w9, #2
    str w9, [x1]
    ret

P1:
    mov w9, #1
    str w9, [x1]
    mov w9, #2
    str w9, [x0]
    ret
