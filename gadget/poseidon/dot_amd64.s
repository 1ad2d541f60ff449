//go:build !purego

#include "textflag.h"

DATA modulus<>+0(SB)/8, $0xffffffff00000001
DATA modulus<>+8(SB)/8, $0x53bda402fffe5bfe
DATA modulus<>+16(SB)/8, $0x3339d80809a1d805
DATA modulus<>+24(SB)/8, $0x73eda753299d7d48
GLOBL modulus<>(SB), RODATA|NOPTR, $32

// MULADD adds DX times the four words m0..m3 to a0..a5. Low halves go through
// the overflow chain, high halves through the carry chain.
// Clobbers AX, BX, CX; sets R14 to zero.
#define MULADD(a0, a1, a2, a3, a4, a5, m0, m1, m2, m3) \
	XORQ  R14, R14   \
	MULXQ m0, AX, BX \
	ADOXQ AX, a0     \
	MULXQ m1, AX, CX \
	ADCXQ BX, a1     \
	ADOXQ AX, a1     \
	MULXQ m2, AX, BX \
	ADCXQ CX, a2     \
	ADOXQ AX, a2     \
	MULXQ m3, AX, CX \
	ADCXQ BX, a3     \
	ADOXQ AX, a3     \
	ADOXQ R14, CX    \
	ADCXQ CX, a4     \
	ADCXQ R14, a5

// REDUCE makes a0 zero by adding a multiple of the modulus.
#define REDUCE(a0, a1, a2, a3, a4, a5) \
	MOVQ  $0xfffffffeffffffff, DX \
	IMULQ a0, DX                  \
	MULADD(a0, a1, a2, a3, a4, a5, modulus<>+0(SB), modulus<>+8(SB), modulus<>+16(SB), modulus<>+24(SB))

// WORD adds word off/8 of every x times its y, then reduces.
#define WORD(loop, off, a0, a1, a2, a3, a4, a5) \
	MOVQ x+8(FP), SI  \
	MOVQ y+16(FP), DI \
	MOVQ n+24(FP), R15 \
loop:                     \
	MOVQ off(SI), DX  \
	MULADD(a0, a1, a2, a3, a4, a5, 0(DI), 8(DI), 16(DI), 24(DI)) \
	ADDQ $32, SI      \
	ADDQ $32, DI      \
	DECQ R15          \
	JNZ  loop         \
	REDUCE(a0, a1, a2, a3, a4, a5)

// func dotADX(z, x, y *fr.Element, n int, multiples *[128][4]uint64)
TEXT ·dotADX(SB), NOSPLIT, $0-40
	XORQ R8, R8
	XORQ R9, R9
	XORQ R10, R10
	XORQ R11, R11
	XORQ R12, R12
	XORQ R13, R13
	WORD(word0, 0, R8, R9, R10, R11, R12, R13)
	WORD(word1, 8, R9, R10, R11, R12, R13, R8)
	WORD(word2, 16, R10, R11, R12, R13, R8, R9)
	WORD(word3, 24, R11, R12, R13, R8, R9, R10)

	// The value is R12, R13, R8, R9, R10; take off the multiple of the modulus
	// that its top bits tell.
	MOVQ R9, AX
	SHRQ $62, AX
	LEAQ (AX)(R10*4), AX
	SHLQ $5, AX
	ADDQ multiples+32(FP), AX
	SUBQ 0(AX), R12
	SBBQ 8(AX), R13
	SBBQ 16(AX), R8
	SBBQ 24(AX), R9

	// One conditional subtraction remains.
	MOVQ R12, AX
	MOVQ R13, BX
	MOVQ R8, CX
	MOVQ R9, DX
	SUBQ modulus<>+0(SB), AX
	SBBQ modulus<>+8(SB), BX
	SBBQ modulus<>+16(SB), CX
	SBBQ modulus<>+24(SB), DX
	CMOVQCC AX, R12
	CMOVQCC BX, R13
	CMOVQCC CX, R8
	CMOVQCC DX, R9
	MOVQ z+0(FP), DI
	MOVQ R12, 0(DI)
	MOVQ R13, 8(DI)
	MOVQ R8, 16(DI)
	MOVQ R9, 24(DI)
	RET
