// Converts libcurl failures to statuses. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_CURL_STATUS_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_CURL_STATUS_H_

#include <curl/curl.h>

#include <string_view>

#include "absl/status/status.h"

namespace driverupgrade {

struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string_view words = {};  // the library's message, which may contain text from the server
  int system_error = 0;
  bool sent = false;      // the server may have seen the request
  bool has_head = false;  // the response's headers were complete
};

// `subject` has the form "GET https://host:port/path". `refusal` is the reason why the server's certificate was
// refused, or empty.
absl::Status StatusOfCurlFailure(std::string_view subject, const CurlFailure& failure, std::string_view refusal);

// Returns the OpenSSL code in a message such as "... error:0A00010B:SSL routines::wrong version number ...", or 0
// without a code.
unsigned long OpenSslCodeIn(std::string_view words);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_CURL_STATUS_H_
