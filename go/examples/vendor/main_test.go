package main

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func TestTheExampleHasTheLinesThatThePageSays(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if lines := bytes.Count(text, []byte("\n")); err != nil || lines > 140 {
		t.Errorf("%d lines, %v", lines, err)
	}
}

func TestEveryRoleIsBoundToTheServiceAccount(t *testing.T) {
	text, err := os.ReadFile("rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	accounts, roles, bound := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var one struct {
			metav1.TypeMeta
			Metadata metav1.ObjectMeta
			RoleRef  rbacv1.RoleRef
			Subjects []rbacv1.Subject
		}
		if err := yaml.Unmarshal(document, &one); err != nil {
			t.Fatal(err)
		}
		switch one.Kind {
		case "ServiceAccount":
			accounts[one.Metadata.Namespace+"/"+one.Metadata.Name] = true
		case "Role", "ClusterRole":
			roles[one.Kind+" "+one.Metadata.Namespace+"/"+one.Metadata.Name] = true
		case "RoleBinding", "ClusterRoleBinding":
			bound[one.RoleRef.Kind+" "+one.Metadata.Namespace+"/"+one.RoleRef.Name] = true
			for _, subject := range one.Subjects {
				if !accounts[subject.Namespace+"/"+subject.Name] {
					t.Errorf("there is no ServiceAccount %s/%s", subject.Namespace, subject.Name)
				}
			}
		}
	}
	if len(roles) == 0 || !maps.Equal(roles, bound) {
		t.Errorf("the roles are %v, and %v are bound", slices.Sorted(maps.Keys(roles)), slices.Sorted(maps.Keys(bound)))
	}
}
