// Command vendor upgrades the FPGA driver of Acme, a vendor with its own domain, on the nodes of a cluster. Its policy
// has canaries, an approval, and a window at night in Berlin (policy.yaml). It uses controller-runtime and this module,
// and fits in one file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"
	_ "time/tzdata" // time zones of windows, for images without zone files

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"driverupgrade.example/go/pkg/upgrade"
)

const device = corev1.ResourceName("acme.example/fpga")

var (
	domain         = flag.String("domain", "acme.example", "domain of the keys of labels and annotations")
	driver         = flag.String("driver", "fpga", "name of the driver in these keys")
	namespace      = flag.String("namespace", "acme-system", "namespace of the driver, the Lease and the ledger")
	driverLabels   = flag.String("driver-labels", "app=fpga-driver", "selector of the driver's DaemonSets and pods")
	policyFile     = flag.String("policy", "policy.yaml", "file with the upgrade policy")
	ledger         = flag.String("ledger", "driver-upgrades", "name of the ConfigMap with the record of the rollout")
	leaseName      = flag.String("lease-name", "acme-fpga-driver-upgrade", "name of the Lease of the leader election")
	healthAddress  = flag.String("health-address", "0", "address of /healthz and /readyz; 0: not served")
	metricsAddress = flag.String("metrics-address", "0", "address of /metrics; 0: not served")
	interval       = flag.Duration("interval", 2*time.Minute, "time after which the policy is applied again")
)

func main() {
	flag.Parse()
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "vendor:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stdout, nil)))
	config, err := ctrl.GetConfig() // from the flag --kubeconfig, or from the pod's own cluster
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 50, 100
	selected, err := labels.ConvertSelectorToLabelsMap(*driverLabels)
	if err != nil {
		return fmt.Errorf("--driver-labels: %w", err)
	}
	operator, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: *leaseName, LeaderElectionNamespace: *namespace,
		HealthProbeBindAddress: *healthAddress, Metrics: metricsserver.Options{BindAddress: *metricsAddress},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&appsv1.DaemonSet{}: {
			Namespaces: map[string]cache.Config{*namespace: {}}, Label: labels.SelectorFromSet(selected)}}},
	})
	if err != nil {
		return err
	}
	states, err := upgrade.NewManager(ctrl.Log, config, operator.GetEventRecorderFor("driver-upgrade"), upgrade.StateOptions{},
		upgrade.WithDomain(*domain), upgrade.WithDriverName(*driver), upgrade.WithLedger(*namespace, *ledger),
		upgrade.WithElected(operator.Elected()), upgrade.WithInterval(*interval),
		upgrade.WithOwnPod(*namespace, os.Getenv("POD_NAME"), os.Getenv("NODE_NAME")))
	if err != nil {
		return err
	}
	defer states.Close()
	states.WithPodDeletionEnabled(usesDevice)
	metrics.Registry.MustRegister(states.Collector())
	if err := errors.Join(operator.AddHealthzCheck("ping", healthz.Ping), operator.AddReadyzCheck("ping", healthz.Ping),
		ctrl.NewControllerManagedBy(operator).For(&appsv1.DaemonSet{}).Complete(&reconciler{states: states, selected: selected})); err != nil {
		return err
	}
	return operator.Start(ctx)
}

// usesDevice reports whether the pod uses a device, and must therefore leave the node before the driver is replaced.
func usesDevice(pod corev1.Pod) bool {
	return upgrade.DeviceUse{IsDevice: func(name corev1.ResourceName) bool { return name == device }}.Filter(pod)
}

type reconciler struct {
	states   *upgrade.Manager
	selected map[string]string
	told     string
}

// Reconcile applies the current content of the policy file. Between calls, the Manager continues the upgrade on its
// own.
func (r *reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	policy, err := os.ReadFile(*policyFile)
	if err != nil {
		return ctrl.Result{}, err
	}
	state, err := r.states.BuildState(ctx, *namespace, r.selected)
	if err == nil {
		err = r.states.ApplyPolicy(ctx, state, policy)
	}
	r.tell()
	return ctrl.Result{RequeueAfter: *interval}, err
}

// tell logs the progress of the rollout if it has changed. An operator with a custom resource would write the progress
// to the resource's status.
func (r *reconciler) tell() {
	rollout, found := r.states.Rollout()
	if !found {
		return
	}
	line := "the rollout of " + rollout.Revision
	for _, stage := range rollout.Stages {
		line += fmt.Sprintf("; %s: %d of %d nodes done", stage.Name, stage.Done, stage.Nodes)
	}
	for _, gate := range []*upgrade.Gate{rollout.Halted, rollout.Closed, rollout.WaitsFor} {
		if gate != nil {
			line += "; " + gate.Reason + ": " + gate.Detail
		}
	}
	if line != r.told {
		r.told = line
		ctrl.Log.Info(line)
	}
}
