package main

import (
	"bytes"
	"os"
	"testing"
)

func TestTheExampleHasTheLinesThatThePageSays(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if lines := bytes.Count(text, []byte("\n")); err != nil || lines > 140 {
		t.Errorf("%d lines, %v", lines, err)
	}
}
