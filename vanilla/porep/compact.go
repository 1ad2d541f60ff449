package porep

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"runtime"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/vanilla"
)

// compact reads JSON without white space, which is how programs write it. It
// knows only what it expects: whatever else it meets makes it bad, and bad it
// stays; then [decoder], which has the last word on every text, reads from the
// beginning and says what is wrong, if anything is.
type compact struct {
	text []byte
	at   int
	bad  bool
}

// peek is the next byte, 0 at the end.
func (c *compact) peek() byte {
	if c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

func (c *compact) fail() { c.bad = true }

// byte reads one expected byte.
func (c *compact) byte(b byte) {
	if c.peek() != b {
		c.fail()
	}
	c.at++
}

// more reads what stands behind an item: a comma, or the closing bracket.
func (c *compact) more(closing byte) bool {
	b := c.peek()
	c.at++
	if b != ',' && b != closing {
		c.fail()
	}
	return b == ',' && !c.bad
}

// string reads a string of printable ASCII characters without escapes.
func (c *compact) string() []byte {
	c.byte('"')
	for i := c.at; i < len(c.text) && !c.bad; i++ {
		switch b := c.text[i]; {
		case b == '"':
			s := c.text[c.at:i]
			c.at = i + 1
			return s
		case b < ' ' || b > '~' || b == '\\':
			c.fail()
		}
	}
	c.fail()
	return nil
}

// member is a name of an object.
type member struct {
	name     string
	optional bool
}

// object reads an object that has exactly the given members, in any order. read
// reads the value of member i.
func (c *compact) object(members []member, read func(i int)) {
	c.byte('{')
	seen := 0
	for again := !c.bad; again; again = c.more('}') {
		i := c.member(members)
		if c.bad || seen>>i&1 == 1 {
			c.fail()
			return
		}
		seen |= 1 << i
		if read(i); c.bad {
			return
		}
	}
	for i := range members {
		if seen>>i&1 == 0 && !members[i].optional {
			c.fail()
		}
	}
}

// member reads a name with its colon.
func (c *compact) member(members []member) int {
	name := c.string()
	c.byte(':')
	for i := range members {
		if string(name) == members[i].name {
			return i
		}
	}
	c.fail()
	return 0
}

// array reads an array of n items; n > 0.
func (c *compact) array(n int, read func(i int)) {
	c.byte('[')
	for i := range n {
		if c.bad {
			return
		}
		if read(i); c.more(']') != (i < n-1) {
			c.fail()
		}
	}
}

// uint reads an integer from 0 to limit.
func (c *compact) uint(limit uint64) (x uint64) {
	from := c.at
	for b := c.peek(); b >= '0' && b <= '9' && c.at-from < 20; b = c.peek() {
		hi, lo := bits.Mul64(x, 10)
		sum, carry := bits.Add64(lo, uint64(b-'0'), 0)
		if hi+carry != 0 {
			c.fail()
		}
		x = sum
		c.at++
	}
	if n := c.at - from; n == 0 || n > 1 && c.text[from] == '0' || x > limit {
		c.fail()
	}
	return x
}

func (c *compact) null() {
	for _, b := range []byte("null") {
		c.byte(b)
	}
}

// digest reads an array of 32 numbers from 0 to 255.
func (c *compact) digest(to *vanilla.Domain) {
	c.byte('[')
	last := len(to) - 1
	for i := range to {
		x, n := c.small()
		c.at += n
		want := byte(',')
		if i == last {
			want = ']'
		}
		to[i] = byte(x)
		if n == 0 || x > 255 || c.peek() != want {
			c.fail()
			return
		}
		c.at++
	}
}

// small looks at a number of up to three digits and returns how many it has; none
// if it begins with a zero that does not belong there, or if there is no number.
func (c *compact) small() (x uint32, digits int) {
	var w uint32
	if c.at+4 <= len(c.text) {
		w = binary.LittleEndian.Uint32(c.text[c.at:])
	} else {
		for i := len(c.text) - 1; i >= c.at; i-- {
			w = w<<8 | uint32(c.text[i])
		}
	}
	w ^= 0x30303030 // digits are bytes from 0 to 9 now
	// The highest bit of a byte says that it is none: as it stands, or after a sum
	// that carries from 10 on and never into the next byte.
	other := (w | (w&0x7f7f7f7f + 0x76767676)) & 0x80808080
	digits = bits.TrailingZeros32(other) / 8
	if digits == 0 || digits > 3 {
		return 0, 0
	}
	w <<= 8 * (4 - digits) // the last digit is the highest byte
	if digits > 1 && w>>(8*(4-digits))&0xff == 0 {
		return 0, 0
	}
	return w>>24 + 10*(w>>16&0xff) + 100*(w>>8&0xff), digits
}

// element reads a digest that is a field element.
func (c *compact) element(to *fr.Element) {
	var b vanilla.Domain
	if c.digest(&b); c.bad {
		return
	}
	e, err := fr.LittleEndian.Element((*[fr.Bytes]byte)(&b))
	if err != nil {
		c.fail()
	}
	*to = e
}

// base64 reads a string of plain base64 and decodes it on all cores.
func (c *compact) base64() []byte {
	c.byte('"')
	if c.bad {
		return nil
	}
	n := bytes.IndexByte(c.text[c.at:], '"')
	if n < 0 {
		c.fail()
		return nil
	}
	out := unbase64(c.text[c.at : c.at+n])
	if c.at += n + 1; out == nil {
		c.fail()
	}
	return out
}

// unbase64 returns nil for whatever is not plain base64, which has nothing but its
// 64 characters and at most two of padding at the end.
func unbase64(text []byte) []byte {
	const block = 1 << 20 // characters; a multiple of four
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	length := len(out) - (len(text) - len(bytes.TrimRight(text, "=")))
	size, blocks := make([]int, (len(text)+block-1)/block), make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(size)) {
		wg.Go(func() {
			for k := range blocks {
				in := text[k*block : min((k+1)*block, len(text))]
				// Decode may write more than it returns, but not behind what it is given.
				to := out[k*block/4*3:]
				n, err := base64.StdEncoding.Decode(to[:base64.StdEncoding.DecodedLen(len(in))], in)
				if err == nil {
					size[k] = n
				}
			}
		})
	}
	for k := range size {
		blocks <- k
	}
	close(blocks)
	wg.Wait()
	total := 0
	for _, n := range size {
		total += n
	}
	if total != length || len(text)%4 != 0 { // an error, or characters that Decode passes over
		return nil
	}
	return out[:length]
}
