package host

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
)

// A watch.Interface ends in the same way whether the server has ended the watch or its connection broke. This transport
// tells the two apart, for requests whose context comes from withStream.
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
