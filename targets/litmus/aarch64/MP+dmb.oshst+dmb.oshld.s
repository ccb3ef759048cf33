// The same of the outer shareable domain.
// Litmus: MP+rel-fence+acq-fence

P0:
    mov w9, #1
    str w9, [x0]
    dmb oshst
    mov w9, #1
    str w9, [x1]
    ret

P1:
    ldr w10, [x1]
    dmb oshld
    ldr w11, [x0]
    stp w10, w11, [x2]
    ret
