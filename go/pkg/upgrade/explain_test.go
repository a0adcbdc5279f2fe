package upgrade

import (
	"reflect"
	"testing"

	"driverupgrade.example/go/internal/engine"
)

// fill gives each number and text of a struct its own value.
func fill(of reflect.Value) {
	for i := range of.NumField() {
		switch field := of.Field(i); field.Kind() {
		case reflect.Int:
			field.SetInt(int64(i + 1))
		case reflect.String:
			field.SetString(of.Type().Field(i).Name)
		}
	}
}

// compare reports the numbers and texts of `from` that the field of the same name in `to` does not have.
func compare(t *testing.T, from, to reflect.Value) {
	t.Helper()
	for i := range from.NumField() {
		name := from.Type().Field(i).Name
		copied := to.FieldByName(name)
		if !copied.IsValid() {
			t.Errorf("%s has no field %s", to.Type(), name)
			continue
		}
		if kind := from.Field(i).Kind(); (kind == reflect.Int || kind == reflect.String) && !from.Field(i).Equal(copied) {
			t.Errorf("%s of %s: got %v, want %v", name, to.Type(), copied, from.Field(i))
		}
	}
}

func TestStatsContainAllTotalsOfTheEngine(t *testing.T) {
	w := newWorld(t, 0)
	var totals engine.Totals
	fill(reflect.ValueOf(&totals).Elem())
	stats := w.manager.statsOf([]engine.OwnedPart{{Totals: totals}})
	compare(t, reflect.ValueOf(totals), reflect.ValueOf(stats))
}

func TestARolloutContainsAllFactsOfTheEngine(t *testing.T) {
	var rollout engine.Rollout
	fill(reflect.ValueOf(&rollout).Elem())
	compare(t, reflect.ValueOf(rollout), reflect.ValueOf(rolloutOf("owner", rollout)))
}
