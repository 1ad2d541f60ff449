package budget

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of memory. Its text form has a unit: 512MiB, 1.5GiB.
type Bytes int64

// Units of memory.
const (
	KiB Bytes = 1 << (10 * (iota + 1))
	MiB
	GiB
	TiB
)

var units = []struct {
	name string
	size Bytes
}{
	{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	{"T", TiB}, {"G", GiB}, {"M", MiB}, {"K", KiB}, {"B", 1},
}

// String writes the amount with the largest binary unit that it reaches and at
// most two decimals: 0B, 17B, 1.5GiB, 128GiB.
func (b Bytes) String() string {
	if b < 0 {
		return "-" + Bytes(-max(b, -math.MaxInt64)).String()
	}
	for _, u := range units[:4] {
		if b >= u.size {
			s := strconv.FormatFloat(float64(b)/float64(u.size), 'f', 2, 64)
			return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// ParseBytes reads what String writes, decimal units (1GB is 10^9), short ones
// (128G is 128GiB) and plain numbers of bytes. Anything else is an error, never
// a default.
func ParseBytes(text string) (Bytes, error) {
	s := strings.TrimSpace(text)
	size := Bytes(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			s, size = strings.TrimSpace(rest), u.size
			break
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.ContainsAny(s, "eExXpPiInN+-_") {
		return 0, fmt.Errorf("size %q: want a number with a unit, for example 128GiB, 512MiB or 1TB", text)
	}
	if v*float64(size) >= math.MaxInt64 {
		return 0, fmt.Errorf("size %q: larger than 8 EiB", text)
	}
	if whole, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Bytes(whole) * size, nil
	}
	return Bytes(math.Round(v * float64(size))), nil
}

// MarshalText writes the exact amount: with a unit if that loses nothing, as
// plain bytes otherwise.
func (b Bytes) MarshalText() ([]byte, error) {
	for _, u := range units[:4] {
		if b > 0 && b%u.size == 0 {
			return []byte(strconv.FormatInt(int64(b/u.size), 10) + u.name), nil
		}
	}
	return []byte(strconv.FormatInt(int64(b), 10)), nil
}

// UnmarshalText is [ParseBytes].
func (b *Bytes) UnmarshalText(raw []byte) error {
	v, err := ParseBytes(string(raw))
	if err == nil {
		*b = v
	}
	return err
}
