package porep

import (
	"bytes"
	"errors"
	"testing"
)

func TestEncodeWritesWhatTheReferenceWrote(t *testing.T) {
	for _, name := range references {
		var out bytes.Buffer
		if err := decodeReference(t, name).Encode(&out); err != nil {
			t.Fatal(err)
		}
		if want := reference(t, name); !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s: %d bytes written, differ from the %d of the reference", name, out.Len(), len(want))
		}
	}
}

func TestEncodeMarksSamples(t *testing.T) {
	c := decodeReference(t, "porep-2KiB-V1")
	c.Sample = `made "up"`
	var out bytes.Buffer
	if err := c.Encode(&out); err != nil {
		t.Fatal(err)
	}
	again, err := Decode(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if again.Sample != c.Sample {
		t.Errorf("mark %q, want %q", again.Sample, c.Sample)
	}
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestEncodeReportsWriteErrors(t *testing.T) {
	if err := decodeReference(t, "porep-2KiB-V1").Encode(fullDisk{}); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkEncode(b *testing.B) {
	c := decodeReference(b, "porep-8MiB-V1")
	b.SetBytes(int64(len(reference(b, "porep-8MiB-V1"))))
	for b.Loop() {
		var out bytes.Buffer
		if err := c.Encode(&out); err != nil {
			b.Fatal(err)
		}
	}
}
