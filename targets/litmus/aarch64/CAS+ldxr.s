// Of two compare-and-swaps by exclusives one succeeds.
// Litmus: CAS+both

P0:
    mov w11, #1
1:
    ldxr w10, [x0]
    cbnz w10, 2f
    stxr w12, w11, [x0]
    cbnz w12, 1b
2:
    cmp w10, #0
    cset w9, eq
    stp w9, w10, [x1]
    ret

P1:
    mov w11, #2
1:
    ldxr w10, [x0]
    cbnz w10, 2f
    stxr w12, w11, [x0]
    cbnz w12, 1b
2:
    cmp w10, #0
    cset w9, eq
    stp w9, w10, [x1]
    ret
