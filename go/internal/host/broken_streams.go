package host

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
)

// streamTransport detects watches whose connection broke, for requests whose context comes from withStream. A
// watch.Interface does not show whether the server ended the watch or the connection broke.
type streamTransport struct{ http.RoundTripper }

func noticeBrokenStreams(transport http.RoundTripper) http.RoundTripper {
	return streamTransport{transport}
}

// stream is the response to a watch.
type stream struct{ broken atomic.Bool }

type streamKey struct{}

func withStream(ctx context.Context, of *stream) context.Context {
	return context.WithValue(ctx, streamKey{}, of)
}

func (t streamTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if of, ok := request.Context().Value(streamKey{}).(*stream); ok && err == nil {
		response.Body = streamBody{response.Body, of}
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the inner transport, for example to close idle connections.
func (t streamTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

type streamBody struct {
	io.ReadCloser
	of *stream
}

func (b streamBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && err != io.EOF {
		b.of.broken.Store(true)
	}
	return n, err
}
