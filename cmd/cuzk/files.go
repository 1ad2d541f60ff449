package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// maxFile bounds what a proof or a list of public inputs may be: a hundred times
// the largest, 2,349 sectors of ten challenges in hex.
const maxFile = 256 << 20

// readSmall reads a whole file, or standard input for "-".
func readSmall(in io.Reader, path string) ([]byte, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, badInput(err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, badInput(fmt.Errorf("%s is longer than %s", path, bytes(maxFile)))
	}
	return b, nil
}

// readProof reads proof bytes in any of the forms that verify's help lists.
func readProof(in io.Reader, path string) ([]byte, error) {
	b, err := readSmall(in, path)
	if err != nil {
		return nil, err
	}
	p, err := proofBytes(b)
	if err != nil {
		return nil, badInput(fmt.Errorf("proof %s: %w", path, err))
	}
	return p, nil
}

// proofBytes tells the forms apart: a raw proof begins with a byte that is no
// text, since a compressed point has its top bit set.
func proofBytes(b []byte) ([]byte, error) {
	if len(b) > 0 && b[0]&0x80 != 0 {
		return b, nil
	}
	text := strings.TrimSpace(string(b))
	if strings.HasPrefix(text, "{") {
		var v struct {
			Proof string `json:"proof"`
		}
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			return nil, err
		}
		if text = v.Proof; text == "" {
			return nil, fmt.Errorf("the JSON has no member \"proof\" with text")
		}
	}
	if p, err := hex.DecodeString(text); err == nil && len(p) > 0 {
		return p, nil
	}
	if p, err := base64.StdEncoding.DecodeString(text); err == nil && len(p) > 0 {
		return p, nil
	}
	return nil, fmt.Errorf("neither raw bytes of a proof, nor hex, nor base64, nor JSON")
}

// readInputs reads the public inputs of every partition.
func readInputs(path string) ([][]fr.Element, error) {
	b, err := readSmall(nil, path)
	if err != nil {
		return nil, err
	}
	var text [][]string
	if err := json.Unmarshal(b, &text); err != nil {
		return nil, badInput(hint(fmt.Errorf("public inputs %s: %w", path, err), "the form is [[\"hex\", ...], ...], a list for each partition"))
	}
	out := make([][]fr.Element, len(text))
	for j, partition := range text {
		out[j] = make([]fr.Element, len(partition))
		for i, x := range partition {
			if err := setHex(&out[j][i], x); err != nil {
				return nil, badInput(fmt.Errorf("public inputs %s: partition %d, input %d: %w", path, j, i, err))
			}
		}
	}
	return out, nil
}

// setHex reads a big-endian hexadecimal integer below the modulus.
func setHex(x *fr.Element, text string) error {
	digits := strings.TrimPrefix(text, "0x")
	if len(digits) > 2*fr.Bytes || digits == "" {
		return fmt.Errorf("%q has %d hex digits, 1 to %d are allowed", text, len(digits), 2*fr.Bytes)
	}
	b, err := hex.DecodeString(strings.Repeat("0", 2*fr.Bytes-len(digits)) + digits)
	if err != nil {
		return fmt.Errorf("%q is not hexadecimal", text)
	}
	if err := x.SetBytesCanonical(b); err != nil {
		return fmt.Errorf("%s is not below the field's modulus", text)
	}
	return nil
}
