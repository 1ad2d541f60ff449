package sample

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"cuzk/vanilla"
	porepc1 "cuzk/vanilla/porep"
	"cuzk/vanilla/post"
	"cuzk/vanilla/snap"
)

// File is a file of a request. The first file of a request is the JSON that
// names the others.
type File struct {
	Name  string
	Write func(w io.Writer) error
}

// PoRepFiles are the files NAME.json, the request, and file, the phase-1 output.
func PoRepFiles(name, file string, c1 *porepc1.C1, who porepc1.Identity) ([]File, error) {
	req, err := requestFile(name, struct {
		Kind     string         `json:"kind"`
		C1       string         `json:"c1"`
		ProverID vanilla.Domain `json:"prover_id"`
		SectorID uint64         `json:"sector_id"`
	}{"porep", file, who.ProverID, who.SectorID})
	return []File{req, {file, c1.Encode}}, err
}

// PoStFiles are the files NAME.json and NAME.N.vproof, one a sector.
func PoStFiles(name string, in post.Input) ([]File, error) {
	files, names := proofFiles(name, in.Proofs)
	req, err := requestFile(name, struct {
		Kind       string         `json:"kind"`
		Registered string         `json:"registered_proof"`
		Randomness vanilla.Domain `json:"randomness"`
		ProverID   vanilla.Domain `json:"prover_id"`
		Proofs     []string       `json:"vanilla_proofs"`
	}{in.Registered.Kind.String(), in.Registered.Name, in.Randomness, in.ProverID, names})
	return append([]File{req}, files...), err
}

// UpdateFiles are the files NAME.json and NAME.N.vproof, one a partition.
func UpdateFiles(name string, in snap.Input) ([]File, error) {
	files, names := proofFiles(name, in.Proofs)
	req, err := requestFile(name, struct {
		Kind       string         `json:"kind"`
		Registered string         `json:"registered_proof"`
		CommROld   vanilla.Domain `json:"comm_r_old"`
		CommRNew   vanilla.Domain `json:"comm_r_new"`
		CommDNew   vanilla.Domain `json:"comm_d_new"`
		Proofs     []string       `json:"partition_proofs"`
	}{"update", in.Registered.Name, in.CommROld, in.CommRNew, in.CommDNew, names})
	return append([]File{req}, files...), err
}

// proofFiles numbers vanilla proofs.
func proofFiles(name string, proofs [][]byte) (files []File, names []string) {
	for i, p := range proofs {
		file := fmt.Sprintf("%s.%d.vproof", name, i)
		names = append(names, file)
		files = append(files, File{file, writeBytes(p)})
	}
	return files, names
}

func requestFile(name string, request any) (File, error) {
	data, err := json.MarshalIndent(request, "", "  ")
	if err != nil {
		return File{}, fmt.Errorf("request %s: %w", name, err)
	}
	return File{name + ".json", writeBytes(append(data, '\n'))}, nil
}

func writeBytes(data []byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	}
}
