// Two plain loads of one place do not go back in time.
// Litmus: CoRR

P0:
    mov w9, #1
    str w9, [x0]
    ret

P1:
    ldr w10, [x0]
    ldr w11, [x0]
    stp w10, w11, [x1]
    ret
