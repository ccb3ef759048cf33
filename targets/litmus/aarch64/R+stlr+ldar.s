// STLR and LDAR.
// Litmus: R+sc

P0:
    mov w9, #1
    stlr w9, [x0]
    mov w9, #1
    stlr w9, [x1]
    ret

P1:
    mov w9, #2
    stlr w9, [x1]
    ldar w10, [x0]
    str w10, [x2]
    ret
