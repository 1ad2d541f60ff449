package snap

import "cuzk/vanilla"

// request is the JSON form of a request.
type request struct {
	Kind       string          `json:"kind"`
	Registered string          `json:"registered_proof"`
	CommROld   *vanilla.Domain `json:"comm_r_old"`
	CommRNew   *vanilla.Domain `json:"comm_r_new"`
	CommDNew   *vanilla.Domain `json:"comm_d_new"`
	Proofs     []string        `json:"partition_proofs"`
}

// ParseRequest reads a request in JSON: kind (update), registered_proof, the
// three commitments in hex, and partition_proofs, the names of files relative
// to the request, in order of partition, which read reads.
func ParseRequest(data []byte, read vanilla.ReadFile) (Input, error) {
	var q request
	if err := vanilla.ParseRequest(data, &q); err != nil {
		return Input{}, err
	}
	if q.Kind != "update" {
		return Input{}, vanilla.Errorf("request: kind %q is not update", q.Kind)
	}
	r, err := ParseRegistered(q.Registered)
	if err != nil {
		return Input{}, vanilla.At(err, "request")
	}
	for _, c := range []struct {
		name  string
		value *vanilla.Domain
	}{{"comm_r_old", q.CommROld}, {"comm_r_new", q.CommRNew}, {"comm_d_new", q.CommDNew}} {
		if c.value == nil {
			return Input{}, vanilla.Errorf("request: %s is missing", c.name)
		}
	}
	proofs, err := vanilla.ReadFiles(read, q.Proofs)
	if err != nil {
		return Input{}, err
	}
	return Input{r, *q.CommROld, *q.CommRNew, *q.CommDNew, proofs}, nil
}
