package kind

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"cuzk/circuit/porep"
	"cuzk/circuit/post"
	"cuzk/circuit/snap"
	"cuzk/r1cs"
	"cuzk/srs"
	"cuzk/vanilla"
	vporep "cuzk/vanilla/porep"
	vpost "cuzk/vanilla/post"
	vsnap "cuzk/vanilla/snap"
)

// Parse reads a proof request in JSON. Files that it names are read by read.
func Parse(data []byte, read vanilla.ReadFile) (*Job, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, badInput(fmt.Errorf("request: %w", err))
	}
	switch head.Kind {
	case srs.Winning, srs.Window:
		in, err := vpost.ParseRequest(data, read)
		if err != nil {
			return nil, badInput(err)
		}
		return Post(in)
	case srs.Update:
		in, err := vsnap.ParseRequest(data, read)
		if err != nil {
			return nil, badInput(err)
		}
		return Snap(in)
	case srs.PoRep:
		r, err := vporep.ParseRequest(data, read)
		if err != nil {
			return nil, badInput(err)
		}
		return PoRep(r)
	}
	return nil, badInput(fmt.Errorf("request: unknown kind %q: known are porep, winning, window and update", head.Kind))
}

// Blank is the circuit of a name without values, for compiling.
func Blank(id srs.ID) (r1cs.Circuit, error) {
	switch id.Family {
	case srs.PoRep:
		return porep.Blank(id.Size), nil
	case srs.Winning:
		return post.Blank(post.Winning, id.Size), nil
	case srs.Window:
		return post.Blank(post.Window, id.Size), nil
	case srs.Update:
		rules, err := vsnap.RulesFor(id.Size)
		if err != nil {
			return nil, err
		}
		return snap.Blank(rules), nil
	}
	return nil, fmt.Errorf("circuit %s is not supported yet", id)
}
