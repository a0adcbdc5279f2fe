// Rolls the NVIDIA driver across the nodes of a cluster, with flags of gpu_operator: an operator with controller-runtime on this
// module, in one file.
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
	namespace      = flag.String("namespace", "gpu-operator", "of the driver's DaemonSets")
	driverLabels   = flag.String("driver-labels", "app=nvidia-driver-daemonset", "selects the driver's DaemonSets and pods")
	policyFile     = flag.String("policy", "", "YAML or JSON file: the upgradePolicy section")
	validation     = flag.String("validation-selector", "", "pods that must be ready before a node is given back; none if empty")
	leaderElect    = flag.Bool("leader-elect", false, "work only while holding a Lease: for replicas")
	leaseName      = flag.String("lease-name", "nvidia-gpu-driver-upgrade", "of the Lease")
	leaseNamespace = flag.String("lease-namespace", "", "of the Lease; --namespace if empty")
	healthAddress  = flag.String("health-address", "0", "where /healthz and /readyz are served; 0: nowhere")
	metricsAddress = flag.String("metrics-address", "0", "where /metrics is served; 0: nowhere")
	rolloutAddress = flag.String("rollout-secure-address", "0", "serves the page of the rollout to clients that may read it; 0: no page")
	podName        = flag.String("pod-name", os.Getenv("POD_NAME"), "the pod that this runs in: it is not evicted")
	podNamespace   = flag.String("pod-namespace", os.Getenv("POD_NAMESPACE"), "its namespace; --namespace if empty")
	nodeName       = flag.String("node-name", os.Getenv("NODE_NAME"), "its node: it is upgraded last")
	logFormat      = flag.String("log-format", "text", "or json")
	untilDone      = flag.Bool("until-done", false, "end once every node has the wanted driver, or some have failed")
	timeout        = flag.Duration("timeout", 0, "of --until-done; 0: none")
	interval       = flag.Duration("interval", 2*time.Minute, "after which the policy is applied again")
	qps            = flag.Float64("qps", 50, "requests a second; -1: no limit")
	burst          = flag.Int("burst", 100, "requests at once beyond --qps")
	gpus           = regexp.MustCompile(`^nvidia\.com/(gpu|mig-)`)
)

func main() {
	flag.Parse()
	ctx, stop := context.WithCancelCause(ctrl.SetupSignalHandler())
	if *timeout > 0 {
		time.AfterFunc(*timeout, func() { stop(errors.New("the time ran out")) })
	}
	if err := run(ctx, stop); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stop context.CancelCauseFunc) error {
	config, err := ctrl.GetConfig() // has the flag --kubeconfig; without it the cluster whose pod this is
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
		upgrade.WithOwnPod(cmp.Or(*podNamespace, *namespace), *podName, *nodeName))
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
	states.WithPodDeletionEnabled(users.Filter).WithValidationEnabled(*validation)
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

// Reconcile applies the policy. The state manager itself does the work that becomes due later. Neither call sends anything if nothing is
// due.
func (r *reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	state, err := r.states.BuildState(ctx, *namespace, r.selected)
	if err != nil {
		return ctrl.Result{}, err
	}
	again := *interval
	if *untilDone {
		again = 250 * time.Millisecond
		if failed := r.states.GetUpgradesFailed(state); failed > 0 && upgrade.IsOver(state) {
			r.stop(fmt.Errorf("%d nodes have failed", failed))
		} else if upgrade.IsOver(state) {
			r.stop(nil)
		}
	}
	return ctrl.Result{RequeueAfter: again}, r.states.ApplyState(ctx, state, r.policy)
}
