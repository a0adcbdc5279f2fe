package upgrade

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// The API server's proxy to pods removes the Authorization header, but passes this header on.
	readerTokenHeader = "X-Driver-Upgrade-Token"
	rolloutPath       = "/rollout"
	answerAge         = time.Minute // time for which the result for a token is cached
	answersMax        = 256
	reviewsPerSecond  = 10
	announceAgain     = 5 * time.Second // pause after a failed announcement
	// Key of the annotation that an operator adds to the Lease that it holds. The value describes the operator's
	// options.
	optionsAnnotationKeyFmt = keyDomain + "%s-driver-upgrade.options"
)

// SecurePageOptions configures a SecurePage: its address, this replica, and the data that the leader announces.
type SecurePageOptions struct {
	// Address is the address of the page, such as ":8443". If it is empty or "0", the page is not served.
	Address string
	// Replica is the name of this replica.
	Replica string
	// Elected is closed when this replica becomes the leader, like the channel that the Elected method of
	// controller-runtime's manager returns. It must not be nil.
	Elected <-chan struct{}
	// Lease is the Lease of the leader election. Its holder identity must start with the name of the pod, as in
	// controller-runtime.
	Lease types.NamespacedName
	// Namespace is the namespace of the driver's DaemonSets, and DriverLabels select them.
	Namespace    string
	DriverLabels map[string]string
}

// SecurePage serves the rollout page over the network with TLS, as the native operators do with
// --rollout-secure-address. Clients need a bearer token whose owner may `get` the non-resource URL /rollout. The leader
// announces the port in an annotation of its Lease. `upgradectl` uses this annotation to find the page, and connects to
// the page through the API server.
//
// The operator needs `create` on tokenreviews and subjectaccessreviews (deploy/rbac/viewer), and `get` and `update` on the Lease.
//
//	page, err := states.NewSecurePage(config, upgrade.SecurePageOptions{Address: ":8443", Elected: operator.Elected(), ...})
//	err = operator.Add(page)
type SecurePage struct {
	log      logr.Logger
	keys     Keys
	options  SecurePageOptions
	client   kubernetes.Interface
	listener net.Listener // nil: no page
	server   *http.Server
}

// NewSecurePage creates a page and starts listening on its address. Start serves the page.
func (m *Manager) NewSecurePage(config *rest.Config, options SecurePageOptions) (*SecurePage, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("the rollout page: %w", err)
	}
	leads := func() bool {
		select {
		case <-options.Elected:
			return true
		default:
			return false
		}
	}
	page := m.Handler(PageOptions{Leader: leads, Replica: options.Replica})
	made := &SecurePage{log: m.log, keys: m.Keys(), options: options, client: client,
		server: &http.Server{Handler: newReaders(client, clock.RealClock{}, page), ReadHeaderTimeout: 10 * time.Second}}
	if options.Address != "" && options.Address != "0" {
		made.listener, err = listen(options.Address)
	}
	return made, err
}

// listen uses a self-signed certificate, which enables encryption but does not prove the server's identity. This is
// sufficient because upgradectl connects through the API server.
func listen(address string) (net.Listener, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("driver-upgrade", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("the certificate of the rollout page: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate of the rollout page: %w", err)
	}
	listener, err := tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, fmt.Errorf("the rollout page: %w", err)
	}
	return listener, nil
}

// NeedLeaderElection returns false, so that controller-runtime serves the page on every replica.
func (p *SecurePage) NeedLeaderElection() bool { return false }

// Start serves the page until ctx is done.
func (p *SecurePage) Start(ctx context.Context) error {
	if p.listener == nil {
		<-ctx.Done()
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	announced, closed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(announced)
		p.announceOnceElected(ctx)
	}()
	go func() {
		defer close(closed)
		<-ctx.Done()
		_ = p.server.Close() // streams do not end on their own
	}()
	err := p.server.Serve(p.listener)
	stop()
	<-announced
	<-closed
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the rollout page: %w", err)
	}
	return nil
}

func (p *SecurePage) announceOnceElected(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-p.options.Elected:
	}
	err := wait.PollUntilContextCancel(ctx, announceAgain, true, func(ctx context.Context) (bool, error) {
		err := p.announce(ctx)
		if err != nil {
			p.log.Error(err, "failed to announce the rollout page; upgradectl cannot find it", "lease", p.options.Lease)
		}
		return err == nil || apierrors.IsNotFound(err), nil // without an election there is no Lease
	})
	if err == nil {
		p.log.V(1).Info("announced the rollout page", "lease", p.options.Lease)
	}
}

// announce writes the operator's options to an annotation of the Lease, as native operators do. The annotation survives
// renewals of the Lease.
func (p *SecurePage) announce(ctx context.Context) error {
	value, err := json.Marshal(map[string]any{"namespace": p.options.Namespace, "driverLabels": labels.Set(p.options.DriverLabels).String(),
		"rolloutPort": p.listener.Addr().(*net.TCPAddr).Port})
	if err != nil {
		return err
	}
	leases := p.client.CoordinationV1().Leases(p.options.Lease.Namespace)
	// The Lease may be renewed between the two requests.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		lease, err := leases.Get(ctx, p.options.Lease.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, p.keys.of(optionsAnnotationKeyFmt), string(value))
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	})
}

// readers admits only clients that may read the page.
type readers struct {
	client  kubernetes.Interface
	clock   clock.WithTicker
	next    http.Handler
	limit   flowcontrol.RateLimiter
	answers *lru.Cache // maps the digest of a token to an `answer`
}

type answer struct {
	status int // an HTTP status
	reason string
	at     time.Time
}

func newReaders(client kubernetes.Interface, clock clock.WithTicker, next http.Handler) *readers {
	return &readers{client: client, clock: clock, next: next, answers: lru.New(answersMax),
		limit: flowcontrol.NewTokenBucketRateLimiterWithClock(reviewsPerSecond, reviewsPerSecond, clock)}
}

func (r *readers) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	token := tokenOf(request)
	if found := r.check(request.Context(), token); found.status != http.StatusOK {
		switch found.status {
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		case http.StatusTooManyRequests:
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, found.reason, found.status)
		return
	}
	// The client may lose its permission during a stream.
	ctx, stop := context.WithCancel(request.Context())
	defer stop()
	if request.URL.Query().Get("watch") == "true" {
		go r.stopWithoutRight(ctx, stop, token)
	}
	r.next.ServeHTTP(w, request.WithContext(ctx))
}

func (r *readers) stopWithoutRight(ctx context.Context, stop context.CancelFunc, token string) {
	ticker := r.clock.NewTicker(answerAge)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if r.check(ctx, token).status != http.StatusOK {
				stop()
			}
		}
	}
}

func tokenOf(request *http.Request) string {
	if token := request.Header.Get(readerTokenHeader); token != "" {
		return token
	}
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func (r *readers) check(ctx context.Context, token string) answer {
	if token == "" {
		return answer{status: http.StatusUnauthorized, reason: "no token"}
	}
	key, now := sha256.Sum256([]byte(token)), r.clock.Now()
	if known, ok := r.answers.Get(key); ok {
		if found := known.(answer); now.Sub(found.at) < answerAge && !now.Before(found.at) {
			return found
		}
	}
	if !r.limit.TryAccept() {
		return answer{status: http.StatusTooManyRequests, reason: "too many tokens are being reviewed: try again"}
	}
	found, err := r.review(ctx, token)
	if err != nil {
		return answer{status: http.StatusServiceUnavailable, reason: err.Error()}
	}
	found.at = now
	r.answers.Add(key, found)
	return found
}

// review checks with the API server whether the token's owner may read the page. It returns an error if it cannot find
// out.
func (r *readers) review(ctx context.Context, token string) (answer, error) {
	who, err := r.client.AuthenticationV1().TokenReviews().Create(ctx,
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return answer{}, fmt.Errorf("create TokenReview: %w", err)
	}
	if !who.Status.Authenticated {
		return answer{status: http.StatusUnauthorized, reason: "the token is not valid"}, nil
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := r.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: rolloutPath, Verb: "get"}}}, metav1.CreateOptions{})
	if err != nil {
		return answer{}, fmt.Errorf("create SubjectAccessReview: %w", err)
	}
	if !may.Status.Allowed {
		return answer{status: http.StatusForbidden, reason: user.Username + " may not get " + rolloutPath}, nil
	}
	return answer{status: http.StatusOK}, nil
}
