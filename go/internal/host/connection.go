// Package host runs an engine inside an operator. It passes watched objects to the engine, sends the engine's requests,
// and reapplies each order whenever something changes.
package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	maintenancev1alpha1 "github.com/Mellanox/maintenance-operator/api/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"driverupgrade.example/go/internal/engine"
)

const (
	requestTimeout = 10 * time.Second
	parallelMax    = 32       // concurrent requests
	bodyMax        = 64 << 20 // bytes of a response, as in native engines; the longest is a list of all nodes
)

// Connection is a connection to an API server. The clients for watches and for the engine's requests share one HTTP
// client, and the rate limit of the rest.Config.
type Connection struct {
	core         kubernetes.Interface
	maintenances rest.Interface
	resources    rest.Interface // resource.k8s.io/v1, untyped: DeviceTaintRule is newer than the module's Kubernetes libraries
	parameters   runtime.ParameterCodec
	client       *http.Client
	base         *url.URL
	queue        *queue
	listTimeout  time.Duration // Timeout of the rest.Config, for lists; zero: no limit
	streams      atomic.Bool   // true until the server refuses a watch that starts with a list

	mu   sync.Mutex
	sent map[string]int64 // number of the engine's requests by verb
}

// Connect creates the clients, and sends no request. scheme must contain NodeMaintenance.
func Connect(config *rest.Config, scheme *runtime.Scheme) (*Connection, error) {
	if config == nil {
		return nil, errors.New("the rest.Config is nil")
	}
	config = rest.CopyConfig(config)
	config.RateLimiter = limiterOf(config)
	config.Wrap(noticeBrokenStreams)
	listTimeout := config.Timeout
	config.Timeout = 0 // an HTTP client would also apply the timeout to watches, and break each of them when it expires
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent() // Go's own default does not name the program
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	typed := rest.CopyConfig(config)
	typed.ContentType, typed.AcceptContentTypes = runtime.ContentTypeProtobuf, "application/vnd.kubernetes.protobuf,application/json"
	core, err := kubernetes.NewForConfigAndClient(typed, client)
	if err != nil {
		return nil, err
	}
	custom := rest.CopyConfig(config)
	custom.ContentType, custom.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	custom.APIPath = "/apis"
	custom.GroupVersion = &maintenancev1alpha1.GroupVersion
	custom.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	maintenances, err := rest.RESTClientForConfigAndClient(custom, client)
	if err != nil {
		return nil, err
	}
	untyped := dynamic.ConfigFor(config)
	untyped.APIPath = "/apis"
	untyped.GroupVersion = &schema.GroupVersion{Group: "resource.k8s.io", Version: "v1"}
	resources, err := rest.RESTClientForConfigAndClient(untyped, client)
	if err != nil {
		return nil, err
	}
	made := &Connection{core: core, maintenances: maintenances, resources: resources, parameters: runtime.NewParameterCodec(scheme), client: client,
		listTimeout: listTimeout, base: base, queue: newQueue(config.RateLimiter, parallelMax), sent: map[string]int64{}}
	made.streams.Store(true)
	return made, nil
}

// limiterOf returns the limiter that client-go would create for the same configuration.
func limiterOf(config *rest.Config) flowcontrol.RateLimiter {
	if config.RateLimiter != nil {
		return config.RateLimiter
	}
	qps, burst := config.QPS, config.Burst
	if qps == 0 {
		qps = rest.DefaultQPS
	}
	if burst == 0 {
		burst = rest.DefaultBurst
	}
	if qps < 0 {
		return nil
	}
	return flowcontrol.NewTokenBucketRateLimiter(qps, burst)
}

// Sent returns the number of requests sent for the engine, by verb.
func (c *Connection) Sent() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := map[string]int64{}
	for verb, count := range c.sent {
		counts[verb] = count
	}
	return counts
}

// Waiting returns the number of the engine's requests that wait for their turn.
func (c *Connection) Waiting() int { return c.queue.waiting() }

// answer is the result of a request that the engine wants to send. status is the HTTP status, engine.NoAnswer, or
// engine.NotSent.
type answer struct {
	status     int
	retryAfter time.Duration
	body       []byte
	err        error // reason why there is no HTTP status
}

// send waits for the request's turn in the queue, and then sends the request. If ctx or queued is done first, the
// request is not sent. Once the request is on its way, only ctx can cancel it. send calls sending just before it sends
// the request.
func (c *Connection) send(ctx, queued context.Context, request engine.Request, urgent bool, sending func()) answer {
	queued, forget := context.WithCancel(queued)
	defer forget()
	defer context.AfterFunc(ctx, forget)()
	done, err := c.queue.wait(queued, urgent)
	if err != nil {
		return answer{status: engine.NotSent, err: err}
	}
	defer done()
	if err := errors.Join(ctx.Err(), queued.Err()); err != nil {
		return answer{status: engine.NotSent, err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	made, err := c.request(ctx, request)
	if err != nil {
		return answer{status: engine.NotSent, err: err}
	}
	c.mu.Lock()
	c.sent[request.Verb]++
	c.mu.Unlock()
	sending()
	response, err := c.client.Do(made)
	if err != nil {
		return answer{status: unanswered(err), err: err}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, bodyMax+1)) // the extra byte shows that the response is too long
	if err == nil && len(body) > bodyMax {
		err = fmt.Errorf("the response is longer than %d MiB", bodyMax>>20)
	}
	if err != nil {
		return answer{status: engine.NoAnswer, err: err}
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return answer{status: response.StatusCode, retryAfter: time.Duration(max(seconds, 0)) * time.Second, body: body}
}

func (c *Connection) request(ctx context.Context, request engine.Request) (*http.Request, error) {
	target, err := url.Parse(request.Target)
	if err != nil {
		return nil, fmt.Errorf("the target of a request: %w", err)
	}
	whole := *c.base // may have a path, for example behind a gateway
	whole.Path = strings.TrimSuffix(c.base.Path, "/") + target.Path
	whole.RawPath = strings.TrimSuffix(c.base.EscapedPath(), "/") + target.EscapedPath()
	whole.RawQuery = target.RawQuery
	made, err := http.NewRequestWithContext(ctx, request.Verb, whole.String(), bytes.NewReader([]byte(request.Body)))
	if err != nil {
		return nil, err
	}
	made.Header.Set("Accept", cmp.Or(request.Accept, runtime.ContentTypeJSON))
	if request.ContentType != "" {
		made.Header.Set("Content-Type", request.ContentType)
	}
	return made, nil
}

// unanswered returns engine.NotSent if no connection was established. After any other error, the server may have
// received the request.
func unanswered(err error) int {
	var failed *net.OpError
	if errors.As(err, &failed) && failed.Op == "dial" {
		return engine.NotSent
	}
	return engine.NoAnswer
}
