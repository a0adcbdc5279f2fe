package upgrade

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
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
