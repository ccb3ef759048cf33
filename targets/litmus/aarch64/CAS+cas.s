// Of two compare-and-swaps (LSE) one succeeds.
// Litmus: CAS+both

P0:
    mov w10, #0
    mov w11, #1
    cas w10, w11, [x0]
    cmp w10, #0
    cset w9, eq
    stp w9, w10, [x1]
    ret

P1:
    mov w10, #0
    mov w11, #2
    cas w10, w11, [x0]
    cmp w10, #0
    cset w9, eq
    stp w9, w10, [x1]
    ret
