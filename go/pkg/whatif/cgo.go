//go:build driverupgrade_cgo

package whatif

/*
#cgo LDFLAGS: -ldriverupgrade_c
#include "driverupgrade/c/driverupgrade.h"

static du_code whatif_plan(const char *request, size_t request_size, const char *cluster, size_t cluster_size, du_buf *out) {
  return du_plan((du_str){request, request_size}, (du_str){cluster, cluster_size}, out);
}
static du_code whatif_simulate(const char *request, size_t request_size, const char *cluster, size_t cluster_size, du_buf *out) {
  return du_simulate((du_str){request, request_size}, (du_str){cluster, cluster_size}, out);
}
static du_code whatif_preflight(const char *request, size_t request_size, const char *cluster, size_t cluster_size, du_buf *out) {
  return du_preflight((du_str){request, request_size}, (du_str){cluster, cluster_size}, out);
}
*/
import "C"

import "unsafe"

func plan(request, cluster []byte) ([]byte, error) {
	var out C.du_buf
	requestText, requestSize := span(request)
	clusterText, clusterSize := span(cluster)
	return answerOf(C.whatif_plan(requestText, requestSize, clusterText, clusterSize, &out), &out)
}

func simulate(request, cluster []byte) ([]byte, error) {
	var out C.du_buf
	requestText, requestSize := span(request)
	clusterText, clusterSize := span(cluster)
	return answerOf(C.whatif_simulate(requestText, requestSize, clusterText, clusterSize, &out), &out)
}

func preflight(request, cluster []byte) ([]byte, error) {
	var out C.du_buf
	requestText, requestSize := span(request)
	clusterText, clusterSize := span(cluster)
	return answerOf(C.whatif_preflight(requestText, requestSize, clusterText, clusterSize, &out), &out)
}

// span returns the address and the size of the bytes. C reads them only during the call.
func span(text []byte) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(text))), C.size_t(len(text))
}

func answerOf(code C.du_code, out *C.du_buf) ([]byte, error) {
	text := C.GoBytes(unsafe.Pointer(out.data), C.int(out.size))
	C.du_free(unsafe.Pointer(out.data))
	if code != 0 {
		return nil, &Error{int(code), string(text)}
	}
	return text, nil
}
