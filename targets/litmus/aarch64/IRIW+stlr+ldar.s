// STLR and LDAR: readers agree.
// Litmus: IRIW+sc

P0:
    mov w9, #1
    stlr w9, [x0]
    ret

P1:
    ldar w10, [x0]
    ldar w11, [x1]
    stp w10, w11, [x2]
    ret

P2:
    mov w9, #1
    stlr w9, [x0]
    ret

P3:
    ldar w10, [x1]
    ldar w11, [x0]
    stp w10, w11, [x2]
    ret
