// The same of the whole system.
// Litmus: MP+rel-fence+acq-fence

P0:
    mov w9, #1
    str w9, [x0]
    dmb st
    mov w9, #1
    str w9, [x1]
    ret

P1:
    ldr w10, [x1]
    dmb ld
    ldr w11, [x0]
    stp w10, w11, [x2]
    ret
