package post

import "cuzk/vanilla"

// request is the JSON form of a request.
type request struct {
	Kind       string          `json:"kind"`
	Registered string          `json:"registered_proof"`
	Randomness *vanilla.Domain `json:"randomness"`
	ProverID   *vanilla.Domain `json:"prover_id"`
	Proofs     []string        `json:"vanilla_proofs"`
}

// ParseRequest reads a request in JSON: kind (winning or window),
// registered_proof, randomness and prover_id in hex, and vanilla_proofs, the
// names of files relative to the request, which read reads.
func ParseRequest(data []byte, read vanilla.ReadFile) (Input, error) {
	var q request
	if err := vanilla.ParseRequest(data, &q); err != nil {
		return Input{}, err
	}
	r, err := ParseRegistered(q.Registered)
	if err != nil {
		return Input{}, vanilla.At(err, "request")
	}
	switch {
	case q.Kind != r.Kind.String():
		return Input{}, vanilla.Errorf("request: kind %q does not go with registered proof %s", q.Kind, r.Name)
	case q.Randomness == nil:
		return Input{}, vanilla.Errorf("request: randomness is missing")
	case q.ProverID == nil:
		return Input{}, vanilla.Errorf("request: prover_id is missing")
	}
	proofs, err := vanilla.ReadFiles(read, q.Proofs)
	if err != nil {
		return Input{}, err
	}
	return Input{Registered: r, Randomness: *q.Randomness, ProverID: *q.ProverID, Proofs: proofs}, nil
}
