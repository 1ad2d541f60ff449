package porep

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cuzk/vanilla"
)

// sorted is the output as a program writes it that sorts names.
func sorted(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, rewritten(t, data)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bothRead reads with both decoders. What the compact one accepts, the other must
// read in the same way.
func bothRead(t testing.TB, data []byte) (accepted bool) {
	t.Helper()
	fast := decodeCompact(data)
	if fast == nil {
		return false
	}
	slow, err := decodeAny(data)
	if err != nil {
		t.Fatalf("only the compact decoder accepts: %v", err)
	}
	if !reflect.DeepEqual(slow, fast) {
		t.Fatalf("the compact decoder reads something else:\n%s", cmp.Diff(slow, fast))
	}
	return true
}

func TestCompactReadsReferenceOutputs(t *testing.T) {
	for _, name := range references {
		data := reference(t, name)
		for form, text := range map[string][]byte{"as it is": data, "sorted": sorted(t, data), "with a line end": append(bytes.Clone(data), '\n'),
			"wrapped": wrap(t, data, decodeReference(t, name))} {
			if !bothRead(t, text) {
				t.Errorf("%s, %s: not read", name, form)
			}
		}
		if bothRead(t, rewritten(t, data)) {
			t.Errorf("%s: white space is read", name)
		}
	}
}

// TestCompactReadsShares cuts the text of several partitions at many places.
func TestCompactReadsShares(t *testing.T) {
	name := "porep-8MiB-V1"
	data := reference(t, name)
	want := decodeReference(t, name)
	head := bytes.Index(data, []byte(`[[{`)) + 2
	per := want.Proof.Size().PoRepChallenges()
	for n := 1; n < 3*per*len(want.Partitions); n++ {
		d := &compactDecoder{compact: compact{text: data, at: head}, shape: newShape(want.Proof.Size())}
		d.partitions(d.shares(n))
		if d.bad {
			t.Fatalf("%d shares: not read", n)
		}
		if !reflect.DeepEqual(want.Partitions, d.c1.Partitions) {
			t.Fatalf("%d shares:\n%s", n, cmp.Diff(want.Partitions, d.c1.Partitions))
		}
	}
}

// TestCompactReadsWhatIsThere changes bytes and cuts pieces out or doubles them.
func TestCompactReadsWhatIsThere(t *testing.T) {
	data := reference(t, "porep-2KiB-V1")
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []byte(`0123456789,:[]{}"\ -.enul_` + "\x00\x7f\xff")
	accepted := 0
	for range 3000 {
		b := bytes.Clone(data)
		at := r.IntN(len(b))
		switch n := min(1+r.IntN(5), len(b)-at); r.IntN(4) {
		case 0:
			b[at] = alphabet[r.IntN(len(alphabet))]
		case 1:
			b = append(b[:at], b[at+n:]...)
		case 2:
			b = append(b[:at+n], data[at:]...)
		case 3:
			b[at] = '0' + byte(r.IntN(10))
		}
		if bothRead(t, b) {
			accepted++
		}
	}
	if accepted == 0 || accepted == 3000 {
		t.Errorf("%d of 3000 accepted: the test changes too much or nothing", accepted)
	}
}

func TestCompactNumbers(t *testing.T) {
	for x := range 1300 {
		for _, form := range []string{"%d", "0%d", "%d.", "-%d", "%d\x00", "\x80%d", "%d\xb1", "%de1"} {
			number := fmt.Sprintf(form, x)
			text := "[" + strings.Repeat("7,", 30) + number + ",9]"
			var got, want vanilla.Domain
			c := compact{text: []byte(text)}
			c.digest(&got)
			r := newReader(strings.NewReader(text))
			if err := r.digest(&want); (err == nil) != !c.bad || err == nil && got != want {
				t.Fatalf("%q: %v %v, want %v %v", number, got, c.bad, want, err)
			}
			u := compact{text: []byte(number + "]")}
			v := u.uint(999)
			if ok := !u.bad && u.peek() == ']'; ok != (form == "%d" && x <= 999) || ok && v != uint64(x) {
				t.Fatalf("%q: %d, %v", number, v, ok)
			}
		}
	}
	for _, s := range []string{"18446744073709551615", "18446744073709551616", "99999999999999999999", "184467440737095516150"} {
		c := compact{text: []byte(s)}
		if x := c.uint(1<<64 - 1); (!c.bad && c.peek() == 0) != (s == "18446744073709551615" && x == 1<<64-1) {
			t.Errorf("%s is read as %d", s, x)
		}
	}
}

func TestCompactBase64(t *testing.T) {
	data := make([]byte, 3<<20+5)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	for _, n := range []int{0, 1, 2, 3, 3 << 18, 3<<18 + 1, 3 << 19, len(data)} {
		text := []byte(base64.StdEncoding.EncodeToString(data[:n]))
		if got := unbase64(text); got == nil || !bytes.Equal(got, data[:n]) {
			t.Errorf("%d bytes: not decoded", n)
		}
		for _, at := range []int{0, 1 << 19, 1 << 20, len(text) - 1} {
			if at < 0 || at >= len(text) {
				continue
			}
			b := bytes.Clone(text)
			b[at] = '*'
			if unbase64(b) != nil {
				t.Errorf("%d bytes: a star at %d is read", n, at)
			}
			for _, ends := range []string{"\n", "\r\n\r\n"} {
				if unbase64(append(append(bytes.Clone(text[:at]), ends...), text[at:]...)) != nil {
					t.Errorf("%d bytes: line ends at %d are read", n, at)
				}
			}
		}
	}
}

func FuzzCompact(f *testing.F) {
	small := reference(f, "porep-2KiB-V1")
	f.Add(small)
	f.Add(sorted(f, small))
	f.Add(wrap(f, small, decodeReference(f, "porep-2KiB-V1")))
	f.Fuzz(func(t *testing.T, data []byte) { bothRead(t, data) })
}

// BenchmarkDecodeLarge reads the phase-1 output whose file CUZK_C1 names, for
// example one of "cuzk sample porep --size 32GiB".
func BenchmarkDecodeLarge(b *testing.B) {
	name := os.Getenv("CUZK_C1")
	if name == "" {
		b.Skip("CUZK_C1 names no file")
	}
	data, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	c, err := Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	for form, text := range map[string][]byte{"bare": data, "wrapped": wrap(b, data, c)} {
		b.Run(form, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
