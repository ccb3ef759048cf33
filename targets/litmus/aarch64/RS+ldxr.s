// The same by exclusives.
// Litmus: RS+rmw

P0:
    mov w9, #1
    str w9, [x0]
    mov w9, #1
    stlr w9, [x1]
    ret

P1:
1:
    ldxr w10, [x0]
    add w10, w10, #1
    stxr w11, w10, [x0]
    cbnz w11, 1b
    ret

P2:
    ldar w10, [x1]
    ldr w11, [x0]
    stp w10, w11, [x2]
    ret
