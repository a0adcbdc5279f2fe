package compat

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	theirs "github.com/NVIDIA/k8s-operator-libs/pkg/upgrade"

	ours "driverupgrade.example/go/pkg/upgrade"
)

type pair struct{ ours, theirs any }

// served contains every name that both packages export: a nil pointer for each type, and the value for everything else.
var served = map[string]pair{
	"ClusterUpgradeState":              {(*ours.ClusterUpgradeState)(nil), (*theirs.ClusterUpgradeState)(nil)},
	"ClusterUpgradeStateManager":       {(*ours.ClusterUpgradeStateManager)(nil), (*theirs.ClusterUpgradeStateManager)(nil)},
	"CommonUpgradeStateManager":        {(*ours.CommonUpgradeStateManager)(nil), (*theirs.CommonUpgradeStateManager)(nil)},
	"NewClusterUpgradeStateManager":    {ours.NewClusterUpgradeStateManager, theirs.NewClusterUpgradeStateManager},
	"PodDeletionFilter":                {(*ours.PodDeletionFilter)(nil), (*theirs.PodDeletionFilter)(nil)},
	"RestartOnlyPredicate":             {(*ours.RestartOnlyPredicate)(nil), (*theirs.RestartOnlyPredicate)(nil)},
	"ConditionChangedPredicate":        {(*ours.ConditionChangedPredicate)(nil), (*theirs.ConditionChangedPredicate)(nil)},
	"DefaultNodeMaintenanceNamePrefix": {ours.DefaultNodeMaintenanceNamePrefix, theirs.DefaultNodeMaintenanceNamePrefix},
	"DriverName":                       {&ours.DriverName, &theirs.DriverName},
	"GetEventReason":                   {ours.GetEventReason, theirs.GetEventReason},
	"GetRequestorOptsFromEnvs":         {ours.GetRequestorOptsFromEnvs, theirs.GetRequestorOptsFromEnvs},
	"GetUpgradeDriverWaitForSafeLoadAnnotationKey": {ours.GetUpgradeDriverWaitForSafeLoadAnnotationKey,
		theirs.GetUpgradeDriverWaitForSafeLoadAnnotationKey},
	"GetUpgradeInitialStateAnnotationKey": {ours.GetUpgradeInitialStateAnnotationKey,
		theirs.GetUpgradeInitialStateAnnotationKey},
	"GetUpgradeRequestedAnnotationKey": {ours.GetUpgradeRequestedAnnotationKey, theirs.GetUpgradeRequestedAnnotationKey},
	"GetUpgradeRequestorModeAnnotationKey": {ours.GetUpgradeRequestorModeAnnotationKey,
		theirs.GetUpgradeRequestorModeAnnotationKey},
	"GetUpgradeSkipDrainDriverPodSelector": {ours.GetUpgradeSkipDrainDriverPodSelector,
		theirs.GetUpgradeSkipDrainDriverPodSelector},
	"GetUpgradeSkipNodeLabelKey": {ours.GetUpgradeSkipNodeLabelKey, theirs.GetUpgradeSkipNodeLabelKey},
	"GetUpgradeStateLabelKey":    {ours.GetUpgradeStateLabelKey, theirs.GetUpgradeStateLabelKey},
	"GetValidationStartTimeAnnotationKey": {ours.GetValidationStartTimeAnnotationKey,
		theirs.GetValidationStartTimeAnnotationKey},
	"GetWaitForPodCompletionStartTimeAnnotationKey": {ours.GetWaitForPodCompletionStartTimeAnnotationKey,
		theirs.GetWaitForPodCompletionStartTimeAnnotationKey},
	"UpgradeStateLabelKeyFmt":           {ours.UpgradeStateLabelKeyFmt, theirs.UpgradeStateLabelKeyFmt},
	"UpgradeSkipNodeLabelKeyFmt":        {ours.UpgradeSkipNodeLabelKeyFmt, theirs.UpgradeSkipNodeLabelKeyFmt},
	"UpgradeSkipDrainDriverSelectorFmt": {ours.UpgradeSkipDrainDriverSelectorFmt, theirs.UpgradeSkipDrainDriverSelectorFmt},
	"UpgradeWaitForSafeDriverLoadAnnotationKeyFmt": {ours.UpgradeWaitForSafeDriverLoadAnnotationKeyFmt,
		theirs.UpgradeWaitForSafeDriverLoadAnnotationKeyFmt},
	"UpgradeInitialStateAnnotationKeyFmt": {ours.UpgradeInitialStateAnnotationKeyFmt, theirs.UpgradeInitialStateAnnotationKeyFmt},
	"UpgradeWaitForPodCompletionStartTimeAnnotationKeyFmt": {ours.UpgradeWaitForPodCompletionStartTimeAnnotationKeyFmt,
		theirs.UpgradeWaitForPodCompletionStartTimeAnnotationKeyFmt},
	"UpgradeValidationStartTimeAnnotationKeyFmt": {ours.UpgradeValidationStartTimeAnnotationKeyFmt,
		theirs.UpgradeValidationStartTimeAnnotationKeyFmt},
	"UpgradeRequestedAnnotationKeyFmt": {ours.UpgradeRequestedAnnotationKeyFmt, theirs.UpgradeRequestedAnnotationKeyFmt},
	"UpgradeRequestorModeAnnotationKeyFmt": {ours.UpgradeRequestorModeAnnotationKeyFmt,
		theirs.UpgradeRequestorModeAnnotationKeyFmt},
	"PodControllerRevisionHashLabelKey":   {ours.PodControllerRevisionHashLabelKey, theirs.PodControllerRevisionHashLabelKey},
	"IsNodeUnschedulable":                 {ours.IsNodeUnschedulable, theirs.IsNodeUnschedulable},
	"IsOrphanedPod":                       {ours.IsOrphanedPod, theirs.IsOrphanedPod},
	"IsNodeInRequestorMode":               {ours.IsNodeInRequestorMode, theirs.IsNodeInRequestorMode},
	"MaintenanceOPEvictionGPU":            {ours.MaintenanceOPEvictionGPU, theirs.MaintenanceOPEvictionGPU},
	"MaintenanceOPEvictionRDMA":           {ours.MaintenanceOPEvictionRDMA, theirs.MaintenanceOPEvictionRDMA},
	"NewClusterUpgradeState":              {ours.NewClusterUpgradeState, theirs.NewClusterUpgradeState},
	"NewConditionChangedPredicate":        {ours.NewConditionChangedPredicate, theirs.NewConditionChangedPredicate},
	"NewRequestorIDPredicate":             {ours.NewRequestorIDPredicate, theirs.NewRequestorIDPredicate},
	"NodeUpgradeState":                    {(*ours.NodeUpgradeState)(nil), (*theirs.NodeUpgradeState)(nil)},
	"RequestorOptions":                    {(*ours.RequestorOptions)(nil), (*theirs.RequestorOptions)(nil)},
	"Scheme":                              {&ours.Scheme, &theirs.Scheme},
	"SetDriverName":                       {ours.SetDriverName, theirs.SetDriverName},
	"StateOptions":                        {(*ours.StateOptions)(nil), (*theirs.StateOptions)(nil)},
	"UpgradeStateCordonRequired":          {ours.UpgradeStateCordonRequired, theirs.UpgradeStateCordonRequired},
	"UpgradeStateDone":                    {ours.UpgradeStateDone, theirs.UpgradeStateDone},
	"UpgradeStateDrainRequired":           {ours.UpgradeStateDrainRequired, theirs.UpgradeStateDrainRequired},
	"UpgradeStateFailed":                  {ours.UpgradeStateFailed, theirs.UpgradeStateFailed},
	"UpgradeStateNodeMaintenanceRequired": {ours.UpgradeStateNodeMaintenanceRequired, theirs.UpgradeStateNodeMaintenanceRequired},
	"UpgradeStatePodDeletionRequired":     {ours.UpgradeStatePodDeletionRequired, theirs.UpgradeStatePodDeletionRequired},
	"UpgradeStatePodRestartRequired":      {ours.UpgradeStatePodRestartRequired, theirs.UpgradeStatePodRestartRequired},
	"UpgradeStatePostMaintenanceRequired": {ours.UpgradeStatePostMaintenanceRequired, theirs.UpgradeStatePostMaintenanceRequired},
	"UpgradeStateUncordonRequired":        {ours.UpgradeStateUncordonRequired, theirs.UpgradeStateUncordonRequired},
	"UpgradeStateUnknown":                 {ours.UpgradeStateUnknown, theirs.UpgradeStateUnknown},
	"UpgradeStateUpgradeRequired":         {ours.UpgradeStateUpgradeRequired, theirs.UpgradeStateUpgradeRequired},
	"UpgradeStateValidationRequired":      {ours.UpgradeStateValidationRequired, theirs.UpgradeStateValidationRequired},
	"UpgradeStateWaitForJobsRequired":     {ours.UpgradeStateWaitForJobsRequired, theirs.UpgradeStateWaitForJobsRequired},
}

// unserved contains the names that this module leaves out; docs/go.md also lists them.
var unserved = []string{
	"CommonUpgradeManagerImpl", "CordonManager", "CordonManagerImpl", "ClusterUpgradeStateManagerImpl", "DrainConfiguration",
	"DrainManager", "DrainManagerImpl", "ErrNodeMaintenanceUpgradeDisabled", "InplaceNodeStateManagerImpl", "KeyedMutex",
	"NewCommonUpgradeStateManager", "NewCordonManager", "NewDrainManager", "NewInplaceNodeStateManagerImpl",
	"NewNodeUpgradeStateProvider", "NewPodManager", "NewRequestorNodeStateManagerImpl", "NewSafeDriverLoadManager", "NewStringSet",
	"NewValidationManager", "NodeUpgradeStateProvider", "NodeUpgradeStateProviderImpl", "PodManager", "PodManagerConfig",
	"PodManagerImpl", "ProcessNodeStateManager", "RequestorNodeStateManagerImpl", "SafeDriverLoadManager",
	"SafeDriverLoadManagerImpl", "SetDefaultNodeMaintenance", "StringSet", "UnlockFunc", "ValidationManager", "ValidationManagerImpl",
}

// exported returns the names that the package in the directory exports, without methods.
func exported(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", folder, err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			for _, name := range namesOf(declaration) {
				names[name.Name] = name.IsExported()
			}
		}
	}
	maps.DeleteFunc(names, func(_ string, isExported bool) bool { return !isExported })
	return slices.Sorted(maps.Keys(names))
}

func namesOf(declaration ast.Decl) (names []*ast.Ident) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
	}
	return names
}

func TestEveryNameThatBothPackagesExportIsCompared(t *testing.T) {
	folder, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/NVIDIA/k8s-operator-libs/pkg/upgrade").Output()
	if err != nil {
		t.Fatal(err)
	}
	their := exported(t, strings.TrimSpace(string(folder)))
	both := slices.DeleteFunc(exported(t, "../pkg/upgrade"), func(name string) bool { return !slices.Contains(their, name) })
	if compared := slices.Sorted(maps.Keys(served)); !slices.Equal(both, compared) {
		t.Errorf("both export %v, compared are %v", both, compared)
	}
	left := slices.DeleteFunc(slices.Clone(their), func(name string) bool { return slices.Contains(both, name) })
	if slices.Sort(unserved); !slices.Equal(left, unserved) {
		t.Errorf("not served are\n%q, listed as such\n%q", left, unserved)
	}
}

func TestSignaturesValuesAndTypesAreTheSame(t *testing.T) {
	for name, p := range served {
		our, their := reflect.TypeOf(p.ours), reflect.TypeOf(p.theirs)
		if our.Kind() == reflect.String && p.ours != p.theirs {
			t.Errorf("%s: %q, theirs is %q", name, p.ours, p.theirs)
		}
		if got, want := describe(our), describe(their); got != want {
			t.Errorf("%s:\n%s\ntheirs:\n%s", name, got, want)
		}
	}
}

// describe returns a description of a type: its name and, if it belongs to one of the two packages, its exported parts.
// The packages have the same name, so equal types have equal descriptions.
func describe(of reflect.Type) string {
	text := of.String()
	if of.Kind() == reflect.Pointer && strings.HasSuffix(of.Elem().PkgPath(), "/pkg/upgrade") {
		for i := range of.NumMethod() {
			method := of.Method(i)
			text += fmt.Sprintf("\n  method %s %s", method.Name, method.Type)
		}
		of = of.Elem()
	}
	if of.Kind() == reflect.Interface {
		for i := range of.NumMethod() {
			text += fmt.Sprintf("\n  method %s %s", of.Method(i).Name, of.Method(i).Type)
		}
	}
	if of.Kind() == reflect.Func && of.Name() != "" {
		text += fmt.Sprintf("\n  in %v, out %v", ins(of), outs(of))
	}
	if of.Kind() == reflect.Struct && strings.HasSuffix(of.PkgPath(), "/pkg/upgrade") {
		for _, field := range reflect.VisibleFields(of) {
			if field.IsExported() {
				text += fmt.Sprintf("\n  field %s %s", field.Name, field.Type)
			}
		}
	}
	return text
}

func ins(of reflect.Type) (types []string) {
	for i := range of.NumIn() {
		types = append(types, of.In(i).String())
	}
	return types
}

func outs(of reflect.Type) (types []string) {
	for i := range of.NumOut() {
		types = append(types, of.Out(i).String())
	}
	return types
}

func TestCountersAreMethodsOfTheirManager(t *testing.T) {
	manager := reflect.TypeFor[theirs.CommonUpgradeStateManager]()
	counters := reflect.TypeFor[ours.Counters]()
	for i := range counters.NumMethod() {
		our := counters.Method(i)
		their, found := manager.MethodByName(our.Name)
		if !found {
			t.Errorf("%s is no method of theirs", our.Name)
			continue
		}
		got := strings.Replace(our.Type.String(), "upgrade.Counters, ", "", 1)
		if want := their.Type.String(); got != want {
			t.Errorf("%s: %s, theirs is %s", our.Name, got, want)
		}
	}
	if counters.NumMethod() != 6 {
		t.Errorf("%d methods", counters.NumMethod())
	}
}

func TestKeysAreTheSameForFiveDrivers(t *testing.T) {
	for _, driver := range []string{"gpu", "ofed", "doca", "vgpu-manager", "x.y_z-1"} {
		ours.SetDriverName(driver)
		theirs.SetDriverName(driver)
		compared := 0
		for name, p := range served {
			our, isKey := p.ours.(func() string)
			if !isKey {
				continue
			}
			if got, want := our(), p.theirs.(func() string)(); got != want {
				t.Errorf("%s of %s: %s, theirs is %s", name, driver, got, want)
			}
			compared++
		}
		if compared != 9 {
			t.Errorf("%d keys compared", compared)
		}
		got, want := ours.GetUpgradeSkipDrainDriverPodSelector(driver), theirs.GetUpgradeSkipDrainDriverPodSelector(driver)
		if got != want {
			t.Errorf("the selector of a drain: %s, theirs is %s", got, want)
		}
	}
}

var states = []string{
	ours.UpgradeStateUnknown, ours.UpgradeStateUpgradeRequired, ours.UpgradeStateCordonRequired,
	ours.UpgradeStateWaitForJobsRequired, ours.UpgradeStatePodDeletionRequired, ours.UpgradeStateDrainRequired,
	ours.UpgradeStateNodeMaintenanceRequired, ours.UpgradeStatePostMaintenanceRequired,
	ours.UpgradeStatePodRestartRequired, ours.UpgradeStateValidationRequired, ours.UpgradeStateUncordonRequired,
	ours.UpgradeStateDone, ours.UpgradeStateFailed, "a-state-of-tomorrow",
}

func randomNode(random *rand.Rand) *corev1.Node {
	node := &corev1.Node{}
	node.Spec.Unschedulable = random.Intn(5) == 0
	if random.Intn(3) > 0 {
		statuses := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse,
			corev1.ConditionUnknown}
		node.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodeReady, Status: statuses[random.Intn(len(statuses))]},
		}
	}
	return node
}

func TestCountsAreTheSameOnTwoHundredStates(t *testing.T) {
	manager := &theirs.CommonUpgradeManagerImpl{}
	var counters ours.Counters
	different := map[int]bool{}
	for seed := range 200 {
		random := rand.New(rand.NewSource(int64(seed)))
		our, their := ours.NewClusterUpgradeState(), theirs.NewClusterUpgradeState()
		for range random.Intn(30) {
			state, node := states[random.Intn(len(states))], randomNode(random)
			our.NodeStates[state] = append(our.NodeStates[state], &ours.NodeUpgradeState{Node: node})
			their.NodeStates[state] = append(their.NodeStates[state], &theirs.NodeUpgradeState{Node: node})
		}
		parallel, unavailable := random.Intn(12), random.Intn(25)
		counts := []struct {
			of        string
			got, want int
		}{
			{"available", counters.GetUpgradesAvailable(&our, parallel, unavailable),
				manager.GetUpgradesAvailable(&their, parallel, unavailable)},
			{"total", counters.GetTotalManagedNodes(&our), manager.GetTotalManagedNodes(&their)},
			{"in progress", counters.GetUpgradesInProgress(&our), manager.GetUpgradesInProgress(&their)},
			{"done", counters.GetUpgradesDone(&our), manager.GetUpgradesDone(&their)},
			{"failed", counters.GetUpgradesFailed(&our), manager.GetUpgradesFailed(&their)},
			{"pending", counters.GetUpgradesPending(&our), manager.GetUpgradesPending(&their)},
		}
		for _, count := range counts {
			if count.got != count.want {
				t.Errorf("seed %d, %s: %d, theirs is %d", seed, count.of, count.got, count.want)
			}
		}
		different[counts[0].want] = true
	}
	if len(different) < 5 {
		t.Errorf("the states are too much alike: available is one of %v", different)
	}
}
