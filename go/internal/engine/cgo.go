//go:build driverupgrade_cgo

package engine

/*
#cgo LDFLAGS: -ldriverupgrade_c
#include "driverupgrade/c/driverupgrade.h"

// Each document is passed as two arguments, because cgo does not pass structs that contain pointers into Go's memory.
#define TEXT(name) const char *name, size_t name##_size
#define STR(name) ((du_str){name, name##_size})

static du_code host_new(TEXT(options), du_engine **e, du_buf *out) { return du_engine_new(STR(options), e, out); }
static du_code host_put(du_engine *e, int32_t kind, TEXT(list), du_buf *out) { return du_engine_put(e, kind, STR(list), out); }
static du_code host_watch_line(du_engine *e, int32_t kind, TEXT(line), du_buf *out) {
  return du_engine_watch_line(e, kind, STR(line), out);
}
static du_code host_put_pods(du_engine *e, TEXT(node), TEXT(list), TEXT(uses), du_buf *out) {
  return du_engine_put_pods(e, STR(node), STR(list), STR(uses), out);
}
static du_code host_tell(du_engine *e, TEXT(answers), du_buf *out) { return du_engine_tell(e, STR(answers), out); }
static du_code host_put_time_zone(du_engine *e, TEXT(zone), du_buf *out) { return du_engine_put_time_zone(e, STR(zone), out); }
static du_code host_apply(du_engine *e, TEXT(nodes), TEXT(policy), int64_t now, du_buf *out) {
  return du_engine_apply(e, STR(nodes), STR(policy), now, out);
}
static du_code host_release(du_engine *e, TEXT(nodes), int64_t now, du_buf *out) {
  return du_engine_release(e, STR(nodes), now, out);
}
static du_code host_next(du_engine *e, TEXT(node), int64_t now, du_buf *out) { return du_engine_next(e, STR(node), now, out); }
static du_code host_answer(du_engine *e, TEXT(node), int32_t status, int32_t retry, TEXT(body), int64_t now, du_buf *out) {
  return du_engine_answer(e, STR(node), status, retry, STR(body), now, out);
}
static du_code host_rollout(du_engine *e, TEXT(facts), int64_t now, du_buf *out) {
  return du_engine_rollout(e, STR(facts), now, out);
}
static du_code host_normalize(TEXT(policy), du_buf *out) { return du_policy_normalize(STR(policy), out); }
static du_code host_explain(du_engine *e, TEXT(node), du_buf *out) { return du_engine_explain(e, STR(node), out); }
*/
import "C"

import (
	"encoding/json"
	"unsafe"

	"driverupgrade.example/go/internal/timezones"
)

type native struct{ engine *C.du_engine }

func newBackend(options []byte) (backend, error) {
	made := &native{}
	var out C.du_buf
	text, size := span(options)
	if _, err := result(C.host_new(text, size, &made.engine, &out), &out); err != nil {
		return nil, err
	}
	return made, nil
}

func normalizePolicy(policy []byte, zones []timezones.Zone) error {
	request, err := json.Marshal(map[string]any{"policy": json.RawMessage(policy), "timeZones": append([]timezones.Zone{}, zones...)})
	if err != nil {
		return err
	}
	var out C.du_buf
	text, size := span(request)
	_, err = result(C.host_normalize(text, size, &out), &out)
	return err
}

// span returns the address and the size of the bytes. C reads them only during the call.
func span(text []byte) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(text))), C.size_t(len(text))
}

func name(text string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(text))), C.size_t(len(text))
}

func result(code C.du_code, out *C.du_buf) ([]byte, error) {
	text := C.GoBytes(unsafe.Pointer(out.data), C.int(out.size))
	C.du_free(unsafe.Pointer(out.data))
	if code != 0 {
		return nil, &Error{int(code), string(text)}
	}
	return text, nil
}

func (n *native) put(kind int32, list []byte) ([]byte, error) {
	var out C.du_buf
	text, size := span(list)
	return result(C.host_put(n.engine, C.int32_t(kind), text, size, &out), &out)
}

func (n *native) watchLine(kind int32, line []byte) ([]byte, error) {
	var out C.du_buf
	text, size := span(line)
	return result(C.host_watch_line(n.engine, C.int32_t(kind), text, size, &out), &out)
}

func (n *native) putPods(node string, list, usesDriver []byte) ([]byte, error) {
	var out C.du_buf
	nodeText, nodeSize := name(node)
	listText, listSize := span(list)
	usesText, usesSize := span(usesDriver)
	return result(C.host_put_pods(n.engine, nodeText, nodeSize, listText, listSize, usesText, usesSize, &out), &out)
}

func (n *native) read(nowMs int64) ([]byte, error) {
	var out C.du_buf
	return result(C.du_engine_read(n.engine, C.int64_t(nowMs), &out), &out)
}

func (n *native) tell(answers []byte) ([]byte, error) {
	var out C.du_buf
	text, size := span(answers)
	return result(C.host_tell(n.engine, text, size, &out), &out)
}

func (n *native) putTimeZone(zone []byte) ([]byte, error) {
	var out C.du_buf
	text, size := span(zone)
	return result(C.host_put_time_zone(n.engine, text, size, &out), &out)
}

func (n *native) apply(nodes, policy []byte, nowMs int64) ([]byte, error) {
	var out C.du_buf
	nodesText, nodesSize := span(nodes)
	policyText, policySize := span(policy)
	return result(C.host_apply(n.engine, nodesText, nodesSize, policyText, policySize, C.int64_t(nowMs), &out), &out)
}

func (n *native) release(nodes []byte, nowMs int64) ([]byte, error) {
	var out C.du_buf
	text, size := span(nodes)
	return result(C.host_release(n.engine, text, size, C.int64_t(nowMs), &out), &out)
}

func (n *native) next(node string, nowMs int64) ([]byte, error) {
	var out C.du_buf
	text, size := name(node)
	return result(C.host_next(n.engine, text, size, C.int64_t(nowMs), &out), &out)
}

func (n *native) answer(node string, status, retryAfterS int32, body []byte, nowMs int64) ([]byte, error) {
	var out C.du_buf
	nodeText, nodeSize := name(node)
	bodyText, bodySize := span(body)
	return result(C.host_answer(n.engine, nodeText, nodeSize, C.int32_t(status), C.int32_t(retryAfterS), bodyText, bodySize,
		C.int64_t(nowMs), &out), &out)
}

func (n *native) settle(nowMs int64) ([]byte, error) {
	var out C.du_buf
	return result(C.du_engine_settle(n.engine, C.int64_t(nowMs), &out), &out)
}

func (n *native) explain(node string) ([]byte, error) {
	var out C.du_buf
	text, size := name(node)
	return result(C.host_explain(n.engine, text, size, &out), &out)
}

func (n *native) everything() ([]byte, error) {
	var out C.du_buf
	return result(C.du_engine_everything(n.engine, &out), &out)
}

func (n *native) rollout(facts []byte, nowMs int64) ([]byte, error) {
	var out C.du_buf
	text, size := span(facts)
	return result(C.host_rollout(n.engine, text, size, C.int64_t(nowMs), &out), &out)
}

func (n *native) free() { C.du_engine_free(n.engine) }
