package upgrade

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"driverupgrade.example/go/internal/engine"
)

// rolloutPage is the page in src/service, byte for byte.
//
//go:embed rollout_page.html
var rolloutPage string

const (
	documentAge    = time.Second                     // minimum time between two documents
	streamInterval = 500 * time.Millisecond          // time between two checks of a stream for changes
	streamSign     = 15 * time.Second                // time after which a stream without changes sends a comment
	timeMember     = `{"at":"2026-11-28T12:00:00Z",` // as long as the member `at`, which differs in every document
)

// PageOptions describes this replica to the page.
type PageOptions struct {
	// Leader reports whether this replica makes the passes. A nil Leader means that this replica does.
	Leader func() bool
	// Replica is the name of this replica.
	Replica string
}

// Handler serves the rollout page at `/` and, at `/rollout`, the document that the page shows (docs/monitoring.md). The
// handler sends no requests to the cluster and changes nothing. The caller must restrict who can read the page:
// register the handler with AddMetricsServerExtraHandler on a metrics server that uses controller-runtime's
// filters.WithAuthenticationAndAuthorization, or listen only on a loopback address.
//
//	operator.AddMetricsServerExtraHandler("/driver/", http.StripPrefix("/driver", states.Handler(upgrade.PageOptions{})))
func (m *Manager) Handler(options PageOptions) http.Handler {
	board := &rolloutBoard{manager: m, options: options}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", servePage)
	mux.HandleFunc("GET /rollout", board.serve)
	return mux
}

func servePage(w http.ResponseWriter, _ *http.Request) {
	nonce := rand.Text()
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; style-src 'nonce-%[1]s'; script-src 'nonce-%[1]s'; connect-src 'self'; "+
		"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", nonce))
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Content-Type-Options", "nosniff")
	allowed := strings.NewReplacer("<style>", `<style nonce="`+nonce+`">`, "<script>", `<script nonce="`+nonce+`">`)
	_, _ = allowed.WriteString(w, rolloutPage)
}

// rolloutBoard creates the document once for all readers.
type rolloutBoard struct {
	manager *Manager
	options PageOptions

	mu       sync.Mutex
	document []byte
	tag      string
	madeAt   time.Time
}

func (b *rolloutBoard) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.URL.Query().Get("watch") == "true" {
		b.stream(w, r)
		return
	}
	document, tag, err := b.get()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	header.Set("Content-Type", "application/json")
	header.Set("ETag", tag)
	header.Set("Vary", "Accept-Encoding")
	if strings.TrimPrefix(r.Header.Get("If-None-Match"), "W/") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = w.Write(document)
		return
	}
	header.Set("Content-Encoding", "gzip")
	compressed := gzip.NewWriter(w)
	_, _ = compressed.Write(document)
	_ = compressed.Close()
}

// stream sends the document immediately, and again whenever it has changed.
func (b *rolloutBoard) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	sent, quiet := "", time.Duration(0)
	look := time.NewTicker(streamInterval)
	defer look.Stop()
	for {
		document, tag, err := b.get()
		switch {
		case err != nil:
			return
		case tag != sent:
			_, err = fmt.Fprintf(w, "event: rollout\nid: %s\ndata: %s\n\n", tag, document)
			sent, quiet = tag, 0
		case quiet >= streamSign:
			_, err = fmt.Fprint(w, ": nothing new\n\n")
			quiet = 0
		default:
			quiet += streamInterval
		}
		if err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-look.C:
		}
	}
}

func (b *rolloutBoard) get() (document []byte, tag string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.manager.options.Clock.Now()
	if age := now.Sub(b.madeAt); b.document != nil && age >= 0 && age < documentAge {
		return b.document, b.tag, nil
	}
	facts := engine.RolloutFacts{Leader: b.options.Leader == nil || b.options.Leader(), Replica: b.options.Replica}
	made, err := b.manager.rolloutDocument(facts)
	if err != nil {
		return nil, "", err
	}
	digest := fnv.New64a()
	_, _ = digest.Write(made[min(len(timeMember), len(made)):])
	b.document, b.tag, b.madeAt = made, fmt.Sprintf(`"%016x"`, digest.Sum64()), now
	return b.document, b.tag, nil
}

// rolloutDocument lists the members in the order in which the document contains them, with the time first.
type rolloutDocument struct {
	At         string            `json:"at"`
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Version    string            `json:"version"`
	Driver     json.RawMessage   `json:"driver"`
	Leader     bool              `json:"leader"`
	Replica    string            `json:"replica,omitempty"`
	LastPass   string            `json:"lastPass,omitempty"`
	LastError  string            `json:"lastError,omitempty"`
	Pools      []json.RawMessage `json:"pools"`
	Nodes      []json.RawMessage `json:"nodes"`
}

// rolloutDocument combines the documents of all selections of driver pods into one document.
func (m *Manager) rolloutDocument(facts engine.RolloutFacts) ([]byte, error) {
	var all *rolloutDocument
	var failures []string
	for _, one := range m.allHosts() {
		facts.LastError = one.LastError()
		text, err := one.Rollout(facts)
		if err != nil {
			continue // the host is closed
		}
		var found rolloutDocument
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&found); err != nil {
			return nil, fmt.Errorf("the document of the rollout: %w", err)
		}
		if found.LastError != "" && !slices.Contains(failures, found.LastError) {
			failures = append(failures, found.LastError)
		}
		if all == nil {
			all = &found
			continue
		}
		all.Pools = append(all.Pools, found.Pools...)
		all.Nodes = append(all.Nodes, found.Nodes...)
		all.LastPass = max(all.LastPass, found.LastPass)
	}
	if all == nil {
		return nil, fmt.Errorf("no driver pods have been read yet")
	}
	all.LastError = strings.Join(failures, "; ")
	return json.Marshal(all)
}
