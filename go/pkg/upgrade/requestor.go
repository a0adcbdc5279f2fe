package upgrade

import (
	"os"

	maintenancev1alpha1 "github.com/Mellanox/maintenance-operator/api/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

const (
	// MaintenanceOPEvictionGPU selects the pods that request GPUs, by resource name.
	MaintenanceOPEvictionGPU = "nvidia.com/gpu-*"
	// MaintenanceOPEvictionRDMA selects the pods that request RDMA devices, by resource name.
	MaintenanceOPEvictionRDMA = "nvidia.com/rdma*"
	// DefaultNodeMaintenanceNamePrefix is the default prefix of the names of NodeMaintenance objects.
	DefaultNodeMaintenanceNamePrefix = "nvidia-operator"
)

// Scheme contains NodeMaintenance and the built-in Kubernetes types.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(maintenancev1alpha1.AddToScheme(scheme))
	return scheme
}

// StateOptions contains a manager's options.
type StateOptions struct {
	Requestor RequestorOptions
}

// RequestorOptions defines whether and how a maintenance operator evacuates the nodes.
type RequestorOptions struct {
	// UseMaintenanceOperator turns on requestor mode. To turn it off again, leave the other options as they were: nodes
	// that are still in requestor mode then finish in it, and all other nodes are upgraded in place.
	UseMaintenanceOperator bool
	// MaintenanceOPRequestorID names this operator among the requestors of a NodeMaintenance. If it is empty and
	// requestor mode is off, nodes that are still in requestor mode wait with the reason UnhandledState.
	MaintenanceOPRequestorID string
	// MaintenanceOPRequestorNS is the namespace of the NodeMaintenance objects.
	MaintenanceOPRequestorNS string
	// NodeMaintenanceNamePrefix is the prefix of the objects' names: <prefix>-<node>.
	NodeMaintenanceNamePrefix string
	// MaintenanceOPPodEvictionFilter selects the pods that the maintenance operator evicts.
	MaintenanceOPPodEvictionFilter []maintenancev1alpha1.PodEvictionFiterEntry
}

// GetRequestorOptsFromEnvs reads the environment variables MAINTENANCE_OPERATOR_ENABLED (only "true" turns on requestor
// mode), MAINTENANCE_OPERATOR_REQUESTOR_ID, _REQUESTOR_NAMESPACE and _NODE_MAINTENANCE_PREFIX.
func GetRequestorOptsFromEnvs() RequestorOptions {
	return RequestorOptions{
		UseMaintenanceOperator:    os.Getenv("MAINTENANCE_OPERATOR_ENABLED") == "true",
		MaintenanceOPRequestorID:  os.Getenv("MAINTENANCE_OPERATOR_REQUESTOR_ID"),
		MaintenanceOPRequestorNS:  envOr("MAINTENANCE_OPERATOR_REQUESTOR_NAMESPACE", "default"),
		NodeMaintenanceNamePrefix: envOr("MAINTENANCE_OPERATOR_NODE_MAINTENANCE_PREFIX", DefaultNodeMaintenanceNamePrefix),
	}
}

func envOr(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
