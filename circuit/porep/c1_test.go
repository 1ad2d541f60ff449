package porep

import (
	"os"
	"testing"

	"cuzk/vanilla"
	vporep "cuzk/vanilla/porep"
)

func TestFromC1Refuses(t *testing.T) {
	b, err := os.ReadFile(requests + "porep-2KiB-V1.c1.json")
	if err != nil {
		t.Fatal(err)
	}
	c1, err := vporep.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []int{-1, 1} {
		if _, err := FromC1(c1, k); err == nil {
			t.Errorf("partition %d of 1 is taken", k)
		}
	}
	for what, d := range map[string]*vanilla.Domain{"replica_id": &c1.ReplicaID, "comm_d": &c1.CommD, "comm_r": &c1.CommR} {
		old := *d
		d[31] = 0xff
		if _, err := FromC1(c1, 0); err == nil {
			t.Errorf("%s above the modulus is taken", what)
		}
		*d = old
	}
	c1.Partitions[0] = c1.Partitions[0][:1]
	if _, err := FromC1(c1, 0); err == nil {
		t.Error("a partition of one challenge is taken")
	}
}
