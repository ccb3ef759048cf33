// Two increments (LSE) are not lost.
// Litmus: RMW+add-add

P0:
    mov w9, #1
    ldadd w9, w10, [x0]
    str w10, [x1]
    ret

P1:
    mov w9, #1
    ldadd w9, w10, [x0]
    str w10, [x1]
    ret
