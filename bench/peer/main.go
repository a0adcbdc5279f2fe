// Command peer upgrades the NVIDIA driver with the Go library, k8s-operator-libs. It works like NVIDIA's operators, but
// in a loop with almost no pauses, and without a client-side rate limit. This is the fastest possible use of the
// library. The flags are the same as for gpu_operator.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"
	"github.com/NVIDIA/k8s-operator-libs/pkg/upgrade"
)

const pause = 50 * time.Millisecond

var (
	namespace    = flag.String("namespace", "gpu-operator", "namespace of the driver's DaemonSets")
	driverLabels = flag.String("driver-labels", "app=nvidia-driver-daemonset", "selector of the driver's DaemonSets and pods")
	policyFile   = flag.String("policy", "", "YAML file with the upgradePolicy section")
	_            = flag.Bool("until-done", true, "has no effect: the program always exits when the rollout is done")
	timeout      = flag.Duration("timeout", 10*time.Minute, "timeout")
	qps          = flag.Float64("qps", -1, "requests per second; -1: no limit")
)

func main() {
	flag.Parse()
	ctx, cancel := context.WithTimeout(ctrl.SetupSignalHandler(), *timeout)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := ctrl.GetConfig() // defines the flag --kubeconfig
	if err != nil {
		return err
	}
	config.QPS = float32(*qps)
	selected, err := labels.ConvertSelectorToLabelsMap(*driverLabels)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(*policyFile)
	if err != nil {
		return err
	}
	policy := &v1alpha1.DriverUpgradePolicySpec{}
	if err := yaml.UnmarshalStrict(text, policy); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	upgrade.SetDriverName("gpu")
	log := logr.FromSlogHandler(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctrl.SetLogger(log)
	manager, err := upgrade.NewClusterUpgradeStateManager(log, config,
		broadcaster.NewRecorder(upgrade.Scheme, corev1.EventSource{Component: "driver-upgrade"}), upgrade.StateOptions{})
	if err != nil {
		return err
	}
	manager = manager.WithPodDeletionEnabled(usesGPU)
	for ctx.Err() == nil {
		state, err := manager.BuildState(ctx, *namespace, selected)
		if err == nil && isOver(manager, state) {
			return nil
		}
		if err == nil {
			err = manager.ApplyState(ctx, state, policy)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
		}
		time.Sleep(pause)
	}
	return ctx.Err()
}

// isOver reports whether every node is done, and every DaemonSet reports that all its pods have the newest template.
func isOver(manager upgrade.ClusterUpgradeStateManager, state *upgrade.ClusterUpgradeState) bool {
	for _, nodes := range state.NodeStates {
		for _, node := range nodes {
			if set := node.DriverDaemonSet; set != nil && (set.Status.ObservedGeneration != set.Generation ||
				set.Status.UpdatedNumberScheduled != set.Status.DesiredNumberScheduled) {
				return false
			}
		}
	}
	total := manager.GetTotalManagedNodes(state)
	return total > 0 && total == manager.GetUpgradesDone(state)
}

func usesGPU(pod corev1.Pod) bool {
	for _, container := range pod.Spec.Containers {
		if _, wants := container.Resources.Limits["nvidia.com/gpu"]; wants {
			return true
		}
	}
	return false
}
