package cuzkv1

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestContractIsFrozen compares the generated descriptor with the contract as
// clients know it, in both directions: nothing missing, nothing added.
func TestContractIsFrozen(t *testing.T) {
	raw, err := os.ReadFile("testdata/contract.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contractLines(string(raw)), describe(File_cuzk_v1_proving_proto)); diff != "" {
		t.Fatalf("the wire contract changed (-frozen +generated):\n%s", diff)
	}
}

func TestMethodPathsAreFrozen(t *testing.T) {
	want := []string{"SubmitProof", "AwaitProof", "Prove", "CancelProof", "GetStatus", "GetMetrics", "PreloadSRS", "EvictSRS"}
	var got []string
	for _, m := range ProvingEngine_ServiceDesc.Methods {
		got = append(got, m.MethodName)
	}
	if diff := cmp.Diff(want, got); diff != "" || ProvingEngine_ServiceDesc.ServiceName != "cuzk.v1.ProvingEngine" {
		t.Fatalf("service %s, methods (-want +got):\n%s", ProvingEngine_ServiceDesc.ServiceName, diff)
	}
}

func contractLines(text string) []string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	sort.Strings(out)
	return out
}

func describe(f protoreflect.FileDescriptor) []string {
	out := []string{"syntax " + f.Syntax().String(), "package " + string(f.Package())}
	for i := range f.Services().Len() {
		out = append(out, describeService(f.Services().Get(i))...)
	}
	for i := range f.Messages().Len() {
		out = append(out, describeMessage(f.Messages().Get(i))...)
	}
	out = append(out, describeEnums(f.Enums())...)
	sort.Strings(out)
	return out
}

func describeService(s protoreflect.ServiceDescriptor) []string {
	var out []string
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		mode := "unary"
		if m.IsStreamingClient() || m.IsStreamingServer() {
			mode = "stream"
		}
		out = append(out, fmt.Sprintf("rpc %s %s %s %s", m.FullName(), mode, short(m.Input()), short(m.Output())))
	}
	return out
}

func describeMessage(m protoreflect.MessageDescriptor) []string {
	out := []string{"message " + string(m.FullName())}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		out = append(out, fmt.Sprintf("field %s %d %s", f.FullName(), f.Number(), typeOf(f)))
	}
	for i := range m.Messages().Len() {
		out = append(out, describeMessage(m.Messages().Get(i))...)
	}
	return append(out, describeEnums(m.Enums())...)
}

func describeEnums(es protoreflect.EnumDescriptors) []string {
	var out []string
	for i := range es.Len() {
		for j := range es.Get(i).Values().Len() {
			v := es.Get(i).Values().Get(j)
			out = append(out, fmt.Sprintf("value %s %s %d", es.Get(i).FullName(), v.Name(), v.Number()))
		}
	}
	return out
}

func typeOf(f protoreflect.FieldDescriptor) string {
	t := f.Kind().String()
	switch {
	case f.Message() != nil:
		t = short(f.Message())
	case f.Enum() != nil:
		t = short(f.Enum())
	}
	if f.Cardinality() == protoreflect.Repeated {
		t = "repeated " + t
	}
	return t
}

func short(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(string(d.FullName()), "cuzk.v1.")
}
