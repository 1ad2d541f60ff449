//go:build !purego

#include "textflag.h"

// Moving numbers between lists of points, or words, and blocks.

#define DOUBLE  64
#define MASK    200

// masks of the four pairs of lanes
#define PAIRS \
	MOVL $0x0c, AX \
	KMOVW AX, K2   \
	MOVL $0x30, AX \
	KMOVW AX, K3   \
	MOVL $0xc0, AX \
	KMOVW AX, K4

// ADDRESS turns operation number k into the address of its point.
#define ADDRESS(k, r) \
	MOVQ (8*k)(DX), r  \
	SHRXQ R13, r, r    \
	ANDL $0x7fffffff, r \
	SHLXQ R12, r, r    \
	ADDQ SI, r

// QUARTER reads words off/8 and off/8+1 of eight numbers: one word in lo, the
// next in hi, in the order of the lanes. Addresses of the numbers of even lanes
// in R8..R11, of odd ones in AX, BX, R14, R15.
#define QUARTER(off, lo, hi) \
	VBROADCASTI64X2 off(R8), Z16      \
	VBROADCASTI64X2 off(R9), K2, Z16  \
	VBROADCASTI64X2 off(R10), K3, Z16 \
	VBROADCASTI64X2 off(R11), K4, Z16 \
	VBROADCASTI64X2 off(AX), Z17      \
	VBROADCASTI64X2 off(BX), K2, Z17  \
	VBROADCASTI64X2 off(R14), K3, Z17 \
	VBROADCASTI64X2 off(R15), K4, Z17 \
	VPUNPCKLQDQ Z17, Z16, lo \
	VPUNPCKHQDQ Z17, Z16, hi

#define COLUMNS \
	ADDRESS(0, R8)  \
	ADDRESS(2, R9)  \
	ADDRESS(4, R10) \
	ADDRESS(6, R11) \
	ADDRESS(1, AX)  \
	ADDRESS(3, BX)  \
	ADDRESS(5, R14) \
	ADDRESS(7, R15) \
	QUARTER(0, Z0, Z1)  \
	QUARTER(16, Z2, Z3) \
	QUARTER(32, Z4, Z5) \
	QUARTER(48, Z6, Z7)

#define SAVE(m) \
	VMOVDQU64 Z0, 0+m   \
	VMOVDQU64 Z1, 64+m  \
	VMOVDQU64 Z2, 128+m \
	VMOVDQU64 Z3, 192+m \
	VMOVDQU64 Z4, 256+m \
	VMOVDQU64 Z5, 320+m \
	VMOVDQU64 Z6, 384+m \
	VMOVDQU64 Z7, 448+m

// func gather(z *block, step int, points unsafe.Pointer, logSize uint64, ops *Op, shift uint64, n int) (zero uint64)
TEXT ·gather(SB), NOSPLIT, $0-64
	PAIRS
	MOVQ z+0(FP), DI
	MOVQ points+16(FP), SI
	MOVQ logSize+24(FP), R12
	MOVQ ops+32(FP), DX
	MOVQ shift+40(FP), R13
	MOVQ n+48(FP), CX
	KXORW K5, K5, K5

next:
	COLUMNS
	SAVE(0(DI))
	VPORQ Z1, Z0, Z8
	VPTERNLOGQ $0xfe, Z3, Z2, Z8
	VPTERNLOGQ $0xfe, Z5, Z4, Z8
	VPTERNLOGQ $0xfe, Z7, Z6, Z8
	VPTESTNMQ Z8, Z8, K1
	KORW K1, K5, K5
	ADDQ step+8(FP), DI
	ADDQ $64, DX
	DECQ CX
	JNZ  next
	KMOVW K5, AX
	MOVQ AX, zero+56(FP)
	VZEROUPPER
	RET

// NEGATE takes the lanes of K1 from 2p; limbs may become negative.
#define NEGATE \
	VPSUBQ Z0, Z24, K1, Z0 \
	VPSUBQ Z1, Z25, K1, Z1 \
	VPSUBQ Z2, Z26, K1, Z2 \
	VPSUBQ Z3, Z27, K1, Z3 \
	VPSUBQ Z4, Z28, K1, Z4 \
	VPSUBQ Z5, Z29, K1, Z5 \
	VPSUBQ Z6, Z30, K1, Z6 \
	VPSUBQ Z7, Z31, K1, Z7

// func gatherSigned(z *block, step int, points unsafe.Pointer, logSize uint64, ops *Op, shift uint64, n int)
TEXT ·gatherSigned(SB), NOSPLIT, $0-56
	PAIRS
	MOVQ z+0(FP), DI
	MOVQ points+16(FP), SI
	MOVQ logSize+24(FP), R12
	MOVQ ops+32(FP), DX
	MOVQ shift+40(FP), R13
	MOVQ n+48(FP), CX
	MOVL $32, AX
	SUBQ R13, AX
	VPBROADCASTQ AX, Z18 // moves the sign to the top
	LEAQ ·constants(SB), R9
	VPBROADCASTQ (DOUBLE+0)(R9), Z24
	VPBROADCASTQ (DOUBLE+8)(R9), Z25
	VPBROADCASTQ (DOUBLE+16)(R9), Z26
	VPBROADCASTQ (DOUBLE+24)(R9), Z27
	VPBROADCASTQ (DOUBLE+32)(R9), Z28
	VPBROADCASTQ (DOUBLE+40)(R9), Z29
	VPBROADCASTQ (DOUBLE+48)(R9), Z30
	VPBROADCASTQ (DOUBLE+56)(R9), Z31

next:
	COLUMNS
	VMOVDQU64 (DX), Z8
	VPSLLVQ Z18, Z8, Z8
	VPMOVQ2M Z8, K1
	NEGATE
	SAVE(0(DI))
	ADDQ step+8(FP), DI
	ADDQ $64, DX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func prefetch(points unsafe.Pointer, logSize uint64, ops *Op, shift uint64, n int)
// n operations, each two lines of a point
TEXT ·prefetch(SB), NOSPLIT, $0-40
	MOVQ points+0(FP), SI
	MOVQ logSize+8(FP), R12
	MOVQ ops+16(FP), DX
	MOVQ shift+24(FP), R13
	MOVQ n+32(FP), CX

next:
	ADDRESS(0, AX)
	PREFETCHT0 0(AX)
	PREFETCHT0 64(AX)
	ADDQ $8, DX
	DECQ CX
	JNZ  next
	RET

// POINTS writes four numbers, those of lanes k, k+2, k+4 and k+6, given their
// quarters.
#define POINTS(q0, q1, q2, q3, r0, r1, r2, r3) \
	VSHUFI64X2 $0x44, q1, q0, Z16  \
	VSHUFI64X2 $0x44, q3, q2, Z17  \
	VSHUFI64X2 $0xee, q1, q0, Z18  \
	VSHUFI64X2 $0xee, q3, q2, Z19  \
	VSHUFI64X2 $0x88, Z17, Z16, Z20 \
	VSHUFI64X2 $0xdd, Z17, Z16, Z21 \
	VSHUFI64X2 $0x88, Z19, Z18, Z22 \
	VSHUFI64X2 $0xdd, Z19, Z18, Z23 \
	VMOVDQU64 Z20, (r0) \
	VMOVDQU64 Z21, (r1) \
	VMOVDQU64 Z22, (r2) \
	VMOVDQU64 Z23, (r3)

// QUARTERS reads a block and joins neighbouring words of each lane: words 2k and
// 2k+1 of even lanes in Z8, Z10, Z12, Z14, of odd ones in Z9, Z11, Z13, Z15.
#define QUARTERS \
	VMOVDQU64 0(DI), Z0   \
	VMOVDQU64 64(DI), Z1  \
	VMOVDQU64 128(DI), Z2 \
	VMOVDQU64 192(DI), Z3 \
	VMOVDQU64 256(DI), Z4 \
	VMOVDQU64 320(DI), Z5 \
	VMOVDQU64 384(DI), Z6 \
	VMOVDQU64 448(DI), Z7 \
	VPUNPCKLQDQ Z1, Z0, Z8  \
	VPUNPCKHQDQ Z1, Z0, Z9  \
	VPUNPCKLQDQ Z3, Z2, Z10 \
	VPUNPCKHQDQ Z3, Z2, Z11 \
	VPUNPCKLQDQ Z5, Z4, Z12 \
	VPUNPCKHQDQ Z5, Z4, Z13 \
	VPUNPCKLQDQ Z7, Z6, Z14 \
	VPUNPCKHQDQ Z7, Z6, Z15

// func scatter(points unsafe.Pointer, size int, z *block, step, n int)
TEXT ·scatter(SB), NOSPLIT, $0-40
	MOVQ points+0(FP), R8
	MOVQ size+8(FP), AX
	MOVQ z+16(FP), DI
	MOVQ step+24(FP), BX
	MOVQ n+32(FP), CX

next:
	LEAQ (R8)(AX*1), R9
	LEAQ (R9)(AX*1), R10
	LEAQ (R10)(AX*1), R11
	LEAQ (R11)(AX*1), R12
	LEAQ (R12)(AX*1), R13
	LEAQ (R13)(AX*1), R14
	LEAQ (R14)(AX*1), R15
	QUARTERS
	POINTS(Z8, Z10, Z12, Z14, R8, R10, R12, R14)
	POINTS(Z9, Z11, Z13, Z15, R9, R11, R13, R15)
	LEAQ (R15)(AX*1), R8
	ADDQ BX, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// func scatterTo(points unsafe.Pointer, logSize uint64, ops *Op, z *block, step, n int)
TEXT ·scatterTo(SB), NOSPLIT, $0-48
	MOVQ points+0(FP), SI
	MOVQ logSize+8(FP), R12
	MOVQ ops+16(FP), DX
	MOVQ z+24(FP), DI
	MOVQ n+40(FP), CX
	XORQ R13, R13

next:
	ADDRESS(0, R8)
	ADDRESS(2, R9)
	ADDRESS(4, R10)
	ADDRESS(6, R11)
	ADDRESS(1, AX)
	ADDRESS(3, BX)
	ADDRESS(5, R14)
	ADDRESS(7, R15)
	QUARTERS
	POINTS(Z8, Z10, Z12, Z14, R8, R9, R10, R11)
	POINTS(Z9, Z11, Z13, Z15, AX, BX, R14, R15)
	ADDQ step+32(FP), DI
	ADDQ $64, DX
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// lane numbers
DATA lane<>+0(SB)/8, $0
DATA lane<>+8(SB)/8, $1
DATA lane<>+16(SB)/8, $2
DATA lane<>+24(SB)/8, $3
DATA lane<>+32(SB)/8, $4
DATA lane<>+40(SB)/8, $5
DATA lane<>+48(SB)/8, $6
DATA lane<>+56(SB)/8, $7
GLOBL lane<>(SB), RODATA|NOPTR, $64

// reverses the bytes of a word
DATA swap<>+0(SB)/8, $0x0001020304050607
DATA swap<>+8(SB)/8, $0x08090a0b0c0d0e0f
GLOBL swap<>(SB), RODATA|NOPTR, $16

// WORD reads a word of eight numbers that lie at offsets Z24 from SI.
#define WORD(off, z) \
	KXNORB K1, K1, K1 \
	VPGATHERQQ off(SI)(Z24*1), K1, z

// LIMBS cuts the words in Z8..Z13 into limbs in Z0..Z7.
#define LIMBS \
	VPANDQ Z14, Z8, Z0   \
	VPSRLQ $52, Z8, Z8   \
	VPSLLQ $12, Z9, Z1   \
	VPTERNLOGQ $0xc8, Z8, Z14, Z1 \
	VPSRLQ $40, Z9, Z9   \
	VPSLLQ $24, Z10, Z2  \
	VPTERNLOGQ $0xc8, Z9, Z14, Z2 \
	VPSRLQ $28, Z10, Z10 \
	VPSLLQ $36, Z11, Z3  \
	VPTERNLOGQ $0xc8, Z10, Z14, Z3 \
	VPSRLQ $16, Z11, Z11 \
	VPSLLQ $48, Z12, Z4  \
	VPTERNLOGQ $0xc8, Z11, Z14, Z4 \
	VPSRLQ $4, Z12, Z5   \
	VPANDQ Z14, Z5, Z5   \
	VPSRLQ $56, Z12, Z12 \
	VPSLLQ $8, Z13, Z6   \
	VPTERNLOGQ $0xc8, Z12, Z14, Z6 \
	VPSRLQ $44, Z13, Z7

// func unpackWords(z *block, step int, src unsafe.Pointer, size, n int)
TEXT ·unpackWords(SB), NOSPLIT, $0-40
	MOVQ z+0(FP), DI
	MOVQ step+8(FP), BX
	MOVQ src+16(FP), SI
	MOVQ size+24(FP), AX
	MOVQ n+32(FP), CX
	VPBROADCASTQ AX, Z24
	VPMULLQ lane<>(SB), Z24, Z24
	SHLQ $3, AX
	LEAQ ·constants(SB), R9
	VPBROADCASTQ MASK(R9), Z14

next:
	WORD(0, Z8)
	WORD(8, Z9)
	WORD(16, Z10)
	WORD(24, Z11)
	WORD(32, Z12)
	WORD(40, Z13)
	LIMBS
	SAVE(0(DI))
	ADDQ AX, SI
	ADDQ BX, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET

// SMALLER carries Z16..Z23, the number less p, so that the sign of Z23 is that
// of the number. Clobbers Z15.
#define BORROW(a, b) \
	VPSRAQ $52, a, Z15  \
	VPANDQ Z14, a, a    \
	VPADDQ Z15, b, b

#define LESSP \
	VPSUBQ.BCST 0(R9), Z0, Z16  \
	VPSUBQ.BCST 8(R9), Z1, Z17  \
	VPSUBQ.BCST 16(R9), Z2, Z18 \
	VPSUBQ.BCST 24(R9), Z3, Z19 \
	VPSUBQ.BCST 32(R9), Z4, Z20 \
	VPSUBQ.BCST 40(R9), Z5, Z21 \
	VPSUBQ.BCST 48(R9), Z6, Z22 \
	VPSUBQ.BCST 56(R9), Z7, Z23 \
	BORROW(Z16, Z17) \
	BORROW(Z17, Z18) \
	BORROW(Z18, Z19) \
	BORROW(Z19, Z20) \
	BORROW(Z20, Z21) \
	BORROW(Z21, Z22) \
	BORROW(Z22, Z23)

// func unpackBytes(z *block, step int, src unsafe.Pointer, size, n int) (odd uint64)
TEXT ·unpackBytes(SB), NOSPLIT, $0-48
	MOVQ z+0(FP), DI
	MOVQ step+8(FP), BX
	MOVQ src+16(FP), SI
	MOVQ size+24(FP), AX
	MOVQ n+32(FP), CX
	VPBROADCASTQ AX, Z24
	VPMULLQ lane<>(SB), Z24, Z24
	SHLQ $3, AX
	VBROADCASTI64X2 swap<>(SB), Z25
	LEAQ ·constants(SB), R9
	VPBROADCASTQ MASK(R9), Z14
	KXORB K5, K5, K5

next:
	WORD(40, Z8)
	WORD(32, Z9)
	WORD(24, Z10)
	WORD(16, Z11)
	WORD(8, Z12)
	WORD(0, Z13)
	VPSHUFB Z25, Z8, Z8
	VPSHUFB Z25, Z9, Z9
	VPSHUFB Z25, Z10, Z10
	VPSHUFB Z25, Z11, Z11
	VPSHUFB Z25, Z12, Z12
	VPSHUFB Z25, Z13, Z13
	LIMBS
	SAVE(0(DI))

	// zero, or not below p?
	VPORQ Z1, Z0, Z8
	VPTERNLOGQ $0xfe, Z3, Z2, Z8
	VPTERNLOGQ $0xfe, Z5, Z4, Z8
	VPTERNLOGQ $0xfe, Z7, Z6, Z8
	VPTESTNMQ Z8, Z8, K1
	KORB K1, K5, K5
	LESSP
	VPMOVQ2M Z23, K1
	KNOTB K1, K1
	KORB K1, K5, K5
	ADDQ AX, SI
	ADDQ BX, DI
	DECQ CX
	JNZ  next
	KMOVB K5, AX
	MOVQ AX, odd+40(FP)
	VZEROUPPER
	RET

// PUT writes a word of eight numbers to offsets Z24 from DI.
#define PUT(off, z) \
	KXNORB K1, K1, K1 \
	VPSCATTERQQ z, K1, off(DI)(Z24*1)

// func packWords(dst unsafe.Pointer, size int, z *block, step, n int)
TEXT ·packWords(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ size+8(FP), AX
	MOVQ z+16(FP), SI
	MOVQ step+24(FP), BX
	MOVQ n+32(FP), CX
	VPBROADCASTQ AX, Z24
	VPMULLQ lane<>(SB), Z24, Z24
	SHLQ $3, AX
	LEAQ ·constants(SB), R9
	VPBROADCASTQ MASK(R9), Z14

next:
	VMOVDQU64 0(SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	VMOVDQU64 256(SI), Z4
	VMOVDQU64 320(SI), Z5
	VMOVDQU64 384(SI), Z6
	VMOVDQU64 448(SI), Z7
	LESSP
	VPMOVQ2M Z23, K1
	KNOTB K1, K1
	VMOVDQA64 Z16, K1, Z0
	VMOVDQA64 Z17, K1, Z1
	VMOVDQA64 Z18, K1, Z2
	VMOVDQA64 Z19, K1, Z3
	VMOVDQA64 Z20, K1, Z4
	VMOVDQA64 Z21, K1, Z5
	VMOVDQA64 Z22, K1, Z6
	VMOVDQA64 Z23, K1, Z7

	// limbs to words
	VPSLLQ $52, Z1, Z8
	VPORQ Z8, Z0, Z8
	VPSRLQ $12, Z1, Z1
	VPSLLQ $40, Z2, Z9
	VPORQ Z9, Z1, Z9
	VPSRLQ $24, Z2, Z2
	VPSLLQ $28, Z3, Z10
	VPORQ Z10, Z2, Z10
	VPSRLQ $36, Z3, Z3
	VPSLLQ $16, Z4, Z11
	VPORQ Z11, Z3, Z11
	VPSRLQ $48, Z4, Z4
	VPSLLQ $4, Z5, Z5
	VPSLLQ $56, Z6, Z12
	VPTERNLOGQ $0xfe, Z5, Z4, Z12
	VPSRLQ $8, Z6, Z6
	VPSLLQ $44, Z7, Z13
	VPORQ Z13, Z6, Z13
	PUT(0, Z8)
	PUT(8, Z9)
	PUT(16, Z10)
	PUT(24, Z11)
	PUT(32, Z12)
	PUT(40, Z13)
	ADDQ BX, SI
	ADDQ AX, DI
	DECQ CX
	JNZ  next
	VZEROUPPER
	RET
