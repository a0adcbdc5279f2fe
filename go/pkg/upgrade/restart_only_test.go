package upgrade

import (
	"errors"
	"flag"
	"math/rand"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const restartOnlyKey = "nvidia.com/gpu-driver-upgrade.restart-only"

// sameDigest is the predicate of NVIDIA's GPU operator: it reports whether both specs have the same digest. The digest
// of a spec is the first non-empty digest in its init containers and containers.
func sameDigest(running, desired *corev1.PodSpec) (bool, error) {
	if running == nil || desired == nil {
		return false, errors.New("a spec is missing")
	}
	of, wanted := digestOf(running), digestOf(desired)
	return of != "" && of == wanted, nil
}

func digestOf(spec *corev1.PodSpec) string {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, container := range containers {
			for _, env := range container.Env {
				if env.Name == "DRIVER_CONFIG_DIGEST" && env.Value != "" {
					return env.Value
				}
			}
		}
	}
	return ""
}

// withDigest returns a world whose nodes are done with a driver that has this digest. Each node has a workload.
func withDigest(t *testing.T, nodes int, digest string) *world {
	t.Helper()
	w := newWorld(t, 0)
	w.manager.WithRestartOnlyPredicate(sameDigest)
	w.cluster.NewDriverOf(digest)
	for i := range nodes {
		node := "n" + strconv.Itoa(i)
		w.nodes = append(w.nodes, node)
		w.cluster.AddNode(node)
		w.cluster.AddWorkload("work-"+node, node)
	}
	w.apply(t.Context(), policyOf(2))
	w.eventually("the states of current nodes", w.allIn(UpgradeStateDone))
	return w
}

func (w *world) awaitRevision(revision string) {
	w.t.Helper()
	w.eventually(revision+" on every node", func() bool {
		for _, node := range w.nodes {
			if w.cluster.State(node) != UpgradeStateDone || w.cluster.Revision(node) != revision || w.cluster.Cordoned(node) {
				return false
			}
		}
		return true
	})
}

// checkRestarts checks that all nodes were evacuated or, if evacuated is false, that all nodes had the annotation for
// restarts without evacuation.
func (w *world) checkRestarts(evacuated bool) {
	w.t.Helper()
	for _, node := range w.nodes {
		restarted := w.cluster.TimesAnnotated(node, restartOnlyKey) > 0
		if restarted == evacuated || w.cluster.HasWorkload("work-"+node) == evacuated {
			w.t.Errorf("%s: restart only %v, workload there %v, evacuated %v expected", node, restarted,
				w.cluster.HasWorkload("work-"+node), evacuated)
		}
	}
}

// W40.
func TestRestartOnlyRequiresEqualDigests(t *testing.T) {
	for _, one := range []struct {
		name, running, wanted string
		evacuated             bool
	}{
		{"equal", "a", "a", false},
		{"different", "a", "b", true},
		{"absent before", "", "b", true},
		{"absent afterwards", "a", "", true},
		{"absent in both", "", "", true},
	} {
		t.Run(one.name, func(t *testing.T) {
			w := withDigest(t, 1, one.running)
			w.cluster.NewDriverOf(one.wanted)
			w.awaitRevision("hash-3")
			w.checkRestarts(one.evacuated)
		})
	}
}

// W40: the predicate compares the revisions in the question, whichever of the two watches is behind.
func TestRestartOnlyComparesTheRevisionsInTheQuestion(t *testing.T) {
	for _, behind := range []string{"daemonsets", "controllerrevisions"} {
		t.Run(behind, func(t *testing.T) {
			w := withDigest(t, 2, "a")
			w.cluster.HoldWatches(behind)
			w.cluster.NewDriverOf("b")
			if behind == "daemonsets" {
				w.apply(t.Context(), policyOf(2)) // the revision with the DaemonSet's template stays the target
			} else {
				w.eventually("the DaemonSet", func() bool {
					return w.build(t.Context()).NodeStates[UpgradeStateDone][0].DriverDaemonSet.Generation == 3
				})
			}
			if running := w.cluster.Revision("n0"); running != "hash-2" {
				t.Errorf("n0 runs %s", running)
			}
			w.cluster.HoldWatches("")
			w.awaitRevision("hash-3")
			w.checkRestarts(true)
		})
	}
}

// W40.
func TestANodeIsEvacuatedIfARevisionOfTheQuestionIsNotKnown(t *testing.T) {
	for name, revision := range map[string]int{"the running revision": 2, "the target revision": 3} {
		t.Run(name, func(t *testing.T) {
			w := withDigest(t, 1, "a")
			w.cluster.LoseTemplate(revision) // first, so that no pass can see the new revision with both templates
			w.cluster.NewDriverOf("a")
			w.awaitRevision("hash-3")
			w.checkRestarts(true)
		})
	}
}

var rollouts = flag.Int("rollouts", 200, "of the test with watches that lag")

// W40: each rollout has either a new digest or the digest of the previous rollout. All watches are late, each by a
// different amount of time.
func TestRestartOnlyComparesTheTargetRevision(t *testing.T) {
	random := rand.New(rand.NewSource(40))
	var mu sync.Mutex
	lag := func(string) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(random.Intn(8)) * time.Millisecond * time.Duration(random.Intn(2))
	}
	const perWorld = 10
	for done := 0; done < *rollouts; done += perWorld {
		w := withDigest(t, 3, "0")
		w.cluster.SetLag(lag)
		digest := 0
		for i := range perWorld {
			mu.Lock()
			another := random.Intn(2) == 0
			mu.Unlock()
			if another {
				digest++
			}
			before := map[string]int{}
			for _, node := range w.nodes {
				before[node] = w.cluster.TimesAnnotated(node, restartOnlyKey)
			}
			w.cluster.NewDriverOf(strconv.Itoa(digest))
			w.awaitRevision("hash-" + strconv.Itoa(3+i))
			for _, node := range w.nodes {
				if restarted := w.cluster.TimesAnnotated(node, restartOnlyKey) > before[node]; restarted == another {
					t.Fatalf("rollout %d, %s: restart only %v, another digest %v", done+i, node, restarted, another)
				}
			}
		}
		w.manager.Close()
	}
}
