package r1cs

import (
	"fmt"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Var names a variable. The two top bits are its class, the rest its index.
// In a flat run inputs and aux are global and ports do not occur. In the frame
// of a template inputs and aux count from the instance's base, and ports stand
// for what the caller passed. Classes are ordered as the canonical digest
// orders terms: inputs before aux.
type Var uint32

// Classes of variables.
const (
	ClassInput = 0 // public input; index 0 is One, in every frame
	ClassAux   = 1 // private variable
	ClassPort  = 2 // variable of the caller, inside a template
)

const (
	classShift = 30
	indexMask  = 1<<classShift - 1
	// MaxIndex bounds the index of a variable of any class.
	MaxIndex = indexMask
)

// One is the constant-one input.
const One Var = 0

// Input is the i-th public input; Input(0) is One.
func Input(i int) Var { return Var(i) }

// Aux is the i-th private variable.
func Aux(i int) Var { return Var(ClassAux<<classShift | i) }

// Port is the i-th port of a template.
func Port(i int) Var { return Var(ClassPort<<classShift | i) }

// Class tells ClassInput, ClassAux or ClassPort.
func (v Var) Class() int { return int(v >> classShift) }

// Index is the position within the class.
func (v Var) Index() int { return int(v & indexMask) }

// String writes one, in3, aux7 or port2.
func (v Var) String() string {
	if v == One {
		return "one"
	}
	name := [4]string{"in", "aux", "port", "?"}[v.Class()]
	return fmt.Sprintf("%s%d", name, v.Index())
}

// Term is coefficient times variable.
type Term struct {
	Var  Var
	Coef fr.Element
}

// LC is a linear combination: at most one term a variable, ascending by
// variable once built. The zero value is the empty combination. Methods return
// the extended combination, as append does, and may reuse the receiver's
// storage.
type LC []Term

var frOne, frMinusOne fr.Element

func init() {
	frOne.SetOne()
	frMinusOne.Neg(&frOne)
}

// V is the combination 1·v.
func V(v Var) LC { return LC{{v, frOne}} }

// Const is the combination c·One.
func Const(c fr.Element) LC { return LC{{One, c}} }

// Add returns lc + c·v. Adding to a variable that is there adds coefficients.
func (lc LC) Add(c fr.Element, v Var) LC {
	n := len(lc)
	if n == 0 || lc[n-1].Var < v {
		return append(lc, Term{v, c})
	}
	i, found := slices.BinarySearchFunc(lc, v, func(t Term, v Var) int {
		return int(int64(t.Var) - int64(v))
	})
	if found {
		lc[i].Coef.Add(&lc[i].Coef, &c)
		return lc
	}
	return slices.Insert(lc, i, Term{v, c})
}

// AddLC returns lc + c·o.
func (lc LC) AddLC(c fr.Element, o LC) LC {
	var p fr.Element
	for i := range o {
		p.Mul(&c, &o[i].Coef)
		lc = lc.Add(p, o[i].Var)
	}
	return lc
}

// Plus returns lc + v.
func (lc LC) Plus(v Var) LC { return lc.Add(frOne, v) }

// Minus returns lc − v.
func (lc LC) Minus(v Var) LC { return lc.Add(frMinusOne, v) }

// Scaled returns a new combination c·lc.
func (lc LC) Scaled(c fr.Element) LC {
	out := make(LC, len(lc))
	for i := range lc {
		out[i].Var = lc[i].Var
		out[i].Coef.Mul(&c, &lc[i].Coef)
	}
	return out
}

// Clone returns a copy that shares nothing with lc.
func (lc LC) Clone() LC { return slices.Clone(lc) }
