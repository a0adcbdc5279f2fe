package host

import (
	"io"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"driverupgrade.example/go/internal/engine"
)

type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A truncated list would be invalid JSON, which the engine requests again and again without a log line.
func TestALongResponseIsCompleteOrAnError(t *testing.T) {
	for size, want := range map[int64]int{bodyMax: http.StatusOK, bodyMax + 1: engine.NoAnswer} {
		connection, err := Connect(&rest.Config{Host: "http://server", QPS: -1, Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(io.LimitReader(zeros{}, size))}, nil
		})}, runtime.NewScheme())
		if err != nil {
			t.Fatal(err)
		}
		told := connection.send(t.Context(), t.Context(), engine.Request{Verb: http.MethodGet, Target: "/api/v1/nodes"}, true, func() {})
		if told.status != want || (told.err == nil) != (want == http.StatusOK) || (told.err == nil && int64(len(told.body)) != size) {
			t.Errorf("%d bytes: status %d, %d bytes, error %v", size, told.status, len(told.body), told.err)
		}
	}
}
