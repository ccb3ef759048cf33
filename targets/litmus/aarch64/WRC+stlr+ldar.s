// The middle thread passes on what it has read.
// Litmus: WRC+rlx+rel+acq

P0:
    mov w9, #1
    str w9, [x0]
    ret

P1:
    ldr w10, [x0]
    mov w9, #1
    stlr w9, [x1]
    str w10, [x2]
    ret

P2:
    ldar w10, [x1]
    ldr w11, [x0]
    stp w10, w11, [x2]
    ret
