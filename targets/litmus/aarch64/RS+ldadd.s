// LDADD without order continues a release sequence.
// Litmus: RS+rmw

P0:
    mov w9, #1
    str w9, [x0]
    mov w9, #1
    stlr w9, [x1]
    ret

P1:
    mov w9, #1
    ldadd w9, w10, [x0]
    ret

P2:
    ldar w10, [x1]
    ldr w11, [x0]
    stp w10, w11, [x2]
    ret
