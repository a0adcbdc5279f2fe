// What a failure of libcurl means. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_CURL_STATUS_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_CURL_STATUS_H_

#include <curl/curl.h>

#include <string_view>

#include "absl/status/status.h"

namespace driverupgrade {

struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string_view words = {};  // The library's; may repeat what the server said.
  int system_error = 0;
  bool sent = false;      // The server may have seen the request.
  bool has_head = false;  // The answer's headers were whole.
};

// `subject`: "GET https://host:port/path". `refusal`: why the server's certificate was refused, if it was.
absl::Status StatusOfCurlFailure(std::string_view subject, const CurlFailure& failure, std::string_view refusal);

// OpenSSL's code in "... error:0A00010B:SSL routines::wrong version number ..."; 0 if there is none.
unsigned long OpenSslCodeIn(std::string_view words);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_CURL_STATUS_H_
