package host

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A large cluster has many more pods than a process can keep in memory.
func TestAWatchDropsPodsOfOtherNodes(t *testing.T) {
	from := watch.NewFakeWithChanSize(10, false)
	podOn := func(node, version string) *corev1.Pod {
		pod := newPod("p"+version, version)
		pod.Spec.NodeName = node
		return pod
	}
	from.Add(podOn("n", "1"))
	from.Add(podOn("other", "2"))
	from.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "3",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
	from.Modify(podOn("other", "4"))
	from.Modify(podOn("n", "5"))
	from.Stop()
	w := lightened(from, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "n" }, true, func() {})
	defer w.Stop()
	for _, want := range []struct {
		kind          watch.EventType
		version, node string
	}{{watch.Added, "1", "n"}, {watch.Bookmark, "3", ""}, {watch.Bookmark, "4", ""}, {watch.Modified, "5", "n"}} {
		event := <-w.ResultChan()
		pod := event.Object.(*corev1.Pod)
		if event.Type != want.kind || pod.ResourceVersion != want.version || pod.Spec.NodeName != want.node {
			t.Errorf("got %s of %+v, not %+v", event.Type, pod.ObjectMeta, want)
		}
	}
	if event, more := <-w.ResultChan(); more {
		t.Errorf("got %+v", event)
	}
}
