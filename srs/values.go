package srs

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/sys/unix"
)

// Values are two lists of points that take the place of H where a prover can use
// them: those by which products on the coset and values of the rows are multiplied
// (package cuzk/backend/values says which).
//
// They follow from the key without its secrets and lie in a file beside it, called
// like the key with ".values" in place of ".params":
//
//	magic 8 | version 4 | log n 4 | count of M 4 | count of K 4 | 0 8 | circuit 32 |
//	key 32 | content 32 | check 32 | points of K | points of M
//
// Numbers are big-endian, points those of a key file. Key is the BLAKE2b-256 of the
// verifying key, with which the lists are fixed, content that of the points, check
// that of the header before it. Neither vouches for the lists as a published digest
// does for a key: whoever made them checked them against H, and a proof with other
// points would fail its own check.
type Values struct {
	K Query // a point for each point of the coset that counts
	M Query // a point for each row, those of the inputs last

	file  *os.File
	data  []byte
	stamp stamp
}

// ValuesPart is the ending of a file of values.
const ValuesPart = ".values"

// ValuesHeader is what a file of values says before its points.
type ValuesHeader struct {
	Circuit string // its name, 32 bytes at most
	LogN    int    // of the domain
	M, K    int    // points
	Key     [32]byte
	Content [32]byte
}

// valuesVersion changes with the layout, and with the points that package
// cuzk/backend/values chooses for a number of rows: files of another version are left
// alone with a warning.
const (
	valuesMagic   = "cuzkvals"
	valuesVersion = 1
	valuesHeader  = 160 // bytes
	valuesChecked = valuesHeader - 32
)

// Bytes is the size of the file.
func (h *ValuesHeader) Bytes() int64 { return valuesHeader + (int64(h.K)+int64(h.M))*g1Size }

// Encode is the header's bytes.
func (h *ValuesHeader) Encode() []byte {
	b := append(make([]byte, 0, valuesHeader), valuesMagic...)
	for _, n := range []int{valuesVersion, h.LogN, h.M, h.K} {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	b = append(b, make([]byte, 8+32)...)
	copy(b[32:], h.Circuit)
	b = append(append(b, h.Key[:]...), h.Content[:]...)
	check := blake2b.Sum256(b)
	return append(b, check[:]...)
}

// DecodeValuesHeader reads a header and checks it in itself.
func DecodeValuesHeader(b []byte) (*ValuesHeader, error) {
	if len(b) < valuesHeader || string(b[:8]) != valuesMagic {
		return nil, fmt.Errorf("%w: no file of values", ErrCorrupt)
	}
	b = b[:valuesHeader]
	if v := binary.BigEndian.Uint32(b[8:]); v != valuesVersion {
		return nil, fmt.Errorf("%w: values of version %d, this program knows %d; make them again", ErrCorrupt, v, valuesVersion)
	}
	if check := blake2b.Sum256(b[:valuesChecked]); !bytes.Equal(check[:], b[valuesChecked:]) {
		return nil, fmt.Errorf("%w: the header is damaged; make the values again", ErrCorrupt)
	}
	number := func(at int) int { return int(binary.BigEndian.Uint32(b[at:])) }
	h := &ValuesHeader{LogN: number(12), M: number(16), K: number(20), Circuit: strings.TrimRight(string(b[32:64]), "\x00")}
	copy(h.Key[:], b[64:])
	copy(h.Content[:], b[96:])
	// No list is longer than the domain, and the encoding is unique.
	if h.LogN > 31 || h.M < 1 || h.K < 1 || h.M > 1<<h.LogN || h.K > 1<<h.LogN || !bytes.Equal(b, h.Encode()) {
		return nil, fmt.Errorf("%w: the header says what cannot be; make the values again", ErrCorrupt)
	}
	return h, nil
}

// ValuesPath is where the values of a key file are.
func ValuesPath(params string) string { return strings.TrimSuffix(params, Params) + ValuesPart }

// Identity is the digest by which values name their key.
func (vk *VerifyingKey) Identity() [32]byte { return blake2b.Sum256(vk.Encode()) }

// fits tells why a file of values is not one of a key.
func (h *ValuesHeader) fits(k *Key) error {
	switch {
	case h.Key != k.VK.Identity():
		return fmt.Errorf("%w: the values of another key, of %s", ErrCorrupt, h.Circuit)
	case k.H.N != 1<<h.LogN-1:
		return fmt.Errorf("%w: values of a domain of 2^%d for a key with %d points in h", ErrCorrupt, h.LogN, k.H.N)
	}
	return nil
}

// attachValues opens the values beside the key, where they are. Values that do not
// fit are left alone with a warning: the key is good without.
func (k *Key) attachValues(ctx context.Context, o Options) {
	path := ValuesPath(k.Path)
	v, err := k.openValues(ctx, path, o)
	switch {
	case err == nil:
		k.Values = v
	case !errors.Is(err, fs.ErrNotExist):
		o.warn(fmt.Errorf("values of %s are not used, proofs take longer: %w", path, err))
	}
}

// openValues opens a file of values for a key: header, size, and the digest of the
// content, which is remembered.
func (k *Key) openValues(ctx context.Context, path string, o Options) (_ *Values, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	h, err := readValuesHeader(f)
	if err != nil {
		return nil, err
	}
	if err := h.fits(k); err != nil {
		return nil, err
	}
	if err := o.checkContent(ctx, f, h); err != nil {
		return nil, err
	}
	return mapValues(f, h)
}

// readValuesHeader reads it and checks the size of the file.
func readValuesHeader(f *os.File) (*ValuesHeader, error) {
	st, err := stampOf(f)
	if err != nil {
		return nil, err
	}
	b := make([]byte, valuesHeader)
	n, err := f.ReadAt(b, 0)
	if n < len(b) && st.Size >= valuesHeader {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	h, err := DecodeValuesHeader(b[:n])
	if err != nil {
		return nil, err
	}
	if st.Size != h.Bytes() {
		return nil, fmt.Errorf("%w: %d bytes of values, their header says %d; make them again", ErrCorrupt, st.Size, h.Bytes())
	}
	return h, nil
}

// checkContent compares the digest of the points with the header's.
func (o Options) checkContent(ctx context.Context, f *os.File, h *ValuesHeader) error {
	d, err := o.digestFrom(ctx, f, valuesHeader)
	if err != nil {
		return err
	}
	if d != hex.EncodeToString(h.Content[:16]) {
		return fmt.Errorf("%w: the points are damaged; make the values again", ErrCorrupt)
	}
	return nil
}

func mapValues(f *os.File, h *ValuesHeader) (*Values, error) {
	st, err := stampOf(f)
	if err != nil {
		return nil, err
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(h.Bytes()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", h.Bytes(), err)
	}
	v := &Values{file: f, data: data, stamp: st}
	v.K, v.M = valuesQueries(data[valuesHeader:], h)
	return v, nil
}

// valuesQueries are the two lists in mapped bytes.
func valuesQueries(points []byte, h *ValuesHeader) (k, m Query) {
	cut := h.K * g1Size
	return Query{Name: "k", N: h.K, Raw: points[:cut:cut], mapped: true}, Query{Name: "m", N: h.M, Raw: points[cut:], mapped: true}
}

func (v *Values) close() error {
	if v == nil || v.file == nil {
		return nil
	}
	err := errors.Join(unix.Munmap(v.data), v.file.Close())
	v.file = nil
	return err
}

// changed is [Key.Changed] for the values.
func (v *Values) changed() error {
	if v == nil || v.file == nil {
		return nil
	}
	now, err := stampOf(v.file)
	if err != nil {
		return fmt.Errorf("look at values %s: %w", v.file.Name(), err)
	}
	if !now.sameContent(v.stamp) {
		return fmt.Errorf("%w: %s was changed while it was in use; load the key again", ErrCorrupt, v.file.Name())
	}
	return nil
}

// ListValues looks at the files of values in a directory as [List] does at keys; a
// key without has no row.
func ListValues(dir string, o Options) ([]Row, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"+ValuesPart))
	if err != nil {
		return nil, err
	}
	memory := o.loadDigests()
	var rows []Row
	for _, id := range Circuits() {
		for _, params := range []string{id.FileName(Params), id.InsecureFileName(Params)} {
			path := ValuesPath(filepath.Join(dir, params))
			if !slices.Contains(names, path) {
				continue
			}
			r, err := valuesRow(path, id, memory)
			if err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func valuesRow(path string, id ID, memory digests) (Row, error) {
	r := Row{ID: id, Part: ValuesPart, File: filepath.Base(path), State: Malformed}
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	st, err := stampOf(f)
	if err != nil {
		return r, err
	}
	r.Bytes = st.Size
	h, err := readValuesHeader(f)
	if errors.Is(err, ErrCorrupt) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.Want, r.State = h.Bytes(), Unchecked
	if d, known := memory.find(st); known {
		r.judgeValues(d, h)
	}
	return r, nil
}

// judgeValues sets the state of values whose digest is known.
func (r *Row) judgeValues(digest string, h *ValuesHeader) {
	r.Digest, r.State = digest, Mismatch
	if digest == hex.EncodeToString(h.Content[:16]) {
		r.State = Verified
	}
}

// checkValues is [Check] for values.
func checkValues(ctx context.Context, dir string, r Row, o Options) (Row, error) {
	f, err := os.Open(filepath.Join(dir, r.File))
	if err != nil {
		return r, missing(err)
	}
	defer f.Close()
	h, err := readValuesHeader(f)
	if err != nil {
		return r.malformed(err)
	}
	d, err := o.digestFrom(ctx, f, valuesHeader)
	if err != nil {
		return r, err
	}
	r.judgeValues(d, h)
	return r, nil
}
