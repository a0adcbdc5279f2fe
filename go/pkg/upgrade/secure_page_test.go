package upgrade

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// reviewer is an API server with a Lease and the tokens alice and bob. At first, only alice may read the page.
type reviewer struct {
	*httptest.Server
	mu        sync.Mutex
	reviews   int
	isAway    bool
	mayRead   string
	lease     coordinationv1.Lease
	conflicts int // number of the next Lease updates that fail
}

func newReviewer(t *testing.T) *reviewer {
	r := &reviewer{mayRead: "alice", lease: coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "gpu-operator", Name: "election"}}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *reviewer) config() *rest.Config {
	return &rest.Config{Host: r.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func (r *reviewer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	kind := request.Method + " " + request.URL.Path[strings.LastIndex(request.URL.Path, "/")+1:]
	if r.isAway {
		http.Error(w, "away", http.StatusInternalServerError)
		return
	}
	switch kind {
	case "POST tokenreviews":
		var review authenticationv1.TokenReview
		_ = json.NewDecoder(request.Body).Decode(&review)
		r.reviews++
		name := review.Spec.Token
		review.Status.Authenticated, review.Status.User.Username = name == "alice" || name == "bob", name
		_ = json.NewEncoder(w).Encode(review)
	case "POST subjectaccessreviews":
		var review authorizationv1.SubjectAccessReview
		_ = json.NewDecoder(request.Body).Decode(&review)
		asked := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == r.mayRead && asked != nil && asked.Path == "/rollout" && asked.Verb == "get"
		_ = json.NewEncoder(w).Encode(review)
	case "GET election":
		_ = json.NewEncoder(w).Encode(r.lease)
	case "PUT election":
		if r.conflicts > 0 {
			r.conflicts--
			w.WriteHeader(http.StatusConflict)
			_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
			return
		}
		_ = json.NewDecoder(request.Body).Decode(&r.lease)
		_ = json.NewEncoder(w).Encode(r.lease)
	default:
		http.NotFound(w, request)
	}
}

func (r *reviewer) annotation() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lease.Annotations["nvidia.com/gpu-driver-upgrade.options"]
}

func (r *reviewer) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: " + what)
		}
	}
}

func TestOnlyReadersWithTheRightReadThePage(t *testing.T) {
	server, clock := newReviewer(t), clocktesting.NewFakeClock(time.Now())
	client := kubernetes.NewForConfigOrDie(server.config())
	readers := newReaders(client, clock, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "the page") }))
	for _, c := range []struct {
		header, token string
		status        int
		body          string
	}{
		{"X-Other", "alice", 401, "no token"},
		{"Authorization", "Basic alice", 401, "no token"},
		{"Authorization", "Bearer mallory", 401, "the token is not valid"},
		{"Authorization", "Bearer bob", 403, "bob may not get /rollout"},
		{"Authorization", "Bearer alice", 200, "the page"},
		{readerTokenHeader, "bob", 403, "bob may not get /rollout"},
		{readerTokenHeader, "alice", 200, "the page"},
	} {
		answer := get(t, readers, "/rollout", c.header, c.token)
		if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.body) {
			t.Errorf("%s %s: %d %s", c.header, c.token, answer.Code, answer.Body)
		}
	}
	if server.reviews != 3 {
		t.Errorf("%d reviews of three tokens", server.reviews)
	}

	// A result is valid for a minute. After that, the permissions of the token's owner are unknown without an API
	// server.
	server.set(func() { server.mayRead = "bob" })
	if answer := get(t, readers, "/", readerTokenHeader, "alice"); answer.Code != 200 {
		t.Errorf("forgotten too early: %d", answer.Code)
	}
	clock.Step(answerAge)
	server.set(func() { server.isAway = true })
	if answer := get(t, readers, "/", readerTokenHeader, "alice"); answer.Code != 503 {
		t.Errorf("%d without an API server", answer.Code)
	}
	server.set(func() { server.isAway = false })
	if answer := get(t, readers, "/", readerTokenHeader, "alice"); answer.Code != 403 {
		t.Errorf("%d without the right", answer.Code)
	}

	last := 0
	for i := range 2 * reviewsPerSecond {
		last = get(t, readers, "/", readerTokenHeader, fmt.Sprint("guess-", i)).Code
	}
	if last != 429 {
		t.Errorf("%d after many guesses in a second", last)
	}
}

func TestAStreamEndsWhenItsPermissionIsRevoked(t *testing.T) {
	server, clock := newReviewer(t), clocktesting.NewFakeClock(time.Now())
	ended := make(chan struct{})
	readers := newReaders(kubernetes.NewForConfigOrDie(server.config()), clock, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(ended)
	}))
	go get(t, readers, "/rollout?watch=true", readerTokenHeader, "alice")
	eventually(t, "a stream", clock.HasWaiters)
	server.set(func() { server.mayRead = "" })
	clock.Step(answerAge)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the stream goes on without the right")
	}
}

func TestTheLeaderAnnouncesItsSecurePage(t *testing.T) {
	server := newReviewer(t)
	server.conflicts = 2
	elected := make(chan struct{})
	manager := &Manager{log: testr.New(t), keys: Keys{Domain: "nvidia.com", Driver: "gpu"}}
	page, err := manager.NewSecurePage(server.config(), SecurePageOptions{Address: "127.0.0.1:0", Elected: elected, Namespace: "gpu-operator",
		Lease: types.NamespacedName{Namespace: "gpu-operator", Name: "election"}, DriverLabels: map[string]string{"app": "driver"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- page.Start(ctx) }()

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	address := page.listener.Addr().String()
	request, _ := http.NewRequest(http.MethodGet, "https://"+address+"/", nil)
	for token, status := range map[string]int{"": 401, "alice": 200} {
		request.Header.Set(readerTokenHeader, token)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if _ = response.Body.Close(); response.StatusCode != status {
			t.Errorf("%q: %d", token, response.StatusCode)
		}
	}

	if found := server.annotation(); found != "" {
		t.Error("a replica that does not lead announces " + found)
	}
	close(elected)
	eventually(t, "an announcement", func() bool { return server.annotation() != "" })
	wanted := fmt.Sprintf(`{"driverLabels":"app=driver","namespace":"gpu-operator","rolloutPort":%s}`, address[strings.LastIndex(address, ":")+1:])
	if found := server.annotation(); found != wanted {
		t.Errorf("announced %s instead of %s", found, wanted)
	}
	client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWithoutAnAddressThereIsNoSecurePage(t *testing.T) {
	manager := &Manager{log: testr.New(t)}
	for _, address := range []string{"", "0"} {
		page, err := manager.NewSecurePage(&rest.Config{Host: "http://127.0.0.1:1"}, SecurePageOptions{Address: address, Elected: make(chan struct{})})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		if err := page.Start(ctx); err != nil || page.listener != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
}
