// A program that uses the Go module of a release; scripts/release/verify.sh builds it. It prints the predicted duration
// of a rollout, given a policy and a dump of a cluster.
package main

import (
	"fmt"
	"os"

	"driverupgrade.example/go/pkg/upgrade"
	"driverupgrade.example/go/pkg/whatif"
)

func main() {
	dump, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	policy, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	upgrade.SetDriverName("gpu")
	request := whatif.Request{Domain: "nvidia.com", Driver: "gpu", Namespace: "gpu-operator",
		DriverLabels: "app=nvidia-driver-daemonset", Policy: policy}
	rollouts, err := whatif.Simulate(request, whatif.Trials{Seeds: 1}, dump)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s: %d nodes simulated, %d requests\n", upgrade.GetUpgradeStateLabelKey(), rollouts[0].Nodes, rollouts[0].Requests)
}
