package whatif

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// revisionPair contains the names of two ControllerRevisions between which a restart is enough.
type revisionPair struct {
	Running string `json:"running"`
	Wanted  string `json:"wanted"`
}

// restartOnlyPairs uses the request's predicate to compare each older revision of a DaemonSet with the newest one.
func restartOnlyPairs(request Request, cluster []byte) (pairs []revisionPair, err error) {
	if request.RestartOnly == nil {
		return nil, nil
	}
	revisions := revisionsIn(cluster, request.Namespace)
	newest := map[types.UID]appsv1.ControllerRevision{}
	for _, revision := range revisions {
		owner := ownerOf(revision)
		if found, known := newest[owner]; !known || found.Revision < revision.Revision {
			newest[owner] = revision
		}
	}
	for _, revision := range revisions {
		wanted := newest[ownerOf(revision)]
		if wanted.Name == revision.Name {
			continue
		}
		enough, err := compare(request, revision, wanted)
		if err != nil {
			return nil, fmt.Errorf("compare ControllerRevisions %s and %s: %w", revision.Name, wanted.Name, err)
		}
		if enough {
			pairs = append(pairs, revisionPair{revision.Name, wanted.Name})
		}
	}
	return pairs, nil
}

// revisionsIn returns the DaemonSets' revisions that contain data. It ignores items that it cannot parse, because the
// engine reports errors in a dump.
func revisionsIn(cluster []byte, namespace string) (found []appsv1.ControllerRevision) {
	var list struct{ Items []json.RawMessage }
	if json.Unmarshal(cluster, &list) != nil {
		return nil
	}
	for _, item := range list.Items {
		var kind metav1.TypeMeta
		if json.Unmarshal(item, &kind) != nil || kind.Kind != "ControllerRevision" {
			continue
		}
		var revision appsv1.ControllerRevision
		if json.Unmarshal(item, &revision) != nil || revision.Namespace != namespace || len(revision.Data.Raw) == 0 {
			continue
		}
		if ownerOf(revision) != "" {
			found = append(found, revision)
		}
	}
	return found
}

func ownerOf(revision appsv1.ControllerRevision) types.UID {
	owner := metav1.GetControllerOf(&revision)
	if owner == nil || owner.Kind != "DaemonSet" {
		return ""
	}
	return owner.UID
}

func compare(request Request, running, wanted appsv1.ControllerRevision) (bool, error) {
	from, err := podSpecOf(running)
	if err != nil {
		return false, err
	}
	to, err := podSpecOf(wanted)
	if err != nil {
		return false, err
	}
	return request.RestartOnly(from, to)
}

func podSpecOf(revision appsv1.ControllerRevision) (*corev1.PodSpec, error) {
	var data struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	err := json.Unmarshal(revision.Data.Raw, &data)
	return &data.Spec.Template.Spec, err
}
