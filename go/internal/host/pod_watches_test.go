package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"driverupgrade.example/go/internal/engine"
)

// interested is an engine that needs the pods of the nodes that a test names. Like a real engine, it does not take pods
// that are older than the node's cordon.
type interested struct {
	engine.Engine
	*interest
}

type interest struct {
	mu     sync.Mutex
	nodes  []string
	cordon map[string]int      // version of the cordon
	pods   map[string][]string // names of the known pods
	puts   map[string]int      // number of lists that were taken
	uses   map[string]engine.UsesDriver
	unread []string // nodes whose pods were reported as unknown
	reject string   // node whose next list is rejected
}

func (e interested) Apply(nodes, policy []byte, now time.Time) (engine.Pass, error) {
	found, err := e.Engine.Apply(nodes, policy, now)
	e.mu.Lock()
	defer e.mu.Unlock()
	found.PodInterest, found.WantedPods, found.Work = slices.Clone(e.nodes), nil, nil
	for _, node := range e.nodes {
		if _, known := e.pods[node]; !known {
			found.WantedPods = append(found.WantedPods, node)
		}
	}
	return found, err
}

func (e interested) PutPods(node string, list []byte, uses engine.UsesDriver) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if list == nil {
		e.unread = append(e.unread, node)
		return false, nil
	}
	if node == e.reject {
		e.reject = ""
		return false, errors.New("a pod cannot be read")
	}
	var of struct {
		Metadata struct{ ResourceVersion string }
		Items    []struct{ Metadata struct{ Name string } }
	}
	if err := json.Unmarshal(list, &of); err != nil {
		return false, err
	}
	if version, _ := strconv.Atoi(of.Metadata.ResourceVersion); version < e.cordon[node] {
		return false, nil
	}
	names := []string{}
	for _, pod := range of.Items {
		if !strings.HasPrefix(pod.Metadata.Name, "driver-") {
			names = append(names, pod.Metadata.Name)
		}
	}
	slices.Sort(names)
	e.pods[node] = names
	e.puts[node]++
	e.uses[node] = uses
	return true, nil
}

// need changes the nodes whose pods the engine needs.
func (e *interest) need(nodes ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for node := range e.pods {
		if !slices.Contains(nodes, node) {
			delete(e.pods, node)
		}
	}
	e.nodes = nodes
}

// void makes the engine forget the pods, as a cordon at this version does.
func (e *interest) void(node string, version int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cordon[node] = version
	delete(e.pods, node)
}

func (e *interest) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, node := range e.nodes {
		if pods, known := e.pods[node]; known {
			lines = append(lines, fmt.Sprint(node, pods))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// podWorld is a host whose engine needs the pods of nodes.
type podWorld struct {
	*virtual
	*interest
	t    *testing.T
	work map[string][]string // names of the pods on each node
}

func newInterest() *interest {
	return &interest{cordon: map[string]int{}, pods: map[string][]string{}, puts: map[string]int{}, uses: map[string]engine.UsesDriver{}}
}

func newPodWorld(t *testing.T, nodes int, options Options) *podWorld {
	t.Helper()
	w := &podWorld{t: t, work: map[string][]string{}, interest: newInterest()}
	options.Engine = func(options engine.Options) (engine.Engine, error) {
		made, err := engine.New(options)
		return interested{made, w.interest}, err
	}
	w.virtual = newVirtual(t, nodes, options)
	for i := range nodes {
		w.add(nodeName(i), fmt.Sprintf("first-%d", i))
	}
	if _, _, err := w.Members(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Apply(t.Context(), Part{Nodes: first(nodes)}, []byte(`{"autoUpgrade":true}`), false); err != nil {
		t.Fatal(err)
	}
	return w
}

func first(nodes int) (names []string) {
	for i := range nodes {
		names = append(names, nodeName(i))
	}
	return names
}

func (w *podWorld) add(node, pod string) {
	w.cluster.AddWorkload(pod, node)
	w.work[node] = append(w.work[node], pod)
	slices.Sort(w.work[node])
}

func (w *podWorld) remove(node string) {
	if pods := w.work[node]; len(pods) > 0 {
		w.cluster.DeleteWorkload(pods[0])
		w.work[node] = pods[1:]
	}
}

// needs changes the interest, and waits until nothing happens any longer.
func (w *podWorld) needs(nodes int) {
	w.need(first(nodes)...)
	w.settles()
}

func (w *podWorld) settles() {
	w.ring()
	time.Sleep(2 * time.Minute)
	synctest.Wait()
}

// check compares the engine's pods with the cluster's.
func (w *podWorld) check(when string) {
	w.t.Helper()
	var lines []string
	for _, node := range w.nodes {
		lines = append(lines, fmt.Sprint(node, w.work[node]))
	}
	slices.Sort(lines)
	if got, want := w.text(), strings.Join(lines, " "); got != want {
		w.t.Errorf("%s: the engine has %s, the cluster %s", when, got, want)
	}
	if len(w.unread) > 0 {
		w.t.Errorf("%s: the pods of %s were unknown", when, w.unread)
	}
}

// podWatches returns the number of open watches on pods outside of the driver's namespace.
func (w *podWorld) podWatches() int { return w.cluster.OpenWatches() - len(w.sources) }

// podLists returns the number of lists of pods outside of the driver's namespace.
func (w *podWorld) podLists() (lists int) {
	for _, request := range w.cluster.Requests() {
		if request.Path == "/api/v1/pods" && request.IsList() {
			lists++
		}
	}
	return lists
}

func TestTheNumberOfPodWatchesIsLimited(t *testing.T) {
	for _, old := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newPodWorld(t, 40, Options{})
			defer w.end()
			if old {
				w.cluster.SetOld()
			}
			for _, step := range []struct{ nodes, watches int }{{3, 3}, {podWatchesMax, podWatchesMax}, {podWatchesMax + 1, 1}, {40, 1},
				{podWatchesAgain + 1, 1}, {podWatchesAgain, podWatchesAgain}, {podWatchesMax, podWatchesMax}, {40, 1}, {0, 0}} {
				w.needs(step.nodes)
				if watches := w.podWatches(); watches != step.watches {
					t.Errorf("%d watches for %d nodes", watches, step.nodes)
				}
				w.check(fmt.Sprintf("%d nodes", step.nodes))
				for i := range step.nodes {
					w.add(nodeName(i), fmt.Sprintf("later-%d-%d", i, len(w.work[nodeName(i)])))
				}
				w.settles()
				w.check(fmt.Sprintf("%d nodes with another pod", step.nodes))
			}
		})
	}
}

func TestPodsThatTheEngineRejectsArePassedToItAgain(t *testing.T) {
	for _, nodes := range []int{1, 20} {
		synctest.Test(t, func(t *testing.T) {
			w := newPodWorld(t, nodes, Options{})
			defer w.end()
			w.reject = nodeName(0)
			w.needs(nodes)
			if len(w.pods) != nodes || !slices.Equal(w.unread, []string{nodeName(0)}) {
				t.Errorf("the pods of %d of %d nodes are known; the pods of %v were unknown", len(w.pods), nodes, w.unread)
			}
			w.needs(0)
		})
	}
}

func TestAnotherNodeNeedsNoListOfAllPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPodWorld(t, 200, Options{})
		defer w.end()
		w.needs(150)
		before, taken := w.podLists(), w.puts[nodeName(0)]
		w.needs(165) // fewer than one node in ten
		if lists := w.podLists() - before; lists != 15 {
			t.Errorf("%d lists for 15 nodes", lists)
		}
		if w.podWatches() != 1 || w.puts[nodeName(0)] != taken {
			t.Errorf("%d watches, %d repetitions", w.podWatches(), w.puts[nodeName(0)]-taken)
		}
		w.add(nodeName(164), "later")
		w.settles()
		w.check("after a change to the last node")
		w.needs(199) // more than one node in ten
		if lists := w.podLists() - before; lists != 16 {
			t.Errorf("%d lists for 34 nodes", lists-15)
		}
		if w.podWatches() != 1 || w.puts[nodeName(0)] != taken {
			t.Errorf("%d watches, %d repetitions", w.podWatches(), w.puts[nodeName(0)]-taken)
		}
		w.check("after a list of all pods")
	})
}

func TestPodsOlderThanTheCordonAreListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPodWorld(t, 40, Options{})
		defer w.end()
		w.needs(40)
		before := w.podLists()
		w.add(nodeName(1), "later")
		w.settles()
		newest := w.cluster.Version()
		w.void(nodeName(0), newest) // the watch on all pods has shown this version
		w.settles()
		if lists := w.podLists() - before; lists != 0 {
			t.Errorf("%d needless lists", lists)
		}
		w.check("a cordon before the last change")
		w.cluster.SetLabel(nodeName(0), "a", "b")
		w.void(nodeName(0), newest+1)
		w.settles()
		if lists := w.podLists() - before; lists != 1 || w.podWatches() != 1 {
			t.Errorf("%d lists, %d watches", lists, w.podWatches())
		}
		w.check("a cordon after the last change")
	})
}

// history is a list of changes to the pods of a node.
type history []podChange

// at returns the pods after the change with this version.
func (h history) at(version int) (pods []*corev1.Pod) {
	found := map[string]*corev1.Pod{}
	for _, one := range h[:version] {
		delete(found, one.pod.Name)
		if !one.gone {
			found[one.pod.Name] = one.pod
		}
	}
	for _, pod := range found {
		pods = append(pods, pod)
	}
	return pods
}

// Each watch delivers a list and then the later changes; a watch may start with another list at any time.
func TestAFollowerMergesWatchesByVersion(t *testing.T) {
	for seed := range int64(1000) {
		random := rand.New(rand.NewSource(seed))
		var all history
		for version := 1; version <= 20; version++ {
			pod := newPod(fmt.Sprintf("p%d", random.Intn(4)), strconv.Itoa(version))
			all = append(all, podChange{pod, random.Intn(3) == 0})
		}
		put := newInterest()
		h := &Host{engine: interested{nil, put}, bell: make(chan struct{}, 1)}
		f := &podFollower{host: h, node: "n", pods: map[string]*knownPod{}}
		// The node joins the second watch, which delivers changes already. The first watch then starts with a list.
		positions, lists := []int{-1, random.Intn(len(all))}, []int{3, 2}
		for positions[0] < len(all) || positions[1] < len(all) {
			i := random.Intn(2)
			switch at := positions[i]; {
			case at < 0 || (at < len(all) && lists[i] > 0 && random.Intn(8) == 0):
				if at < 0 {
					at = positions[1] // the list is at least as new as the changes that the node has missed
				}
				lists[i]--
				positions[i] = at + random.Intn(len(all)-at+1)
				f.replace(all.at(positions[i]), strconv.Itoa(positions[i]))
			case at < len(all):
				f.change(all[at])
				positions[i]++
			}
		}
		want := []string{}
		for _, pod := range all.at(len(all)) {
			want = append(want, pod.Name)
		}
		slices.Sort(want)
		if !slices.Equal(put.pods["n"], want) {
			t.Fatalf("seed %d: %v, not %v", seed, put.pods["n"], want)
		}
	}
}

func TestAChangeBeforeTheFirstListIsKept(t *testing.T) {
	put := newInterest()
	h := &Host{engine: interested{nil, put}, bell: make(chan struct{}, 1)}
	f := &podFollower{host: h, node: "n", pods: map[string]*knownPod{}}
	f.change(podChange{newPod("older", "4"), true})
	f.change(podChange{newPod("newer", "6"), false})
	if len(put.pods) > 0 {
		t.Error("the engine has pods before the list")
	}
	f.replace([]*corev1.Pod{newPod("older", "5")}, "5")
	if want := []string{"newer", "older"}; !slices.Equal(put.pods["n"], want) {
		t.Errorf("%v, not %v", put.pods["n"], want)
	}
}

func TestNoNodeJoinsTheWatchOnAllPodsDuringAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPodWorld(t, 40, Options{})
		defer w.end()
		w.needs(20)
		w.refusal.refuse("/v1/pods")
		w.cluster.MissedByWatches(synctest.Wait)
		time.Sleep(10 * time.Second)
		w.need(first(21)...)
		w.ring()
		time.Sleep(time.Second)
		synctest.Wait()
		if w.allPods.isListed() || len(w.allPods.followers) != 20 {
			t.Errorf("listed: %v, %d nodes", w.allPods.isListed(), len(w.allPods.followers))
		}
		w.refusal.refuse("")
		w.settles()
		w.unread = nil // the failed lists were reported
		w.check("after the failure")
	})
}

func newPod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "work", UID: types.UID(name), ResourceVersion: version}}
}

func TestNoChangeToAPodIsLostWhenWatchesAreReplaced(t *testing.T) {
	for seed := range int64(16) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewSource(seed))
			const nodes = 30
			w := newPodWorld(t, nodes, Options{})
			defer w.end()
			if seed%4 == 0 {
				w.cluster.SetOld()
			}
			var mu sync.Mutex
			pauses := rand.New(rand.NewSource(-seed - 1))
			upTo := func(most time.Duration) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(pauses.Int63n(int64(most)))
			}
			w.cluster.SetLag(func(string) time.Duration { return upTo(300 * time.Millisecond) })
			w.refusal.latency = func() time.Duration { return upTo(time.Second) }
			for step := range 150 {
				node := nodeName(random.Intn(nodes))
				switch random.Intn(12) {
				case 0:
					w.need(first(random.Intn(nodes + 1))...)
					w.ring()
				case 1:
					w.cluster.EndWatches()
				case 2:
					w.cluster.MissedByWatches(func() {
						synctest.Wait()
						w.remove(node)
						w.add(node, fmt.Sprintf("missed-%d", step))
					})
				case 3:
					w.cluster.SetLabel(node, "step", strconv.Itoa(step))
					w.void(node, w.cluster.Version())
					w.ring()
				case 4, 5, 6:
					w.remove(node)
				default:
					w.add(node, fmt.Sprintf("pod-%d", step))
				}
				time.Sleep(time.Duration(random.Intn(200)) * time.Millisecond)
			}
			w.settles()
			w.check(fmt.Sprintf("seed %d", seed))
			if watches := w.podWatches(); watches > podWatchesMax {
				t.Errorf("seed %d: %d watches", seed, watches)
			}
		})
	}
}
