// Package upgrade has the names of k8s-operator-libs' package of the same name, so that an operator changes one import
// path. What it serves today, and what not yet, stands in docs/go.md.
package upgrade
