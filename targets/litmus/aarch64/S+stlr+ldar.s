// STLR and LDAR.
// Litmus: S+rel+acq

P0:
    mov w9, #2
    str w9, [x0]
    mov w9, #1
    stlr w9, [x1]
    ret

P1:
    ldar w10, [x1]
    mov w9, #1
    str w9, [x0]
    str w10, [x2]
    ret
