//go:build !purego

#include "textflag.h"

// Eight field elements at once, one in each 64-bit lane of five registers:
// limbs of 52 bits, the lowest first. VPMADD52LUQ and VPMADD52HUQ add the low
// or high 52 bits of a product of two 52-bit numbers.

// r in limbs, then −1/r mod 2^52 and 2^52 − 1.
DATA limbs<>+0(SB)/8, $0x000fffff00000001
DATA limbs<>+8(SB)/8, $0x00002fffe5bfefff
DATA limbs<>+16(SB)/8, $0x0009a1d80553bda4
DATA limbs<>+24(SB)/8, $0x0007d483339d8080
DATA limbs<>+32(SB)/8, $0x000073eda753299d
DATA limbs<>+40(SB)/8, $0x000ffffeffffffff
DATA limbs<>+48(SB)/8, $0x000fffffffffffff
GLOBL limbs<>(SB), RODATA|NOPTR, $56

// byte offsets of eight elements that follow one another
DATA strides<>+0(SB)/8, $0
DATA strides<>+8(SB)/8, $32
DATA strides<>+16(SB)/8, $64
DATA strides<>+24(SB)/8, $96
DATA strides<>+32(SB)/8, $128
DATA strides<>+40(SB)/8, $160
DATA strides<>+48(SB)/8, $192
DATA strides<>+56(SB)/8, $224
GLOBL strides<>(SB), RODATA|NOPTR, $64

// indices of VPERMT2Q that join the lower and upper 128-bit quarters
DATA joinLow<>+0(SB)/8, $0
DATA joinLow<>+8(SB)/8, $1
DATA joinLow<>+16(SB)/8, $8
DATA joinLow<>+24(SB)/8, $9
DATA joinLow<>+32(SB)/8, $2
DATA joinLow<>+40(SB)/8, $3
DATA joinLow<>+48(SB)/8, $10
DATA joinLow<>+56(SB)/8, $11
GLOBL joinLow<>(SB), RODATA|NOPTR, $64
DATA joinHigh<>+0(SB)/8, $4
DATA joinHigh<>+8(SB)/8, $5
DATA joinHigh<>+16(SB)/8, $12
DATA joinHigh<>+24(SB)/8, $13
DATA joinHigh<>+32(SB)/8, $6
DATA joinHigh<>+40(SB)/8, $7
DATA joinHigh<>+48(SB)/8, $14
DATA joinHigh<>+56(SB)/8, $15
GLOBL joinHigh<>(SB), RODATA|NOPTR, $64

// LOAD reads five limbs of eight lanes.
#define LOAD(m, a0, a1, a2, a3, a4) \
	VMOVDQU64 0+m, a0   \
	VMOVDQU64 64+m, a1  \
	VMOVDQU64 128+m, a2 \
	VMOVDQU64 192+m, a3 \
	VMOVDQU64 256+m, a4

#define SAVE(m) \
	VMOVDQU64 Z5, 0+m    \
	VMOVDQU64 Z6, 64+m   \
	VMOVDQU64 Z7, 128+m  \
	VMOVDQU64 Z8, 192+m  \
	VMOVDQU64 Z17, 256+m

// SPREAD reads five limbs into all lanes.
#define SPREAD(m, a0, a1, a2, a3, a4) \
	VPBROADCASTQ 0+m, a0  \
	VPBROADCASTQ 8+m, a1  \
	VPBROADCASTQ 16+m, a2 \
	VPBROADCASTQ 24+m, a3 \
	VPBROADCASTQ 32+m, a4

// CLEAR zeroes the accumulators: low halves of limb k in Zk, k = 0..8, high
// halves of limb k in Z(8+k), k = 1..9. Two sets make short chains.
#define CLEAR \
	VPXORQ Z0, Z0, Z0    \
	VPXORQ Z1, Z1, Z1    \
	VPXORQ Z2, Z2, Z2    \
	VPXORQ Z3, Z3, Z3    \
	VPXORQ Z4, Z4, Z4    \
	VPXORQ Z5, Z5, Z5    \
	VPXORQ Z6, Z6, Z6    \
	VPXORQ Z7, Z7, Z7    \
	VPXORQ Z8, Z8, Z8    \
	VPXORQ Z9, Z9, Z9    \
	VPXORQ Z10, Z10, Z10 \
	VPXORQ Z11, Z11, Z11 \
	VPXORQ Z12, Z12, Z12 \
	VPXORQ Z13, Z13, Z13 \
	VPXORQ Z14, Z14, Z14 \
	VPXORQ Z15, Z15, Z15 \
	VPXORQ Z16, Z16, Z16 \
	VPXORQ Z17, Z17, Z17

// ROW adds limb a times the limbs b to five pairs of accumulators.
#define ROW(a, b0, b1, b2, b3, b4, l0, l1, l2, l3, l4, h0, h1, h2, h3, h4) \
	VPMADD52LUQ a, b0, l0 \
	VPMADD52HUQ a, b0, h0 \
	VPMADD52LUQ a, b1, l1 \
	VPMADD52HUQ a, b1, h1 \
	VPMADD52LUQ a, b2, l2 \
	VPMADD52HUQ a, b2, h2 \
	VPMADD52LUQ a, b3, l3 \
	VPMADD52HUQ a, b3, h3 \
	VPMADD52LUQ a, b4, l4 \
	VPMADD52HUQ a, b4, h4

// PRODUCT adds the product of limbs a and b to the accumulators.
#define PRODUCT(a0, a1, a2, a3, a4, b0, b1, b2, b3, b4) \
	ROW(a0, b0, b1, b2, b3, b4, Z0, Z1, Z2, Z3, Z4, Z9, Z10, Z11, Z12, Z13)  \
	ROW(a1, b0, b1, b2, b3, b4, Z1, Z2, Z3, Z4, Z5, Z10, Z11, Z12, Z13, Z14) \
	ROW(a2, b0, b1, b2, b3, b4, Z2, Z3, Z4, Z5, Z6, Z11, Z12, Z13, Z14, Z15) \
	ROW(a3, b0, b1, b2, b3, b4, Z3, Z4, Z5, Z6, Z7, Z12, Z13, Z14, Z15, Z16) \
	ROW(a4, b0, b1, b2, b3, b4, Z4, Z5, Z6, Z7, Z8, Z13, Z14, Z15, Z16, Z17)

// GATHER joins low and high halves: limbs in Z0..Z8, Z17.
#define GATHER \
	VPADDQ Z9, Z1, Z1  \
	VPADDQ Z10, Z2, Z2 \
	VPADDQ Z11, Z3, Z3 \
	VPADDQ Z12, Z4, Z4 \
	VPADDQ Z13, Z5, Z5 \
	VPADDQ Z14, Z6, Z6 \
	VPADDQ Z15, Z7, Z7 \
	VPADDQ Z16, Z8, Z8

// TIMES16 multiplies the gathered limbs by 16 = 2^260/2^256: a product of two
// elements in Montgomery form of radix 2^256, divided by 2^260, is again one.
#define TIMES16 \
	VPSLLQ $4, Z0, Z0 \
	VPSLLQ $4, Z1, Z1 \
	VPSLLQ $4, Z2, Z2 \
	VPSLLQ $4, Z3, Z3 \
	VPSLLQ $4, Z4, Z4 \
	VPSLLQ $4, Z5, Z5 \
	VPSLLQ $4, Z6, Z6 \
	VPSLLQ $4, Z7, Z7 \
	VPSLLQ $4, Z8, Z8 \
	VPSLLQ $4, Z17, Z17

// CONSTANTS are what REDUCE and CANONICAL need, in Z24..Z31.
#define CONSTANTS \
	VPBROADCASTQ limbs<>+0(SB), Z24  \
	VPBROADCASTQ limbs<>+8(SB), Z25  \
	VPBROADCASTQ limbs<>+16(SB), Z26 \
	VPBROADCASTQ limbs<>+24(SB), Z27 \
	VPBROADCASTQ limbs<>+32(SB), Z28 \
	VPBROADCASTQ limbs<>+40(SB), Z29 \
	VPBROADCASTQ limbs<>+48(SB), Z30

// STEP makes the low 52 bits of t0 zero by a multiple of r and carries on.
#define STEP(t0, t1, t2, t3, t4, t5) \
	VPXORQ Z31, Z31, Z31     \
	VPMADD52LUQ Z29, t0, Z31 \
	VPMADD52LUQ Z24, Z31, t0 \
	VPMADD52LUQ Z25, Z31, t1 \
	VPMADD52LUQ Z26, Z31, t2 \
	VPMADD52LUQ Z27, Z31, t3 \
	VPMADD52LUQ Z28, Z31, t4 \
	VPMADD52HUQ Z24, Z31, t1 \
	VPSRLQ $52, t0, t0       \
	VPMADD52HUQ Z25, Z31, t2 \
	VPMADD52HUQ Z26, Z31, t3 \
	VPMADD52HUQ Z27, Z31, t4 \
	VPMADD52HUQ Z28, Z31, t5 \
	VPADDQ t0, t1, t1

// REDUCE divides the gathered limbs by 2^260; result in Z5, Z6, Z7, Z8, Z17,
// limbs not yet below 2^52.
#define REDUCE \
	STEP(Z0, Z1, Z2, Z3, Z4, Z5) \
	STEP(Z1, Z2, Z3, Z4, Z5, Z6) \
	STEP(Z2, Z3, Z4, Z5, Z6, Z7) \
	STEP(Z3, Z4, Z5, Z6, Z7, Z8) \
	STEP(Z4, Z5, Z6, Z7, Z8, Z17)

// CARRY brings a0..a3 below 2^52; signed, so that a negative a4 says that the
// number is. Clobbers Z31.
#define CARRY(a0, a1, a2, a3, a4) \
	VPSRAQ $52, a0, Z31 \
	VPANDQ Z30, a0, a0  \
	VPADDQ Z31, a1, a1  \
	VPSRAQ $52, a1, Z31 \
	VPANDQ Z30, a1, a1  \
	VPADDQ Z31, a2, a2  \
	VPSRAQ $52, a2, Z31 \
	VPANDQ Z30, a2, a2  \
	VPADDQ Z31, a3, a3  \
	VPSRAQ $52, a3, Z31 \
	VPANDQ Z30, a3, a3  \
	VPADDQ Z31, a4, a4

// CANONICAL takes the result of REDUCE, below 2r, to below r.
// Clobbers Z0..Z4, K1.
#define CANONICAL \
	VPSUBQ Z24, Z5, Z0  \
	VPSUBQ Z25, Z6, Z1  \
	VPSUBQ Z26, Z7, Z2  \
	VPSUBQ Z27, Z8, Z3  \
	VPSUBQ Z28, Z17, Z4 \
	CARRY(Z5, Z6, Z7, Z8, Z17) \
	CARRY(Z0, Z1, Z2, Z3, Z4)  \
	VPMOVQ2M Z4, K1     \
	KNOTB K1, K1        \
	VMOVDQA64 Z0, K1, Z5 \
	VMOVDQA64 Z1, K1, Z6 \
	VMOVDQA64 Z2, K1, Z7 \
	VMOVDQA64 Z3, K1, Z8 \
	VMOVDQA64 Z4, K1, Z17

// func dotLanes(z *lanes, x *lanes, c *limbs, n int)
TEXT ·dotLanes(SB), NOSPLIT, $0-32
	MOVQ x+8(FP), SI
	MOVQ c+16(FP), DI
	MOVQ n+24(FP), CX
	CLEAR

term:
	SPREAD(0(DI), Z23, Z24, Z25, Z26, Z27)
	LOAD(0(SI), Z18, Z19, Z20, Z21, Z22)
	PRODUCT(Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27)
	ADDQ $320, SI
	ADDQ $40, DI
	DECQ CX
	JNZ  term

	GATHER
	CONSTANTS
	REDUCE
	CANONICAL
	MOVQ z+0(FP), AX
	SAVE(0(AX))
	VZEROUPPER
	RET

// MULTIPLY is the product of limbs a and b, canonical, in Z5..Z8, Z17.
#define MULTIPLY(a0, a1, a2, a3, a4, b0, b1, b2, b3, b4) \
	CLEAR     \
	PRODUCT(a0, a1, a2, a3, a4, b0, b1, b2, b3, b4) \
	GATHER    \
	TIMES16   \
	CONSTANTS \
	REDUCE    \
	CANONICAL

// func sboxLanes(v *[4]lanes, key *limbs)
TEXT ·sboxLanes(SB), NOSPLIT, $0-16
	MOVQ v+0(FP), AX
	MOVQ key+8(FP), BX
	LOAD(0(AX), Z18, Z19, Z20, Z21, Z22)
	MULTIPLY(Z18, Z19, Z20, Z21, Z22, Z18, Z19, Z20, Z21, Z22)
	SAVE(320(AX))
	VMOVDQA64 Z5, Z18
	VMOVDQA64 Z6, Z19
	VMOVDQA64 Z7, Z20
	VMOVDQA64 Z8, Z21
	VMOVDQA64 Z17, Z22
	MULTIPLY(Z18, Z19, Z20, Z21, Z22, Z18, Z19, Z20, Z21, Z22)
	SAVE(640(AX))
	VMOVDQA64 Z5, Z18
	VMOVDQA64 Z6, Z19
	VMOVDQA64 Z7, Z20
	VMOVDQA64 Z8, Z21
	VMOVDQA64 Z17, Z22
	LOAD(0(AX), Z23, Z24, Z25, Z26, Z27)
	MULTIPLY(Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27)

	// the sum with the key is below 2r again
	SPREAD(0(BX), Z18, Z19, Z20, Z21, Z22)
	VPADDQ Z18, Z5, Z5
	VPADDQ Z19, Z6, Z6
	VPADDQ Z20, Z7, Z7
	VPADDQ Z21, Z8, Z8
	VPADDQ Z22, Z17, Z17
	CANONICAL
	SAVE(960(AX))
	VZEROUPPER
	RET

// func loadLanes(z *lanes, src *[8]fr.Element)
TEXT ·loadLanes(SB), NOSPLIT, $0-16
	MOVQ z+0(FP), AX
	MOVQ src+8(FP), SI
	VMOVDQU64 strides<>(SB), Z10
	VPBROADCASTQ limbs<>+48(SB), Z11
	KXNORB K1, K1, K1
	KXNORB K2, K2, K2
	KXNORB K3, K3, K3
	KXNORB K4, K4, K4
	VPGATHERQQ 0(SI)(Z10*1), K1, Z0
	VPGATHERQQ 8(SI)(Z10*1), K2, Z1
	VPGATHERQQ 16(SI)(Z10*1), K3, Z2
	VPGATHERQQ 24(SI)(Z10*1), K4, Z3
	VPANDQ Z11, Z0, Z5
	VPSRLQ $52, Z0, Z0
	VPSLLQ $12, Z1, Z6
	VPORQ Z0, Z6, Z6
	VPANDQ Z11, Z6, Z6
	VPSRLQ $40, Z1, Z1
	VPSLLQ $24, Z2, Z7
	VPORQ Z1, Z7, Z7
	VPANDQ Z11, Z7, Z7
	VPSRLQ $28, Z2, Z2
	VPSLLQ $36, Z3, Z8
	VPORQ Z2, Z8, Z8
	VPANDQ Z11, Z8, Z8
	VPSRLQ $16, Z3, Z17
	SAVE(0(AX))
	VZEROUPPER
	RET

// func storeLanes(dst *[8]*fr.Element, offset uintptr, x *lanes, n int)
TEXT ·storeLanes(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ offset+8(FP), BX
	MOVQ x+16(FP), SI
	MOVQ n+24(FP), CX
	VMOVDQU64 joinLow<>(SB), Z16
	VMOVDQU64 joinHigh<>(SB), Z17

next:
	LOAD(0(SI), Z0, Z1, Z2, Z3, Z4)

	// five limbs of 52 bits to four words
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

	// four words of eight lanes to eight elements
	VPUNPCKLQDQ Z1, Z0, Z5
	VPUNPCKHQDQ Z1, Z0, Z6
	VPUNPCKLQDQ Z3, Z2, Z7
	VPUNPCKHQDQ Z3, Z2, Z8
	VMOVDQA64 Z5, Z9
	VPERMT2Q Z7, Z16, Z9  // lanes 0 and 2
	VMOVDQA64 Z6, Z10
	VPERMT2Q Z8, Z16, Z10 // lanes 1 and 3
	VPERMT2Q Z7, Z17, Z5  // lanes 4 and 6
	VPERMT2Q Z8, Z17, Z6  // lanes 5 and 7
	MOVQ 0(DI), AX
	VMOVDQU64 Y9, (AX)(BX*1)
	MOVQ 8(DI), AX
	VMOVDQU64 Y10, (AX)(BX*1)
	MOVQ 16(DI), AX
	VEXTRACTI64X4 $1, Z9, (AX)(BX*1)
	MOVQ 24(DI), AX
	VEXTRACTI64X4 $1, Z10, (AX)(BX*1)
	MOVQ 32(DI), AX
	VMOVDQU64 Y5, (AX)(BX*1)
	MOVQ 40(DI), AX
	VMOVDQU64 Y6, (AX)(BX*1)
	MOVQ 48(DI), AX
	VEXTRACTI64X4 $1, Z5, (AX)(BX*1)
	MOVQ 56(DI), AX
	VEXTRACTI64X4 $1, Z6, (AX)(BX*1)
	ADDQ $32, BX
	ADDQ $320, SI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET
