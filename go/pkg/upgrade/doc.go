// Package upgrade provides the API of the upgrade package in k8s-operator-libs on top of this module's engine. To
// switch to it, an operator changes one import path: see docs/go.md.
package upgrade
