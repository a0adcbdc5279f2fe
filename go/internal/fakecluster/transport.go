package fakecluster

import (
	"io"
	"net/http"
	"sync"

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
	body := &body{more: make(chan struct{})}
	w := &writer{header: http.Header{}, body: body, started: make(chan struct{}), status: http.StatusOK}
	go func() {
		defer func() {
			end := io.EOF
			if recover() != nil { // the server breaks the connection
				end = io.ErrUnexpectedEOF
			}
			w.WriteHeader(w.status)
			body.add(nil, end)
		}()
		d.cluster.serve(w, served)
	}()
	select {
	case <-w.started:
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	return &http.Response{StatusCode: w.status, Header: w.header, Body: body, ProtoMajor: 1, ProtoMinor: 1, Request: request}, nil
}

// writer is the server's side of a response.
type writer struct {
	header  http.Header
	body    *body
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
	w.body.add(text, nil)
	return len(text), nil
}

// body passes the text of a response on. The server never waits for the reader.
type body struct {
	mu   sync.Mutex
	text []byte
	end  error
	more chan struct{} // closed when the text or the end changes
}

func (b *body) add(text []byte, end error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != nil {
		return
	}
	b.text, b.end = append(b.text, text...), end
	close(b.more)
	b.more = make(chan struct{})
}

func (b *body) Read(into []byte) (int, error) {
	for {
		b.mu.Lock()
		n, end, more := copy(into, b.text), b.end, b.more
		b.text = b.text[n:]
		b.mu.Unlock()
		if n > 0 || len(into) == 0 {
			return n, nil
		}
		if end != nil {
			return 0, end
		}
		<-more
	}
}

// Close ends further reads.
func (b *body) Close() error {
	b.add(nil, http.ErrBodyReadAfterClose)
	return nil
}
