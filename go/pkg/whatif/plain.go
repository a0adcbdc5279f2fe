//go:build !driverupgrade_cgo

package whatif

import (
	"errors"

	"driverupgrade.example/go/internal/forecast"
	"driverupgrade.example/go/internal/instance"
)

func plan(request, cluster []byte) ([]byte, error) { return answerOf(forecast.Plan(request, cluster)) }

func simulate(request, cluster []byte) ([]byte, error) {
	return answerOf(forecast.Simulate(request, cluster))
}

func preflight(request, cluster []byte) ([]byte, error) {
	return answerOf(forecast.Preflight(request, cluster))
}

func answerOf(text []byte, err error) ([]byte, error) {
	if failed := (*instance.Error)(nil); errors.As(err, &failed) {
		return nil, &Error{failed.Code, failed.Message}
	}
	return text, err
}
