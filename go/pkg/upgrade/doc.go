// Package upgrade provides the names of the package upgrade in k8s-operator-libs, implemented with the engine of this
// module. To switch to this package, an operator changes one import path: see docs/go.md.
package upgrade
