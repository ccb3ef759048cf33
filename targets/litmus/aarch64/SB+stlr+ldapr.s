// LDAPR may overtake an STLR.
// Litmus: SB+rel-acq

P0:
    mov w9, #1
    stlr w9, [x0]
    ldapr w10, [x1]
    str w10, [x2]
    ret

P1:
    mov w9, #1
    stlr w9, [x1]
    ldapr w10, [x0]
    str w10, [x2]
    ret
