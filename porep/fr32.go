package porep

import "fmt"

// Padding of data: 127 bytes become 128, as four field elements of 254 bits.
const (
	unpaddedUnit = 127
	paddedUnit   = 128
)

// Pad spreads data over field elements: every 254 bits get two zero bits more.
// The length must be a multiple of 127 bytes.
func Pad(data []byte) ([]byte, error) {
	if len(data)%unpaddedUnit != 0 {
		return nil, fmt.Errorf("pad data: %d bytes are not a multiple of %d", len(data), unpaddedUnit)
	}
	out := make([]byte, len(data)/unpaddedUnit*paddedUnit)
	for i, o := 0, 0; i < len(data); i, o = i+unpaddedUnit, o+paddedUnit {
		padUnit((*[paddedUnit]byte)(out[o:]), (*[unpaddedUnit]byte)(data[i:]))
	}
	return out, nil
}

// padUnit shifts element j left by 2j bits in all: each begins where the one
// before it stopped.
func padUnit(out *[paddedUnit]byte, in *[unpaddedUnit]byte) {
	for j := range 4 {
		for k := range 32 {
			at, shift := 32*j+k, 2*j
			var b byte
			if at < unpaddedUnit {
				b = in[at] << shift
			}
			if at > 0 {
				b |= byte(uint16(in[at-1]) >> (8 - shift))
			}
			if k == 31 {
				b &= 0x3f
			}
			out[at] = b
		}
	}
}
