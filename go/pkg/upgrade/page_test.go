package upgrade

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func get(t *testing.T, handler http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

func TestThePageMatchesTheNativeOperators(t *testing.T) {
	native, err := os.ReadFile("../../../src/service/rollout_page.html")
	if err != nil {
		t.Skip(err) // the module is used without the repository
	}
	if string(native) != rolloutPage {
		t.Error("copy src/service/rollout_page.html to go/pkg/upgrade")
	}
}

func TestThePageRunsOnlyItsOwnScript(t *testing.T) {
	answer := get(t, (&Manager{}).Handler(PageOptions{}), "/")
	policy := answer.Header().Get("Content-Security-Policy")
	_, rest, _ := strings.Cut(policy, "script-src 'nonce-")
	nonce, _, _ := strings.Cut(rest, "'")
	if !strings.HasPrefix(policy, "default-src 'none'") || nonce == "" || !strings.Contains(answer.Body.String(), `<script nonce="`+nonce+`">`) {
		t.Errorf("policy %q does not fit the page", policy)
	}
}

func TestTheDocumentShowsTheRolloutUntilItChanges(t *testing.T) {
	w := newRollout(t, 3)
	handler := w.manager.Handler(PageOptions{Leader: func() bool { return true }, Replica: "operator-1"})
	w.awaitApproval()
	var found struct {
		Leader  bool
		Replica string
		Nodes   []struct {
			Stage string
			Gate  *struct {
				Reason   string
				Commands []string
			}
			Transitions []struct{ State string }
		}
	}
	answer := get(t, handler, "/rollout")
	if err := json.Unmarshal(answer.Body.Bytes(), &found); err != nil {
		t.Fatalf("%d %s: %v", answer.Code, answer.Body, err)
	}
	if !found.Leader || found.Replica != "operator-1" || len(found.Nodes) != 3 {
		t.Errorf("%+v", found)
	}
	waiting, upgraded := 0, 0
	for _, node := range found.Nodes {
		if node.Gate != nil && node.Gate.Reason == "Approval" && node.Stage == "rest" && slices.Contains(node.Gate.Commands, "upgradectl approve canary") {
			waiting++
		}
		if node.Stage == "canary" && len(node.Transitions) > 3 {
			upgraded++
		}
	}
	if waiting != 2 || upgraded != 1 {
		t.Errorf("%d nodes wait and %d are upgraded in %s", waiting, upgraded, answer.Body)
	}
	first := get(t, handler, "/rollout", "Accept-Encoding", "gzip")
	tag := first.Header().Get("ETag")
	if first.Header().Get("Content-Encoding") != "gzip" {
		t.Error("the document is not compressed")
	}
	if again := get(t, handler, "/rollout", "If-None-Match", "W/"+tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("%d for the tag that the client has", again.Code)
	}
}

// lastError returns the member lastError of the document. The handler is new, because it would keep the document for a
// second.
func (w *world) lastError() string {
	w.t.Helper()
	answer := get(w.t, w.manager.Handler(PageOptions{}), "/rollout")
	var found struct{ LastError string }
	if err := json.Unmarshal(answer.Body.Bytes(), &found); err != nil {
		w.t.Fatalf("%d %s: %v", answer.Code, answer.Body, err)
	}
	return found.LastError
}

func TestTheDocumentShowsARefusedPolicyUntilAValidOneApplies(t *testing.T) {
	w := newWorld(t, 2)
	w.manageWithLedger()
	const good = `{autoUpgrade: true, maxParallelUpgrades: 1}`
	w.applyPolicy(good)
	if got := w.lastError(); got != "" {
		t.Errorf("after a valid policy: %q", got)
	}
	for name, policy := range map[string]string{
		"an unknown field":      `{autoUpgrade: true, maxParalelUpgrades: 1}`,
		"a text without an end": `{autoUpgrade: true`,
		"a stop with an error":  `{autoUpgrade: false, maxParalelUpgrades: 1}`,
	} {
		err := w.manager.ApplyPolicy(t.Context(), w.build(t.Context()), []byte(policy))
		if got := w.lastError(); err == nil || got != err.Error() {
			t.Errorf("%s: %q instead of %v", name, got, err)
		}
	}
	w.applyPolicy(good)
	if got := w.lastError(); got != "" {
		t.Errorf("after another valid policy: %q", got)
	}
}

func TestTheDocumentShowsAFailedPass(t *testing.T) {
	w := newWorld(t, 2)
	err := w.manager.ApplyPolicy(t.Context(), w.build(t.Context()), []byte(canaryFirst)) // there is no ledger
	if got := w.lastError(); err == nil || !contains(got, "has no ledger") {
		t.Errorf("%q instead of %v", got, err)
	}
	w.clock.Step(2 * interval)
	w.build(t.Context())
	w.clock.Step(2 * interval)
	if got := w.lastError(); got != "" {
		t.Errorf("long after the last call: %q", got)
	}
}

func TestTheDocumentShowsAFailedList(t *testing.T) {
	w := newWorld(t, 2)
	var refuses atomic.Bool
	config := w.cluster.Config()
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if refuses.Load() && strings.HasSuffix(r.URL.Path, "/pods") {
				return nil, errors.New("no route")
			}
			return next.RoundTrip(r)
		})
	}
	w.manage(setup{config: config})
	w.apply(t.Context(), policyOf(1))
	refuses.Store(true)
	w.cluster.MissedByWatches(func() { w.cluster.AddWorkload("work-0", "n0") })
	w.eventually("the failed list", func() bool { return contains(w.lastError(), "list pods: ", "no route") })
}

func TestAStreamHasTheDocumentAtOnce(t *testing.T) {
	w := newRollout(t, 2)
	server := httptest.NewServer(w.manager.Handler(PageOptions{}))
	defer server.Close()
	answer, err := http.Get(server.URL + "/rollout?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	for _, wanted := range []string{"event: rollout\n", `id: "`, `data: {"at":"`} {
		if line, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, wanted) {
			t.Fatalf("%q, %v instead of %q", line, err, wanted)
		}
	}
}

func TestWithoutDriverPodsThereIsNoDocument(t *testing.T) {
	w := newWorld(t, 0)
	w.manageWithLedger()
	if answer := get(t, w.manager.Handler(PageOptions{}), "/rollout"); answer.Code != http.StatusServiceUnavailable {
		t.Errorf("%d: %s", answer.Code, answer.Body)
	}
}
