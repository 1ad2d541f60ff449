package vanilla

import (
	"io/fs"

	"github.com/go-json-experiment/json"
)

// ReadFile reads a file that a request names, by a path relative to it.
type ReadFile func(name string) ([]byte, error)

// ParseRequest reads the JSON of a proof request into v. Members that v does
// not have, members given twice and anything after the object are errors.
func ParseRequest(data []byte, v any) error {
	if err := json.Unmarshal(data, v, json.RejectUnknownMembers(true)); err != nil {
		return &Error{Where: "request", Err: err}
	}
	return nil
}

// ReadFiles reads the named files. Names may not lead out of the folder of the
// request.
func ReadFiles(read ReadFile, names []string) ([][]byte, error) {
	out := make([][]byte, len(names))
	for i, name := range names {
		if !fs.ValidPath(name) {
			return nil, Errorf("request: file %q is not a plain relative path", name)
		}
		data, err := read(name)
		if err != nil {
			return nil, At(err, "request: read %q", name)
		}
		out[i] = data
	}
	return out, nil
}
