// Command operator upgrades the NVIDIA driver on the nodes of a cluster. It uses controller-runtime and this module,
// accepts many of gpu_operator's flags, and fits in one file.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/NVIDIA/k8s-operator-libs/api/upgrade/v1alpha1"

	"driverupgrade.example/go/pkg/upgrade"
)

var (
	domain         = flag.String("domain", "nvidia.com", "domain of the keys of labels and annotations")
	driver         = flag.String("driver", "gpu", "name of the driver in these keys")
	namespace      = flag.String("namespace", "gpu-operator", "namespace of the driver's DaemonSets")
	driverLabels   = flag.String("driver-labels", "app=nvidia-driver-daemonset", "selector of the driver's DaemonSets and pods")
	policyFile     = flag.String("policy", "", "YAML or JSON file with the upgradePolicy section")
	validation     = flag.String("validation-selector", "", "selector of pods that must be ready before a node returns to service; empty: no validation")
	leaderElect    = flag.Bool("leader-elect", false, "elect a leader with a Lease, for several replicas")
	leaseName      = flag.String("lease-name", "nvidia-gpu-driver-upgrade", "name of the Lease")
	leaseNamespace = flag.String("lease-namespace", "", "namespace of the Lease; empty: the value of --namespace")
	healthAddress  = flag.String("health-address", "0", "address of /healthz and /readyz; 0: not served")
	metricsAddress = flag.String("metrics-address", "0", "address of /metrics; 0: not served")
	rolloutAddress = flag.String("rollout-secure-address", "0", "address of the rollout page, for clients that may read it; 0: not served")
	podName        = flag.String("pod-name", os.Getenv("POD_NAME"), "name of this pod, which is not evicted")
	podNamespace   = flag.String("pod-namespace", os.Getenv("POD_NAMESPACE"), "namespace of this pod; empty: the value of --namespace")
	nodeName       = flag.String("node-name", os.Getenv("NODE_NAME"), "node of this pod, which is upgraded last")
	logFormat      = flag.String("log-format", "text", "log format: text or json")
	untilDone      = flag.Bool("until-done", false, "exit when every node has the target driver, or when nodes have failed")
	timeout        = flag.Duration("timeout", 0, "timeout of --until-done; 0: no timeout")
	interval       = flag.Duration("interval", 2*time.Minute, "time after which the policy is applied again")
	qps            = flag.Float64("qps", 50, "requests per second; -1: no limit")
	burst          = flag.Int("burst", 100, "requests that may exceed --qps in a burst")
	gpus           = regexp.MustCompile(`^nvidia\.com/(gpu|mig-)`)
)

func main() {
	flag.Parse()
	ctx, stop := context.WithCancelCause(ctrl.SetupSignalHandler())
	if *timeout > 0 {
		time.AfterFunc(*timeout, func() { stop(errors.New("the timeout expired")) })
	}
	if err := run(ctx, stop); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stop context.CancelCauseFunc) error {
	config, err := ctrl.GetConfig() // from the flag --kubeconfig, or from the pod's own cluster
	if err != nil {
		return err
	}
	config.QPS, config.Burst = float32(*qps), *burst
	selected, err := labels.ConvertSelectorToLabelsMap(*driverLabels)
	if err != nil {
		return fmt.Errorf("--driver-labels: %w", err)
	}
	policy := &v1alpha1.DriverUpgradePolicySpec{AutoUpgrade: true, MaxParallelUpgrades: 1}
	text, err := os.ReadFile(*policyFile)
	if err = errors.Join(err, yaml.UnmarshalStrict(text, policy)); err != nil {
		return fmt.Errorf("--policy: %w", err)
	}
	var lines slog.Handler = slog.NewTextHandler(os.Stdout, nil)
	if *logFormat == "json" {
		lines = slog.NewJSONHandler(os.Stdout, nil)
	}
	ctrl.SetLogger(logr.FromSlogHandler(lines))
	operator, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: *leaderElect, LeaderElectionID: *leaseName, LeaderElectionNamespace: cmp.Or(*leaseNamespace, *namespace),
		HealthProbeBindAddress: *healthAddress, Metrics: metricsserver.Options{BindAddress: *metricsAddress},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&appsv1.DaemonSet{}: {
			Namespaces: map[string]cache.Config{*namespace: {}}, Label: labels.SelectorFromSet(selected)}}},
	})
	if err != nil {
		return err
	}
	states, err := upgrade.NewManager(ctrl.Log, config, operator.GetEventRecorderFor("driver-upgrade"),
		upgrade.StateOptions{Requestor: upgrade.GetRequestorOptsFromEnvs()},
		upgrade.WithDomain(*domain), upgrade.WithDriverName(*driver), upgrade.WithInterval(*interval),
		upgrade.WithElected(operator.Elected()), upgrade.WithOwnPod(cmp.Or(*podNamespace, *namespace), *podName, *nodeName))
	if err != nil {
		return err
	}
	defer states.Close()
	page, err := states.NewSecurePage(config, upgrade.SecurePageOptions{
		Address: *rolloutAddress, Replica: *podName, Elected: operator.Elected(), Namespace: *namespace, DriverLabels: selected,
		Lease: types.NamespacedName{Namespace: cmp.Or(*leaseNamespace, *namespace), Name: *leaseName}})
	if err != nil {
		return err
	}
	users := upgrade.DeviceUse{
		IsDevice: func(name corev1.ResourceName) bool { return gpus.MatchString(string(name)) },
		Driver:   "gpu.nvidia.com",
		Claim: func(namespace, name string) (*resourcev1.ResourceClaim, error) {
			claim := &resourcev1.ResourceClaim{}
			return claim, operator.GetAPIReader().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim)
		},
	}
	states.WithPodDeletionCheck(users.Check).WithValidationEnabled(*validation)
	metrics.Registry.MustRegister(states.Collector())
	if err = errors.Join(operator.AddHealthzCheck("ping", healthz.Ping), operator.AddReadyzCheck("ping", healthz.Ping),
		operator.Add(page),
		ctrl.NewControllerManagedBy(operator).For(&appsv1.DaemonSet{}).Complete(&reconciler{states, selected, policy, stop})); err == nil {
		err = operator.Start(ctx)
	}
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

type reconciler struct {
	states   upgrade.ClusterUpgradeStateManager
	selected map[string]string
	policy   *v1alpha1.DriverUpgradePolicySpec
	stop     context.CancelCauseFunc
}

// Reconcile applies the policy. Between calls, the state manager continues the upgrade on its own. BuildState and
// ApplyState send no requests unless something is due.
func (r *reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	state, err := r.states.BuildState(ctx, *namespace, r.selected)
	if err != nil {
		return ctrl.Result{}, err
	}
	again := *interval
	if *untilDone {
		again = 250 * time.Millisecond
		if failed := r.states.GetUpgradesFailed(state); failed > 0 && upgrade.IsOver(state) {
			r.stop(fmt.Errorf("%d nodes failed", failed))
		} else if upgrade.IsOver(state) {
			r.stop(nil)
		}
	}
	return ctrl.Result{RequeueAfter: again}, r.states.ApplyState(ctx, state, r.policy)
}
