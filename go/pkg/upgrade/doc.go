// Package upgrade provides the names of the package with the same name in k8s-operator-libs, implemented by this
// engine. An operator changes one import path: docs/go.md.
package upgrade
