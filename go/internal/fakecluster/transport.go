package fakecluster

import (
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// Direct returns a client configuration whose requests reach the server without a network, so that tests can use the
// virtual time of testing/synctest. wrap, if not nil, wraps the transport.
func (c *Cluster) Direct(wrap func(http.RoundTripper) http.RoundTripper) *rest.Config {
	return &rest.Config{Host: "http://cluster", QPS: -1, Transport: direct{c}, WrapTransport: wrap}
}

type direct struct{ cluster *Cluster }

func (d direct) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	served := request.Clone(request.Context())
	if served.Body == nil {
		served.Body = http.NoBody
	}
	body, into := io.Pipe()
	w := &writer{header: http.Header{}, body: into, started: make(chan struct{}), status: http.StatusOK}
	go func() {
		defer func() {
			var end error
			if recover() != nil { // the server breaks the connection
				end = io.ErrUnexpectedEOF
			}
			w.WriteHeader(w.status)
			_ = into.CloseWithError(end)
		}()
		d.cluster.serve(w, served)
	}()
	select {
	case <-w.started:
	case <-request.Context().Done():
		_ = body.CloseWithError(request.Context().Err())
		return nil, request.Context().Err()
	}
	return &http.Response{StatusCode: w.status, Header: w.header, Body: body, ProtoMajor: 1, ProtoMinor: 1, Request: request}, nil
}

// writer is the server's side of a response.
type writer struct {
	header  http.Header
	body    *io.PipeWriter
	started chan struct{} // closed once the status is known
	written bool
	status  int
}

func (w *writer) Header() http.Header { return w.header }
func (w *writer) Flush()              {}

func (w *writer) WriteHeader(status int) {
	if w.written {
		return
	}
	w.written, w.status = true, status
	close(w.started)
}

func (w *writer) Write(text []byte) (int, error) {
	w.WriteHeader(w.status)
	return w.body.Write(text)
}
