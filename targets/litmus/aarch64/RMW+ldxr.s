// Two increments by exclusives are not lost.
// Litmus: RMW+add-add

P0:
1:
    ldxr w10, [x0]
    add w12, w10, #1
    stxr w11, w12, [x0]
    cbnz w11, 1b
    str w10, [x1]
    ret

P1:
1:
    ldxr w10, [x0]
    add w12, w10, #1
    stxr w11, w12, [x0]
    cbnz w11, 1b
    str w10, [x1]
    ret
