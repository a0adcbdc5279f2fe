package host

import (
	"fmt"
	"net/http"
	"testing"

	"driverupgrade.example/go/internal/engine"
)

// answered returns a server's response with this version of the object.
func answered(status int, version string) answer {
	return answer{status: status, body: fmt.Appendf(nil, `{"kind":"Node","metadata":{"resourceVersion":%q}}`, version)}
}

// W42.
func TestAWriteIsAwaitedUntilTheWatchShowsItsVersion(t *testing.T) {
	for name, one := range map[string]struct {
		happens func(o *ownWrites, w *ownWrite)
		waits   bool
	}{
		"no request was sent":              {func(_ *ownWrites, w *ownWrite) { w.answered(answer{status: engine.NotSent}) }, false},
		"the response has not arrived":     {func(o *ownWrites, w *ownWrite) { w.sent(); o.show("20") }, true},
		"the response has a newer version": {func(_ *ownWrites, w *ownWrite) { w.sent(); w.answered(answered(http.StatusOK, "10")) }, true},
		"the watch has an older version":   {func(o *ownWrites, w *ownWrite) { w.sent(); w.answered(answered(http.StatusOK, "11")); o.show("10") }, true},
		"the watch has the same version":   {func(o *ownWrites, w *ownWrite) { w.sent(); w.answered(answered(http.StatusOK, "10")); o.show("10") }, false},
		"the watch was ahead":              {func(o *ownWrites, w *ownWrite) { w.sent(); o.show("11"); w.answered(answered(http.StatusOK, "10")) }, false},
		"the request was refused":          {func(_ *ownWrites, w *ownWrite) { w.sent(); w.answered(answered(http.StatusConflict, "10")) }, false},
		"there is no response":             {func(_ *ownWrites, w *ownWrite) { w.sent(); w.answered(answer{status: engine.NoAnswer}) }, false},
		"the write took too long":          {func(o *ownWrites, w *ownWrite) { w.sent(); o.forget(w); w.answered(answered(http.StatusOK, "10")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOwnWrites()
			o.show("9")
			w := &ownWrite{of: o, shown: make(chan struct{})}
			one.happens(o, w)
			if waits := len(o.waiting()) > 0; waits != one.waits {
				t.Errorf("waits: %v", waits)
			}
		})
	}
}
