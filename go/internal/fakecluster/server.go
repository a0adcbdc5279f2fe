// Package fakecluster provides an API server for tests, with a few nodes and their driver. It supports lists, watches,
// merge patches, evictions and deletions, and also acts as the DaemonSet controller.
package fakecluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// Object is a JSON object.
type Object = map[string]any

type event struct {
	version  int
	resource string
	line     []byte
	object   Object
}

// Request is a request to which the server has responded. A watch with Initial starts with all objects, like a list.
type Request struct {
	Verb, Path string
	Watch      bool
	Initial    bool
}

// IsList reports whether the request was for all objects of a kind.
func (r Request) IsList() bool { return r.Verb == http.MethodGet && (!r.Watch || r.Initial) }

// Cluster is a fake cluster. The caller must close it.
type Cluster struct {
	server *httptest.Server // nil before the first call of Config

	mu       sync.Mutex
	version  int
	objects  map[string]map[string]Object // by resource, and namespace/name
	events   []event
	news     chan struct{} // closed at the next event
	requests []Request
	closing  chan struct{}
	drivers  []*driver
	uids     int
	before   func(verb, path string) bool
	unready  bool // new driver pods are not ready
	oldest   int  // oldest version from which a watch can start
	outage   bool // watches end, and lists wait for the end of the outage
	old      bool // acts like servers before Kubernetes 1.32
	ended    int  // version at which all watches were ended
	watches  int  // number of open watches
	broken   int  // how often the connections of all watches were broken
	held     string
	lag      func(resource string) time.Duration

	templateless int // revision of the first driver whose ControllerRevision has no template
}

// Namespace is the driver's namespace.
const Namespace = "gpu-operator"

var apiOf = map[string][2]string{
	"nodes": {"v1", "Node"}, "pods": {"v1", "Pod"}, "daemonsets": {"apps/v1", "DaemonSet"},
	"controllerrevisions": {"apps/v1", "ControllerRevision"}, "nodemaintenances": {"maintenance.nvidia.com/v1alpha1", "NodeMaintenance"},
	"configmaps": {"v1", "ConfigMap"},
}

// New creates a cluster without nodes, with a driver of revision 1.
func New() *Cluster { return NewOwned("") }

// NewOwned creates a cluster without nodes, with a driver for each owner.
func NewOwned(owners ...string) *Cluster {
	c := &Cluster{objects: map[string]map[string]Object{}, news: make(chan struct{}), closing: make(chan struct{})}
	for _, owner := range owners {
		of := &driver{owner: owner}
		c.drivers = append(c.drivers, of)
		c.put("daemonsets", of.daemonSet())
	}
	c.NewDriver()
	return c
}

// Close stops the server and ends all watches.
func (c *Cluster) Close() {
	close(c.closing)
	if c.server != nil {
		c.server.Close()
	}
}

// Config returns a client configuration without a rate limit.
func (c *Cluster) Config() *rest.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		c.server = httptest.NewServer(http.HandlerFunc(c.serve))
	}
	return &rest.Config{Host: c.server.URL, QPS: -1}
}

// Requests returns the requests that the server has accepted. A watch is one request, which is counted at its start.
func (c *Cluster) Requests() []Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// SetOld makes the server refuse watches that start with a list, like servers before Kubernetes 1.32.
func (c *Cluster) SetOld() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.old = true
}

// EndWatches ends all open watches, as servers do after some minutes. The last event of each watch is a bookmark.
func (c *Cluster) EndWatches() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	c.ended = c.version
	c.events = append(c.events, event{version: c.version})
	close(c.news)
	c.news = make(chan struct{})
}

// BreakWatches breaks the connections of all open watches, as a crash of the server does.
func (c *Cluster) BreakWatches() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.breakWatchesLocked()
}

func (c *Cluster) breakWatchesLocked() {
	c.broken++
	close(c.news)
	c.news = make(chan struct{})
}

// Save returns a function that restores the cluster to the current state, as if etcd were restored from a backup. The
// connections of all watches break, and resource versions are used a second time.
func (c *Cluster) Save() (restore func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	version, uids, objects := c.version, c.uids, cloneAll(c.objects)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.version, c.uids, c.objects, c.events = version, uids, cloneAll(objects), slices.Clone(c.events[:version])
		c.breakWatchesLocked()
	}
}

func cloneAll(of map[string]map[string]Object) map[string]map[string]Object {
	all := map[string]map[string]Object{}
	for resource, objects := range of {
		all[resource] = map[string]Object{}
		for key, object := range objects {
			all[resource][key] = clone(object)
		}
	}
	return all
}

// HoldWatches keeps the watches of a resource from reporting changes until HoldWatches is called again with "" or
// another resource.
func (c *Cluster) HoldWatches(resource string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = resource
	close(c.news)
	c.news = make(chan struct{})
}

// SetLag makes each watch sleep for lag(resource) before it sends its next changes. Several watches may call lag at the same time.
func (c *Cluster) SetLag(lag func(resource string) time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = lag
}

// OpenWatches returns the number of open watches.
func (c *Cluster) OpenWatches() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches
}

// Version returns the version of the last change.
func (c *Cluster) Version() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Writes returns the number of writes among the requests.
func (c *Cluster) Writes() int {
	writes := 0
	for _, request := range c.Requests() {
		if request.Verb != http.MethodGet {
			writes++
		}
	}
	return writes
}

func (c *Cluster) put(resource string, object Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putLocked(resource, object)
}

func meta(object Object) Object { return object["metadata"].(Object) }

func text(of Object, key string) string {
	value, _ := of[key].(string)
	return value
}

func keyOf(object Object) string {
	return text(meta(object), "namespace") + "/" + text(meta(object), "name")
}

func (c *Cluster) putLocked(resource string, object Object) {
	kind := "MODIFIED"
	known := c.objects[resource]
	if known == nil {
		known = map[string]Object{}
		c.objects[resource] = known
	}
	if known[keyOf(object)] == nil {
		kind = "ADDED"
	}
	if text(meta(object), "uid") == "" {
		c.uids++
		meta(object)["uid"] = fmt.Sprintf("uid-%d", c.uids)
	}
	object["apiVersion"], object["kind"] = apiOf[resource][0], apiOf[resource][1]
	if reflect.DeepEqual(known[keyOf(object)], object) {
		return // an API server creates a new version and a watch event only if a write changes something
	}
	known[keyOf(object)] = object
	c.tell(resource, kind, object)
}

func (c *Cluster) deleteLocked(resource, key string) {
	object := c.objects[resource][key]
	if object == nil {
		return
	}
	delete(c.objects[resource], key)
	c.tell(resource, "DELETED", object)
}

func (c *Cluster) tell(resource, kind string, object Object) {
	c.version++
	meta(object)["resourceVersion"] = strconv.Itoa(c.version)
	line, err := json.Marshal(Object{"type": kind, "object": object})
	if err != nil {
		panic(err)
	}
	c.events = append(c.events, event{c.version, resource, append(line, '\n'), clone(object)})
	close(c.news)
	c.news = make(chan struct{})
}

func clone(object Object) Object {
	var copied Object
	text, _ := json.Marshal(object)
	_ = json.Unmarshal(text, &copied)
	return copied
}

// MissedByWatches makes a change that no watch reports: watches end before the change, and cannot resume after the
// change because their version has expired.
func (c *Cluster) MissedByWatches(happens func()) {
	set := func(outage bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.outage = outage
		c.oldest = c.version
		close(c.news)
		c.news = make(chan struct{})
	}
	set(true)
	happens()
	set(false)
}

// ----- requests

// SetBefore sets a function that is called before each engine request is carried out. If the function returns false,
// the request is refused with 503.
func (c *Cluster) SetBefore(before func(verb, path string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = before
}

func (c *Cluster) hook() func(verb, path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.before
}

func (c *Cluster) serve(w http.ResponseWriter, r *http.Request) {
	resource, namespace, name, sub := parse(r.URL.Path)
	watches := r.URL.Query().Get("watch") != ""
	initial := watches && r.URL.Query().Get("sendInitialEvents") == "true"
	if before := c.hook(); before != nil && r.Method != http.MethodGet && !before(r.Method, r.URL.Path) {
		c.fail(w, http.StatusServiceUnavailable, "ServiceUnavailable")
		return
	}
	c.mu.Lock()
	refused := initial && c.old
	if !refused {
		c.requests = append(c.requests, Request{r.Method, r.URL.Path, watches, initial})
	}
	c.mu.Unlock()
	switch {
	case refused:
		c.fail(w, http.StatusUnprocessableEntity, "Invalid")
	case r.Method == http.MethodGet && watches:
		c.watch(w, r, resource, namespace, initial)
	case r.Method == http.MethodGet && name != "":
		c.get(w, resource, namespace+"/"+name)
	case r.Method == http.MethodGet:
		c.list(w, r, resource, namespace)
	case r.Method == http.MethodPatch:
		c.patch(w, r, resource, namespace+"/"+name)
	case r.Method == http.MethodPost && name == "":
		c.create(w, r, resource, namespace)
	case r.Method == http.MethodPost && sub == "eviction", r.Method == http.MethodDelete:
		c.remove(w, r, resource, namespace+"/"+name)
	default:
		c.fail(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

// parse splits paths such as /api/v1/nodes/n, /apis/apps/v1/namespaces/ns/daemonsets, and
// /api/v1/namespaces/ns/pods/p/eviction.
func parse(path string) (resource, namespace, name, sub string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	rest := parts[2:]
	if parts[0] == "apis" {
		rest = parts[3:]
	}
	if rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	rest = append(rest, "", "")
	return rest[0], namespace, rest[1], rest[2]
}

func (c *Cluster) fail(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(Object{"kind": "Status", "apiVersion": "v1", "metadata": Object{}, "status": "Failure",
		"reason": reason, "message": reason, "code": code})
}

func (c *Cluster) answer(w http.ResponseWriter, object Object) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(object)
}

func matches(r *http.Request, namespace string, object Object) bool {
	if namespace != "" && text(meta(object), "namespace") != namespace {
		return false
	}
	if node, found := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "spec.nodeName="); found {
		if spec, _ := object["spec"].(Object); text(spec, "nodeName") != node {
			return false
		}
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return false
	}
	of := labels.Set{}
	found, _ := meta(object)["labels"].(Object)
	for key := range found {
		of[key] = text(found, key)
	}
	return selector.Matches(of)
}

// found waits for the end of an outage, and returns the objects that the request selects. The caller holds the lock.
func (c *Cluster) found(r *http.Request, resource, namespace string) []any {
	for c.outage {
		news := c.news
		c.mu.Unlock()
		select {
		case <-news:
		case <-c.closing:
		}
		c.mu.Lock()
	}
	items := []any{}
	for _, object := range c.objects[resource] {
		if matches(r, namespace, object) {
			items = append(items, object)
		}
	}
	return items
}

// lookUp returns an object. If the object does not exist, lookUp responds with 404 and returns nil. The caller holds
// the lock.
func (c *Cluster) lookUp(w http.ResponseWriter, resource, key string) Object {
	object := c.objects[resource][key]
	if object == nil {
		c.fail(w, http.StatusNotFound, "NotFound")
	}
	return object
}

func (c *Cluster) get(w http.ResponseWriter, resource, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if object := c.lookUp(w, resource, key); object != nil {
		c.answer(w, object)
	}
}

// ConfigMap returns the data of a ConfigMap in Namespace; nil if there is no such ConfigMap.
func (c *Cluster) ConfigMap(name string) Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	object := c.objects["configmaps"][Namespace+"/"+name]
	data, _ := object["data"].(Object)
	return clone(data)
}

// SetConfigMap stores a ConfigMap with this data in Namespace.
func (c *Cluster) SetConfigMap(name string, data Object) {
	c.put("configmaps", Object{"metadata": Object{"name": name, "namespace": Namespace}, "data": data})
}

func (c *Cluster) list(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	items := c.found(r, resource, namespace)
	c.answer(w, Object{"apiVersion": apiOf[resource][0], "kind": apiOf[resource][1] + "List",
		"metadata": Object{"resourceVersion": strconv.Itoa(c.version)}, "items": items})
}

func bookmark(resource string, version int, annotations Object) Object {
	return Object{"type": "BOOKMARK", "object": Object{"apiVersion": apiOf[resource][0], "kind": apiOf[resource][1],
		"metadata": Object{"resourceVersion": strconv.Itoa(version), "annotations": annotations}}}
}

// begin sends all objects at the start of a watch, and returns their version.
func (c *Cluster) begin(w io.Writer, r *http.Request, resource, namespace string) (version int) {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	c.mu.Lock()
	for _, object := range c.found(r, resource, namespace) {
		_ = lines.Encode(Object{"type": "ADDED", "object": object})
	}
	version = c.version
	c.mu.Unlock()
	_ = lines.Encode(bookmark(resource, version, Object{"k8s.io/initial-events-end": "true"}))
	_, _ = text.WriteTo(w)
	return version
}

func (c *Cluster) watch(w http.ResponseWriter, r *http.Request, resource, namespace string, initial bool) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	c.mu.Lock()
	expired, broken := !initial && (c.outage || from < c.oldest), c.broken
	c.watches++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.watches--
	}()
	if expired {
		c.fail(w, http.StatusGone, "Expired")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	if initial {
		from = c.begin(w, r, resource, namespace)
	}
	w.(http.Flusher).Flush()
	for began := from; ; {
		c.mu.Lock()
		events, news, over, ended := c.events[min(from, len(c.events)):], c.news, c.outage || from < c.oldest, c.ended // the n-th event has version n
		if c.held == resource {
			events = nil
		}
		lag, breaks := c.lag, c.broken != broken
		c.mu.Unlock()
		if breaks {
			panic(http.ErrAbortHandler)
		}
		if over {
			return
		}
		if lag != nil && len(events) > 0 {
			time.Sleep(lag(resource))
		}
		for _, one := range events {
			if one.resource == resource && matches(r, namespace, one.object) {
				_, _ = w.Write(one.line)
			}
			from = one.version
		}
		if ended > began {
			_ = json.NewEncoder(w).Encode(bookmark(resource, from, nil))
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-news:
		case <-r.Context().Done():
			return
		case <-c.closing:
			return
		}
	}
}

func merge(into, patch Object) {
	for key, value := range patch {
		inner, isObject := value.(Object)
		target, has := into[key].(Object)
		switch {
		case value == nil:
			delete(into, key)
		case isObject && has:
			merge(target, inner)
		case isObject:
			target = Object{}
			merge(target, inner)
			into[key] = target
		default:
			into[key] = value
		}
	}
}

func (c *Cluster) patch(w http.ResponseWriter, r *http.Request, resource, key string) {
	var patch Object
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &patch); err != nil {
		c.fail(w, http.StatusBadRequest, "BadRequest")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	object := c.lookUp(w, resource, key)
	if object == nil {
		return
	}
	if wanted, _ := patch["metadata"].(Object); wanted != nil {
		for _, member := range []string{"uid", "resourceVersion"} {
			if value := text(wanted, member); value != "" && value != text(meta(object), member) {
				c.fail(w, http.StatusConflict, "Conflict")
				return
			}
		}
	}
	changed := clone(object)
	merge(changed, patch)
	c.putLocked(resource, changed)
	c.answer(w, changed)
}

func (c *Cluster) create(w http.ResponseWriter, r *http.Request, resource, namespace string) {
	var object Object
	if err := json.NewDecoder(r.Body).Decode(&object); err != nil {
		c.fail(w, http.StatusBadRequest, "BadRequest")
		return
	}
	meta(object)["namespace"] = namespace
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[resource][keyOf(object)] != nil {
		c.fail(w, http.StatusConflict, "AlreadyExists")
		return
	}
	c.putLocked(resource, object)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(object)
}

func (c *Cluster) remove(w http.ResponseWriter, r *http.Request, resource, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	object := c.lookUp(w, resource, key)
	if object == nil {
		return
	}
	c.deleteLocked(resource, key)
	if labels, _ := meta(object)["labels"].(Object); resource == "pods" && text(labels, "app") == "driver" {
		c.addDriverPod(text(object["spec"].(Object), "nodeName"))
	}
	c.answer(w, Object{"kind": "Status", "apiVersion": "v1", "metadata": Object{}, "status": "Success"})
}
