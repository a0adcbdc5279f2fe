package main

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

// Benchmarks pass --qps -1 to every program that they compare, so that the example's default rate does not apply.
func TestTheRateOfRequestsIsAFlag(t *testing.T) {
	for name, value := range map[string]string{"qps": "50", "burst": "100"} {
		if found := flag.Lookup(name); found == nil || found.DefValue != value {
			t.Errorf("--%s: %+v", name, found)
		}
	}
}

func TestTheExampleHasTheLinesThatThePageSays(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if lines := bytes.Count(text, []byte("\n")); err != nil || lines > 160 {
		t.Errorf("%d lines, %v", lines, err)
	}
}
