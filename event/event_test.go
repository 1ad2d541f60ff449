package event

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPartitionZeroIsNotNoPartition(t *testing.T) {
	for _, c := range []struct {
		p    Partition
		json string
	}{
		{Partition{}, `{"seq":0,"at":"0001-01-01T00:00:00Z","type":""}`},
		{At(0), `{"seq":0,"at":"0001-01-01T00:00:00Z","type":"","partition":0}`},
		{At(9), `{"seq":0,"at":"0001-01-01T00:00:00Z","type":"","partition":9}`},
	} {
		raw, err := json.Marshal(Record{Partition: c.p})
		if err != nil || string(raw) != c.json {
			t.Errorf("got %s, %v, want %s", raw, err, c.json)
		}
		var back Record
		if err := json.Unmarshal(raw, &back); err != nil || back.Partition != c.p {
			t.Errorf("%s read as %v, %v", raw, back.Partition, err)
		}
	}
}

func TestPartitionRefusesNegative(t *testing.T) {
	for _, raw := range []string{"-1", "2147483647", "1.5", `"3"`} {
		var p Partition
		if err := json.Unmarshal([]byte(raw), &p); err == nil {
			t.Errorf("%s accepted as %v", raw, p)
		}
	}
}

func TestRecordSurvivesJSON(t *testing.T) {
	want := Record{Seq: 7, At: time.Unix(12, 34).UTC(), Type: StageEnded, Job: "j1", Kind: "porep-c2",
		Partition: At(3), Attempt: 2, Stage: Prove, Device: "GPU-1", Took: time.Second, Wait: time.Millisecond,
		Failure: "device", Reason: "vanished", Times: Times{Prove: 5}}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Record
	if err := json.Unmarshal(raw, &got); err != nil || got != want {
		t.Fatalf("%v: %s", err, cmp.Diff(want, got, cmp.AllowUnexported(Partition{})))
	}
}

func TestHubRemembersTheLatest(t *testing.T) {
	h := NewHub(3)
	for range 5 {
		h.Publish(Record{Type: JobAccepted})
	}
	var seqs []uint64
	for _, r := range h.Recent() {
		seqs = append(seqs, r.Seq)
	}
	if diff := cmp.Diff([]uint64{3, 4, 5}, seqs); diff != "" {
		t.Fatal(diff)
	}
}

func TestReaderSeesHistoryThenRecordsWithoutGap(t *testing.T) {
	h := NewHub(8)
	h.Publish(Record{})
	r, past := h.Subscribe(4)
	defer r.Close()
	h.Publish(Record{})
	next, err := r.Next(t.Context())
	if err != nil || len(past) != 1 || past[0].Seq != 1 || next.Seq != 2 {
		t.Fatalf("past %v, next %v, %v", past, next, err)
	}
}

func TestSlowReaderMissesAndKnows(t *testing.T) {
	h := NewHub(0)
	r, _ := h.Subscribe(1)
	for range 4 {
		h.Publish(Record{})
	}
	if first := <-r.C(); first.Seq != 1 || r.Missed() != 3 {
		t.Fatalf("first %d, missed %d", first.Seq, r.Missed())
	}
	r.Close()
	r.Close()
	h.Publish(Record{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("closed reader: %v", err)
	}
}
