// Converts failures of libcurl to statuses. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_CURL_STATUS_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_CURL_STATUS_H_

#include <curl/curl.h>

#include <string_view>

#include "absl/status/status.h"

namespace driverupgrade {

struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string_view words = {};  // The library's message; may repeat text from the server.
  int system_error = 0;
  bool sent = false;      // The server may have seen the request.
  bool has_head = false;  // The response's headers were complete.
};

// `subject`: "GET https://host:port/path". `refusal`: the reason why the server's certificate was refused, if it was.
absl::Status StatusOfCurlFailure(std::string_view subject, const CurlFailure& failure, std::string_view refusal);

// Returns OpenSSL's code in "... error:0A00010B:SSL routines::wrong version number ..."; 0 if it is missing.
unsigned long OpenSslCodeIn(std::string_view words);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_CURL_STATUS_H_
