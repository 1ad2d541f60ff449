//go:build !purego

#include "textflag.h"

// Eight numbers at once, one in each 64-bit lane of five registers: limbs of 52
// bits, the lowest first. VPMADD52LUQ and VPMADD52HUQ add the low or high 52 bits
// of a product of two 52-bit numbers.

// Offsets into constants.
#define MODULUS 0
#define DOUBLE  40
#define MINUS   80
#define NEGINV  120
#define MASK    128
#define GUESS   136
#define JOINLOW  192
#define JOINHIGH 256

// SPREAD reads five limbs into all lanes.
#define SPREAD(m, a0, a1, a2, a3, a4) \
	VPBROADCASTQ 0+m, a0  \
	VPBROADCASTQ 8+m, a1  \
	VPBROADCASTQ 16+m, a2 \
	VPBROADCASTQ 24+m, a3 \
	VPBROADCASTQ 32+m, a4

#define LOAD(m, a0, a1, a2, a3, a4) \
	VMOVDQU64 0+m, a0   \
	VMOVDQU64 64+m, a1  \
	VMOVDQU64 128+m, a2 \
	VMOVDQU64 192+m, a3 \
	VMOVDQU64 256+m, a4

#define SAVE(m, a0, a1, a2, a3, a4) \
	VMOVDQU64 a0, 0+m   \
	VMOVDQU64 a1, 64+m  \
	VMOVDQU64 a2, 128+m \
	VMOVDQU64 a3, 192+m \
	VMOVDQU64 a4, 256+m

// CARRY brings limbs below 2^52; limbs may be negative, the number may not.
#define CARRY(t, a0, a1, a2, a3, a4) \
	VPSRAQ $52, a0, t  \
	VPANDQ Z31, a0, a0 \
	VPADDQ t, a1, a1   \
	VPSRAQ $52, a1, t  \
	VPANDQ Z31, a1, a1 \
	VPADDQ t, a2, a2   \
	VPSRAQ $52, a2, t  \
	VPANDQ Z31, a2, a2 \
	VPADDQ t, a3, a3   \
	VPSRAQ $52, a3, t  \
	VPANDQ Z31, a3, a3 \
	VPADDQ t, a4, a4

// TIMES adds x·(y0..y4) to v0..v5.
#define TIMES(x, y0, y1, y2, y3, y4, v0, v1, v2, v3, v4, v5) \
	VPMADD52LUQ y0, x, v0 \
	VPMADD52LUQ y1, x, v1 \
	VPMADD52LUQ y2, x, v2 \
	VPMADD52LUQ y3, x, v3 \
	VPMADD52LUQ y4, x, v4 \
	VPMADD52HUQ y0, x, v1 \
	VPMADD52HUQ y1, x, v2 \
	VPMADD52HUQ y2, x, v3 \
	VPMADD52HUQ y3, x, v4 \
	VPMADD52HUQ y4, x, v5

// In all products one factor is in Z20..Z24 and the modulus in Z25..Z29, -1/r is
// in Z30 and the mask in Z31; accumulators rotate through Z0..Z6, Z7 is scratch.

#define TIMESX(y, v0, v1, v2, v3, v4, v5) \
	TIMES(y, Z20, Z21, Z22, Z23, Z24, v0, v1, v2, v3, v4, v5)

// FACTOR is the multiple of r that DIVIDE adds to make v0 zero.
#define FACTOR(v0) \
	VPXORQ Z7, Z7, Z7 \
	VPMADD52LUQ Z30, v0, Z7

#define DIVIDE(v0, v1, v2, v3, v4, v5) \
	TIMES(Z7, Z25, Z26, Z27, Z28, Z29, v0, v1, v2, v3, v4, v5) \
	VPSRLQ $52, v0, v0 \
	VPADDQ v0, v1, v1

// STEP divides by 2^52 and, while the factor is being made, adds the product
// with the next limb y.
#define STEP(y, v0, v1, v2, v3, v4, v5, v6) \
	FACTOR(v0) \
	VPXORQ v6, v6, v6 \
	TIMESX(y, v1, v2, v3, v4, v5, v6) \
	DIVIDE(v0, v1, v2, v3, v4, v5)

// MULTIPLY is the number in Z20..Z24 times that of limbs y0..y4, over 2^260, in
// Z5, Z6, Z0, Z1, Z2; limbs not carried.
#define MULTIPLY(y0, y1, y2, y3, y4) \
	VPXORQ Z0, Z0, Z0 \
	VPXORQ Z1, Z1, Z1 \
	VPXORQ Z2, Z2, Z2 \
	VPXORQ Z3, Z3, Z3 \
	VPXORQ Z4, Z4, Z4 \
	VPXORQ Z5, Z5, Z5 \
	TIMESX(y0, Z0, Z1, Z2, Z3, Z4, Z5) \
	STEP(y1, Z0, Z1, Z2, Z3, Z4, Z5, Z6) \
	STEP(y2, Z1, Z2, Z3, Z4, Z5, Z6, Z0) \
	STEP(y3, Z2, Z3, Z4, Z5, Z6, Z0, Z1) \
	STEP(y4, Z3, Z4, Z5, Z6, Z0, Z1, Z2) \
	FACTOR(Z4) \
	DIVIDE(Z4, Z5, Z6, Z0, Z1, Z2)

#define CONSTANTS \
	LEAQ ·constants(SB), R9 \
	SPREAD(MODULUS(R9), Z25, Z26, Z27, Z28, Z29) \
	VPBROADCASTQ NEGINV(R9), Z30 \
	VPBROADCASTQ MASK(R9), Z31

// func stage(data *block, outer, outerStep, inner, innerStep, distance int, w *limbs, wStep int, v *block)
TEXT ·stage(SB), NOSPLIT, $0-72
	MOVQ data+0(FP), DI
	MOVQ outer+8(FP), CX
	MOVQ inner+24(FP), R10
	MOVQ innerStep+32(FP), R11
	MOVQ distance+40(FP), R12
	MOVQ w+48(FP), SI
	MOVQ v+64(FP), R8
	CONSTANTS
	SPREAD(DOUBLE(R9), Z15, Z16, Z17, Z18, Z19)

factor:
	TESTQ R8, R8
	JZ    plain
	LOAD(0(R8), Z20, Z21, Z22, Z23, Z24)
	SPREAD(0(SI), Z10, Z11, Z12, Z13, Z14)
	MULTIPLY(Z10, Z11, Z12, Z13, Z14)
	CARRY(Z7, Z5, Z6, Z0, Z1, Z2)
	VMOVDQA64 Z5, Z20
	VMOVDQA64 Z6, Z21
	VMOVDQA64 Z0, Z22
	VMOVDQA64 Z1, Z23
	VMOVDQA64 Z2, Z24
	JMP ready

plain:
	SPREAD(0(SI), Z20, Z21, Z22, Z23, Z24)

ready:
	MOVQ DI, AX
	LEAQ (DI)(R12*1), BX
	MOVQ R10, DX

butterfly:
	LOAD(0(BX), Z10, Z11, Z12, Z13, Z14)
	CARRY(Z7, Z10, Z11, Z12, Z13, Z14)
	MULTIPLY(Z10, Z11, Z12, Z13, Z14)
	LOAD(0(AX), Z10, Z11, Z12, Z13, Z14)
	VPADDQ Z5, Z10, Z3
	VPADDQ Z6, Z11, Z4
	VPADDQ Z0, Z12, Z7
	VPADDQ Z1, Z13, Z8
	VPADDQ Z2, Z14, Z9
	SAVE(0(AX), Z3, Z4, Z7, Z8, Z9)
	VPADDQ Z15, Z10, Z10
	VPADDQ Z16, Z11, Z11
	VPADDQ Z17, Z12, Z12
	VPADDQ Z18, Z13, Z13
	VPADDQ Z19, Z14, Z14
	VPSUBQ Z5, Z10, Z10
	VPSUBQ Z6, Z11, Z11
	VPSUBQ Z0, Z12, Z12
	VPSUBQ Z1, Z13, Z13
	VPSUBQ Z2, Z14, Z14
	SAVE(0(BX), Z10, Z11, Z12, Z13, Z14)
	ADDQ R11, AX
	ADDQ R11, BX
	DECQ DX
	JNZ  butterfly

	ADDQ outerStep+16(FP), DI
	ADDQ wStep+56(FP), SI
	DECQ CX
	JNZ  factor
	VZEROUPPER
	RET

// func mul(z, x, y *block, n, stepY int)
TEXT ·mul(SB), NOSPLIT, $0-40
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ stepY+32(FP), BX
	CONSTANTS

next:
	LOAD(0(SI), Z10, Z11, Z12, Z13, Z14)
	CARRY(Z7, Z10, Z11, Z12, Z13, Z14)
	LOAD(0(DX), Z20, Z21, Z22, Z23, Z24)
	MULTIPLY(Z10, Z11, Z12, Z13, Z14)
	CARRY(Z7, Z5, Z6, Z0, Z1, Z2)
	SAVE(0(DI), Z5, Z6, Z0, Z1, Z2)
	ADDQ $320, DI
	ADDQ $320, SI
	ADDQ BX, DX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func mulSpread(z, x *block, w *limbs, n int)
TEXT ·mulSpread(SB), NOSPLIT, $0-32
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ w+16(FP), DX
	MOVQ n+24(FP), CX
	CONSTANTS

next:
	LOAD(0(SI), Z10, Z11, Z12, Z13, Z14)
	CARRY(Z7, Z10, Z11, Z12, Z13, Z14)
	SPREAD(0(DX), Z20, Z21, Z22, Z23, Z24)
	MULTIPLY(Z10, Z11, Z12, Z13, Z14)
	CARRY(Z7, Z5, Z6, Z0, Z1, Z2)
	SAVE(0(DI), Z5, Z6, Z0, Z1, Z2)
	ADDQ $320, DI
	ADDQ $320, SI
	ADDQ $40, DX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func sub(z, x, y *block, n int)
TEXT ·sub(SB), NOSPLIT, $0-32
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ n+24(FP), CX
	CONSTANTS
	SPREAD(DOUBLE(R9), Z15, Z16, Z17, Z18, Z19)

next:
	LOAD(0(SI), Z0, Z1, Z2, Z3, Z4)
	VPADDQ Z15, Z0, Z0
	VPADDQ Z16, Z1, Z1
	VPADDQ Z17, Z2, Z2
	VPADDQ Z18, Z3, Z3
	VPADDQ Z19, Z4, Z4
	VPSUBQ 0(DX), Z0, Z0
	VPSUBQ 64(DX), Z1, Z1
	VPSUBQ 128(DX), Z2, Z2
	VPSUBQ 192(DX), Z3, Z3
	VPSUBQ 256(DX), Z4, Z4
	SAVE(0(DI), Z0, Z1, Z2, Z3, Z4)
	ADDQ $320, DI
	ADDQ $320, SI
	ADDQ $320, DX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// SETTLE takes the number in Z0..Z4, below 2^260 with limbs not carried, to less
// than r and 2^-18 of it. Its multiple of r is guessed from the highest limb, a
// little low; 2^260 - r is added that often. Clobbers Z5..Z7.
#define SETTLE \
	CARRY(Z7, Z0, Z1, Z2, Z3, Z4) \
	VPSRLQ $22, Z4, Z5    \
	VPMULUDQ Z12, Z5, Z5  \
	VPSRLQ $56, Z5, Z5    \
	VPMADD52LUQ Z13, Z5, Z0 \
	VPMADD52LUQ Z14, Z5, Z1 \
	VPMADD52LUQ Z15, Z5, Z2 \
	VPMADD52LUQ Z16, Z5, Z3 \
	VPMADD52LUQ Z17, Z5, Z4 \
	VPMADD52HUQ Z13, Z5, Z1 \
	VPMADD52HUQ Z14, Z5, Z2 \
	VPMADD52HUQ Z15, Z5, Z3 \
	VPMADD52HUQ Z16, Z5, Z4 \
	CARRY(Z7, Z0, Z1, Z2, Z3, Z4) \
	VPANDQ Z31, Z4, Z4

#define SETTLING \
	CONSTANTS \
	VPBROADCASTQ GUESS(R9), Z12 \
	SPREAD(MINUS(R9), Z13, Z14, Z15, Z16, Z17)

// func settle(z *block, n int)
TEXT ·settle(SB), NOSPLIT, $0-16
	MOVQ z+0(FP), DI
	MOVQ n+8(FP), CX
	SETTLING

next:
	LOAD(0(DI), Z0, Z1, Z2, Z3, Z4)
	SETTLE
	SAVE(0(DI), Z0, Z1, Z2, Z3, Z4)
	ADDQ $320, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// LANES are the addresses of the numbers of eight lanes, from SI on, AX apart.
#define LANES \
	LEAQ (SI)(AX*1), R8   \
	LEAQ (SI)(AX*2), R10  \
	LEAQ (R8)(AX*2), R11  \
	LEAQ (SI)(AX*4), R12  \
	LEAQ (R8)(AX*4), R13  \
	LEAQ (R10)(AX*4), R14 \
	LEAQ (R11)(AX*4), R15

// func unpack(z *block, src *fr.Element, lane, step, n int)
TEXT ·unpack(SB), NOSPLIT, $0-40
	MOVQ z+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ lane+16(FP), AX
	MOVQ step+24(FP), BX
	MOVQ n+32(FP), CX
	LEAQ ·constants(SB), R9
	VPBROADCASTQ MASK(R9), Z31
	VMOVDQU64 JOINLOW(R9), Z16
	VMOVDQU64 JOINHIGH(R9), Z17

next:
	LANES
	VMOVDQU64 (SI), Y0
	VMOVDQU64 (R8), Y1
	VMOVDQU64 (R10), Y2
	VMOVDQU64 (R11), Y3
	VINSERTI64X4 $1, (R12), Z0, Z0
	VINSERTI64X4 $1, (R13), Z1, Z1
	VINSERTI64X4 $1, (R14), Z2, Z2
	VINSERTI64X4 $1, (R15), Z3, Z3

	// pairs of lanes: words 0 and 2 in Z4 and Z6, words 1 and 3 in Z5 and Z7
	VPUNPCKLQDQ Z1, Z0, Z4
	VPUNPCKHQDQ Z1, Z0, Z5
	VPUNPCKLQDQ Z3, Z2, Z6
	VPUNPCKHQDQ Z3, Z2, Z7
	VMOVDQA64 Z4, Z8
	VPERMT2Q Z6, Z16, Z8  // word 0
	VMOVDQA64 Z5, Z9
	VPERMT2Q Z7, Z16, Z9  // word 1
	VPERMT2Q Z6, Z17, Z4  // word 2
	VPERMT2Q Z7, Z17, Z5  // word 3

	VPANDQ Z31, Z8, Z0
	VPSRLQ $52, Z8, Z8
	VPSLLQ $12, Z9, Z1
	VPTERNLOGQ $0xc8, Z8, Z31, Z1
	VPSRLQ $40, Z9, Z9
	VPSLLQ $24, Z4, Z2
	VPTERNLOGQ $0xc8, Z9, Z31, Z2
	VPSRLQ $28, Z4, Z4
	VPSLLQ $36, Z5, Z3
	VPTERNLOGQ $0xc8, Z4, Z31, Z3
	VPSRLQ $16, Z5, Z4
	SAVE(0(DI), Z0, Z1, Z2, Z3, Z4)
	ADDQ BX, SI
	ADDQ $320, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func pack(dst *fr.Element, lane, step int, z *block, n int)
TEXT ·pack(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), SI
	MOVQ lane+8(FP), AX
	MOVQ step+16(FP), BX
	MOVQ z+24(FP), DI
	MOVQ n+32(FP), CX
	SETTLING
	VMOVDQU64 JOINLOW(R9), Z18
	VMOVDQU64 JOINHIGH(R9), Z19

next:
	LOAD(0(DI), Z0, Z1, Z2, Z3, Z4)
	SETTLE

	// r less, unless that is negative
	VPSUBQ Z25, Z0, Z5
	VPSUBQ Z26, Z1, Z6
	VPSUBQ Z27, Z2, Z8
	VPSUBQ Z28, Z3, Z9
	VPSUBQ Z29, Z4, Z10
	CARRY(Z7, Z5, Z6, Z8, Z9, Z10)
	VPMOVQ2M Z10, K1
	KNOTB K1, K1
	VMOVDQA64 Z5, K1, Z0
	VMOVDQA64 Z6, K1, Z1
	VMOVDQA64 Z8, K1, Z2
	VMOVDQA64 Z9, K1, Z3
	VMOVDQA64 Z10, K1, Z4

	// five limbs to four words
	VPSLLQ $52, Z1, Z5
	VPORQ Z5, Z0, Z0
	VPSRLQ $12, Z1, Z1
	VPSLLQ $40, Z2, Z5
	VPORQ Z5, Z1, Z1
	VPSRLQ $24, Z2, Z2
	VPSLLQ $28, Z3, Z5
	VPORQ Z5, Z2, Z2
	VPSRLQ $36, Z3, Z3
	VPSLLQ $16, Z4, Z5
	VPORQ Z5, Z3, Z3

	// four words of eight lanes to eight numbers
	VPUNPCKLQDQ Z1, Z0, Z5 // words 0 and 1 of even lanes
	VPUNPCKHQDQ Z1, Z0, Z6 // of odd lanes
	VPUNPCKLQDQ Z3, Z2, Z8 // words 2 and 3
	VPUNPCKHQDQ Z3, Z2, Z9
	VMOVDQA64 Z5, Z0
	VPERMT2Q Z8, Z18, Z0 // lanes 0 and 4
	VMOVDQA64 Z6, Z1
	VPERMT2Q Z9, Z18, Z1 // lanes 1 and 5
	VPERMT2Q Z8, Z19, Z5 // lanes 2 and 6
	VPERMT2Q Z9, Z19, Z6 // lanes 3 and 7
	LANES
	VMOVDQU64 Y0, (SI)
	VMOVDQU64 Y1, (R8)
	VMOVDQU64 Y5, (R10)
	VMOVDQU64 Y6, (R11)
	VEXTRACTI64X4 $1, Z0, (R12)
	VEXTRACTI64X4 $1, Z1, (R13)
	VEXTRACTI64X4 $1, Z5, (R14)
	VEXTRACTI64X4 $1, Z6, (R15)
	ADDQ BX, SI
	ADDQ $320, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET
