//go:build !purego

#include "textflag.h"

// Eight numbers at once, one in each 64-bit lane of eight registers: limbs of
// 52 bits, the lowest first. VPMADD52LUQ and VPMADD52HUQ add the low or high 52
// bits of a product of two 52-bit numbers.

// Offsets into constants, each entry eight words.
#define MODULUS 0
#define DOUBLE  64
#define FOURFOLD 128
#define NEGINV  192
#define MASK    200
#define GUESS   208
#define SLACK   216
#define MULTIPLES 224

// SPREAD reads one word into all lanes.
#define SPREAD8(m, a0, a1, a2, a3, a4, a5, a6, a7) \
	VPBROADCASTQ 0+m, a0  \
	VPBROADCASTQ 8+m, a1  \
	VPBROADCASTQ 16+m, a2 \
	VPBROADCASTQ 24+m, a3 \
	VPBROADCASTQ 32+m, a4 \
	VPBROADCASTQ 40+m, a5 \
	VPBROADCASTQ 48+m, a6 \
	VPBROADCASTQ 56+m, a7

#define LOAD(m, a0, a1, a2, a3, a4, a5, a6, a7) \
	VMOVDQU64 0+m, a0   \
	VMOVDQU64 64+m, a1  \
	VMOVDQU64 128+m, a2 \
	VMOVDQU64 192+m, a3 \
	VMOVDQU64 256+m, a4 \
	VMOVDQU64 320+m, a5 \
	VMOVDQU64 384+m, a6 \
	VMOVDQU64 448+m, a7

#define SAVE(m, a0, a1, a2, a3, a4, a5, a6, a7) \
	VMOVDQU64 a0, 0+m   \
	VMOVDQU64 a1, 64+m  \
	VMOVDQU64 a2, 128+m \
	VMOVDQU64 a3, 192+m \
	VMOVDQU64 a4, 256+m \
	VMOVDQU64 a5, 320+m \
	VMOVDQU64 a6, 384+m \
	VMOVDQU64 a7, 448+m

// TIMES adds x·(y0..y7) to v0..v8: all low halves, then all high halves, so
// that neighbours do not wait for each other.
#define TIMES(x, y0, y1, y2, y3, y4, y5, y6, y7, v0, v1, v2, v3, v4, v5, v6, v7, v8) \
	VPMADD52LUQ y0, x, v0 \
	VPMADD52LUQ y1, x, v1 \
	VPMADD52LUQ y2, x, v2 \
	VPMADD52LUQ y3, x, v3 \
	VPMADD52LUQ y4, x, v4 \
	VPMADD52LUQ y5, x, v5 \
	VPMADD52LUQ y6, x, v6 \
	VPMADD52LUQ y7, x, v7 \
	VPMADD52HUQ y0, x, v1 \
	VPMADD52HUQ y1, x, v2 \
	VPMADD52HUQ y2, x, v3 \
	VPMADD52HUQ y3, x, v4 \
	VPMADD52HUQ y4, x, v5 \
	VPMADD52HUQ y5, x, v6 \
	VPMADD52HUQ y6, x, v7 \
	VPMADD52HUQ y7, x, v8

// In all products: x in Z16..Z23, the modulus in Z24..Z31, -1/p in Z13, the mask
// in Z14; accumulators rotate through Z0..Z9; Z10, Z11 and Z12 are scratch.

#define TIMESX(y, v0, v1, v2, v3, v4, v5, v6, v7, v8) \
	TIMES(y, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, v0, v1, v2, v3, v4, v5, v6, v7, v8)

#define TIMESP(m, v0, v1, v2, v3, v4, v5, v6, v7, v8) \
	TIMES(m, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31, v0, v1, v2, v3, v4, v5, v6, v7, v8)

// TIMESM is TIMES with the limbs y0..y7 in memory.
#define TIMESM(x, m, v0, v1, v2, v3, v4, v5, v6, v7, v8) \
	TIMES(x, 0+m, 64+m, 128+m, 192+m, 256+m, 320+m, 384+m, 448+m, v0, v1, v2, v3, v4, v5, v6, v7, v8)

// DIVIDE makes v0 zero by a multiple of the modulus and carries on to v1.
#define DIVIDE(v0, v1, v2, v3, v4, v5, v6, v7, v8) \
	TIMESP(Z12, v0, v1, v2, v3, v4, v5, v6, v7, v8) \
	VPSRLQ $52, v0, v0 \
	VPADDQ v0, v1, v1

// FACTOR is the multiple for DIVIDE.
#define FACTOR(v0) \
	VPXORQ Z12, Z12, Z12 \
	VPMADD52LUQ Z13, v0, Z12

// STEP divides by 2^52 and, while the factor is being made, adds x times the
// next limb y of the other number.
#define STEP(y, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9) \
	FACTOR(v0) \
	VMOVDQU64 y, Z10 \
	VPXORQ v9, v9, v9 \
	TIMESX(Z10, v1, v2, v3, v4, v5, v6, v7, v8, v9) \
	DIVIDE(v0, v1, v2, v3, v4, v5, v6, v7, v8)

// STEP2 is STEP for the sum of two products; limbs of the third number at m.
#define STEP2(y, w, m, v0, v1, v2, v3, v4, v5, v6, v7, v8, v9) \
	FACTOR(v0) \
	VMOVDQU64 y, Z10 \
	VMOVDQU64 w, Z11 \
	VPXORQ v9, v9, v9 \
	TIMESX(Z10, v1, v2, v3, v4, v5, v6, v7, v8, v9) \
	TIMESM(Z11, m, v1, v2, v3, v4, v5, v6, v7, v8, v9) \
	DIVIDE(v0, v1, v2, v3, v4, v5, v6, v7, v8)

#define CLEAR9 \
	VPXORQ Z0, Z0, Z0 \
	VPXORQ Z1, Z1, Z1 \
	VPXORQ Z2, Z2, Z2 \
	VPXORQ Z3, Z3, Z3 \
	VPXORQ Z4, Z4, Z4 \
	VPXORQ Z5, Z5, Z5 \
	VPXORQ Z6, Z6, Z6 \
	VPXORQ Z7, Z7, Z7 \
	VPXORQ Z8, Z8, Z8

// CARRY brings limbs below 2^52; limbs may be negative, the number may not.
#define CARRY(t, mask, a0, a1, a2, a3, a4, a5, a6, a7) \
	VPSRAQ $52, a0, t   \
	VPANDQ mask, a0, a0 \
	VPADDQ t, a1, a1    \
	VPSRAQ $52, a1, t   \
	VPANDQ mask, a1, a1 \
	VPADDQ t, a2, a2    \
	VPSRAQ $52, a2, t   \
	VPANDQ mask, a2, a2 \
	VPADDQ t, a3, a3    \
	VPSRAQ $52, a3, t   \
	VPANDQ mask, a3, a3 \
	VPADDQ t, a4, a4    \
	VPSRAQ $52, a4, t   \
	VPANDQ mask, a4, a4 \
	VPADDQ t, a5, a5    \
	VPSRAQ $52, a5, t   \
	VPANDQ mask, a5, a5 \
	VPADDQ t, a6, a6    \
	VPSRAQ $52, a6, t   \
	VPANDQ mask, a6, a6 \
	VPADDQ t, a7, a7

// MULTIPLY is x in Z16..Z23 times the number at m, in Z8, Z9, Z0..Z5.
#define MULTIPLY(m) \
	CLEAR9 \
	VMOVDQU64 0+m, Z10 \
	TIMESX(Z10, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8) \
	STEP(64+m, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9)  \
	STEP(128+m, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z0) \
	STEP(192+m, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z0, Z1) \
	STEP(256+m, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z0, Z1, Z2) \
	STEP(320+m, Z4, Z5, Z6, Z7, Z8, Z9, Z0, Z1, Z2, Z3) \
	STEP(384+m, Z5, Z6, Z7, Z8, Z9, Z0, Z1, Z2, Z3, Z4) \
	STEP(448+m, Z6, Z7, Z8, Z9, Z0, Z1, Z2, Z3, Z4, Z5) \
	FACTOR(Z7) \
	DIVIDE(Z7, Z8, Z9, Z0, Z1, Z2, Z3, Z4, Z5) \
	CARRY(Z12, Z14, Z8, Z9, Z0, Z1, Z2, Z3, Z4, Z5)

// MULTIPLY2 is x in Z16..Z23 times the number at m plus the number at k times
// the one at w.
#define MULTIPLY2(m, k, w) \
	CLEAR9 \
	VMOVDQU64 0+m, Z10 \
	VMOVDQU64 0+w, Z11 \
	TIMESX(Z10, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8) \
	TIMESM(Z11, k, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8) \
	STEP2(64+m, 64+w, k, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9)   \
	STEP2(128+m, 128+w, k, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z0) \
	STEP2(192+m, 192+w, k, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z0, Z1) \
	STEP2(256+m, 256+w, k, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z0, Z1, Z2) \
	STEP2(320+m, 320+w, k, Z4, Z5, Z6, Z7, Z8, Z9, Z0, Z1, Z2, Z3) \
	STEP2(384+m, 384+w, k, Z5, Z6, Z7, Z8, Z9, Z0, Z1, Z2, Z3, Z4) \
	STEP2(448+m, 448+w, k, Z6, Z7, Z8, Z9, Z0, Z1, Z2, Z3, Z4, Z5) \
	FACTOR(Z7) \
	DIVIDE(Z7, Z8, Z9, Z0, Z1, Z2, Z3, Z4, Z5) \
	CARRY(Z12, Z14, Z8, Z9, Z0, Z1, Z2, Z3, Z4, Z5)

#define CONSTANTS \
	LEAQ ·constants(SB), R9 \
	SPREAD8(MODULUS(R9), Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31) \
	VPBROADCASTQ NEGINV(R9), Z13 \
	VPBROADCASTQ MASK(R9), Z14

// func mulBlocks(z, x, y *block, n, step, stepY int)
TEXT ·mulBlocks(SB), NOSPLIT, $0-48
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ step+32(FP), AX
	MOVQ stepY+40(FP), BX
	CONSTANTS

next:
	LOAD(0(SI), Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23)
	MULTIPLY(0(DX))
	SAVE(0(DI), Z8, Z9, Z0, Z1, Z2, Z3, Z4, Z5)
	ADDQ AX, DI
	ADDQ AX, SI
	ADDQ BX, DX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func mulPairs(z, x, y, scratch *pair, n, step, stepY int)
TEXT ·mulPairs(SB), NOSPLIT, $0-56
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ scratch+24(FP), R8
	MOVQ n+32(FP), CX
	MOVQ step+40(FP), AX
	MOVQ stepY+48(FP), BX
	CONSTANTS

next:
	// 4p - y1
	SPREAD8(FOURFOLD(R9), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	VPSUBQ 512(DX), Z0, Z0
	VPSUBQ 576(DX), Z1, Z1
	VPSUBQ 640(DX), Z2, Z2
	VPSUBQ 704(DX), Z3, Z3
	VPSUBQ 768(DX), Z4, Z4
	VPSUBQ 832(DX), Z5, Z5
	VPSUBQ 896(DX), Z6, Z6
	VPSUBQ 960(DX), Z7, Z7
	CARRY(Z12, Z14, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	SAVE(0(R8), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)

	// x0·y0 - x1·y1
	LOAD(0(SI), Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23)
	MULTIPLY2(0(DX), 512(SI), 0(R8))
	SAVE(512(R8), Z8, Z9, Z0, Z1, Z2, Z3, Z4, Z5)

	// x0·y1 + x1·y0
	MULTIPLY2(512(DX), 512(SI), 0(DX))
	SAVE(512(DI), Z8, Z9, Z0, Z1, Z2, Z3, Z4, Z5)
	LOAD(512(R8), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	SAVE(0(DI), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ADDQ AX, DI
	ADDQ AX, SI
	ADDQ BX, DX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

#define ARITH(op, m, a0, a1, a2, a3, a4, a5, a6, a7) \
	op 0+m, a0, a0   \
	op 64+m, a1, a1  \
	op 128+m, a2, a2 \
	op 192+m, a3, a3 \
	op 256+m, a4, a4 \
	op 320+m, a5, a5 \
	op 384+m, a6, a6 \
	op 448+m, a7, a7

#define PLUS(op, a0, a1, a2, a3, a4, a5, a6, a7) \
	op a0, Z0, Z0 \
	op a1, Z1, Z1 \
	op a2, Z2, Z2 \
	op a3, Z3, Z3 \
	op a4, Z4, Z4 \
	op a5, Z5, Z5 \
	op a6, Z6, Z6 \
	op a7, Z7, Z7

// func addBlocks(z, x, y *block, n, stepZ, step int)
TEXT ·addBlocks(SB), NOSPLIT, $0-48
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ stepZ+32(FP), AX
	MOVQ step+40(FP), BX
	LEAQ ·constants(SB), R9
	VPBROADCASTQ MASK(R9), Z14

next:
	LOAD(0(SI), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ARITH(VPADDQ, 0(DX), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	CARRY(Z12, Z14, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	SAVE(0(DI), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ADDQ AX, DI
	ADDQ BX, SI
	ADDQ BX, DX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func subBlocks(z, x, y *block, n, stepZ, step int)
TEXT ·subBlocks(SB), NOSPLIT, $0-48
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ n+24(FP), CX
	MOVQ stepZ+32(FP), AX
	MOVQ step+40(FP), BX
	LEAQ ·constants(SB), R9
	VPBROADCASTQ MASK(R9), Z14
	SPREAD8(DOUBLE(R9), Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23)

next:
	LOAD(0(SI), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	PLUS(VPADDQ, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23)
	ARITH(VPSUBQ, 0(DX), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	CARRY(Z12, Z14, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	SAVE(0(DI), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ADDQ AX, DI
	ADDQ BX, SI
	ADDQ BX, DX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// FOLD takes the number in Z0..Z7, 0 to below 6p with limbs not yet carried, to
// at most p and a little. Its multiple of p is guessed from the highest limb, a
// little low, and looked up; -1 finds p itself to be added.
#define FOLD \
	VPSUBQ Z30, Z7, Z12   \
	VPMULDQ Z31, Z12, Z12 \
	VPSRAQ $40, Z12, Z12  \
	VPERMQ (MULTIPLES+0)(R8), Z12, Z16   \
	VPERMQ (MULTIPLES+64)(R8), Z12, Z17  \
	VPERMQ (MULTIPLES+128)(R8), Z12, Z18 \
	VPERMQ (MULTIPLES+192)(R8), Z12, Z19 \
	VPERMQ (MULTIPLES+256)(R8), Z12, Z20 \
	VPERMQ (MULTIPLES+320)(R8), Z12, Z21 \
	VPERMQ (MULTIPLES+384)(R8), Z12, Z22 \
	VPERMQ (MULTIPLES+448)(R8), Z12, Z23 \
	PLUS(VPSUBQ, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23) \
	CARRY(Z12, Z14, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)

#define FOLDING \
	LEAQ ·constants(SB), R8  \
	VPBROADCASTQ MASK(R8), Z14  \
	VPBROADCASTQ SLACK(R8), Z30 \
	VPBROADCASTQ GUESS(R8), Z31

// func foldSub(z, x, y *block, n int)
TEXT ·foldSub(SB), NOSPLIT, $0-32
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ n+24(FP), CX
	FOLDING

next:
	SPREAD8(DOUBLE(R8), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ARITH(VPADDQ, 0(SI), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ARITH(VPSUBQ, 0(DX), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	FOLD
	SAVE(0(DI), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ADDQ $512, DI
	ADDQ $512, SI
	ADDQ $512, DX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func foldSub2(z, x, y, w *block, n int)
TEXT ·foldSub2(SB), NOSPLIT, $0-40
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ w+24(FP), BX
	MOVQ n+32(FP), CX
	FOLDING

next:
	SPREAD8(FOURFOLD(R8), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ARITH(VPADDQ, 0(SI), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ARITH(VPSUBQ, 0(DX), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ARITH(VPSUBQ, 0(BX), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	FOLD
	SAVE(0(DI), Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
	ADDQ $512, DI
	ADDQ $512, SI
	ADDQ $512, DX
	ADDQ $512, BX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET
