// Package upgrade has the names of k8s-operator-libs' package of the same name, so that an operator changes one import
// path, and this engine behind them: docs/go.md.
package upgrade
