// Command controlplane contains all parts of a Kubernetes cluster without containers in one program. Its first argument selects
// the part. The parts are etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok (which plays the kubelets) and, for
// the tests, kubectl. They are the released versions; only their main functions are ours.
package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// parts maps the first argument to the function that runs the part. Each function is called with os.Args as the part's
// own main would see it, and returns the exit code.
var parts = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kwok":                    runKwok,
	"kubectl":                 func() int { return execute(kubectl.NewDefaultKubectlCommand()) },
	"service-account-key":     writeServiceAccountKey,
}

func main() {
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		names := []string{}
		for name := range parts {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "usage: %s %s [FLAGS]\n", filepath.Base(os.Args[0]), strings.Join(names, "|"))
		os.Exit(2)
	}
	os.Args = os.Args[1:]
	os.Exit(parts[os.Args[0]]())
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

// execute runs commands that have their own logging and version flags, which would collide with the flags of
// component-base's cli.Run.
func execute(command *cobra.Command) int {
	if command.Execute() != nil {
		return 1 // the command has printed the error
	}
	return 0
}

// runKwok parses kwok's global flags before it creates the command, because these flags define kwok's stages.
func runKwok() int {
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, err := kwokContext(flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		return 1
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	// A version here makes cobra look for a boolean --version flag, but component-base has registered a --version
	// flag of another type.
	command.Version = ""
	command.SetContext(ctx)
	return execute(command)
}

func kwokContext(flags *pflag.FlagSet) (context.Context, error) {
	ctx, _ := kwoklog.InitFlags(signals.SetupSignalContext(), flags)
	return kwokconfig.InitFlags(ctx, flags)
}

// writeServiceAccountKey writes the key pair that signs and checks service account tokens as sa.key and sa.pub
// into the directory given as the only argument.
func writeServiceAccountKey() int {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: service-account-key DIRECTORY")
		return 2
	}
	if err := writeKeyPair(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "service-account-key:", err)
		return 1
	}
	return 0
}

func writeKeyPair(directory string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	private := pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	if err := os.WriteFile(filepath.Join(directory, "sa.key"), pem.EncodeToMemory(&private), 0o600); err != nil {
		return err
	}
	block := pem.Block{Type: "PUBLIC KEY", Bytes: public}
	return os.WriteFile(filepath.Join(directory, "sa.pub"), pem.EncodeToMemory(&block), 0o600)
}
