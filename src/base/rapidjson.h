// Includes RapidJSON in our own namespace; no other file may include it. RapidJSON is header-only, so a consumer that
// compiles it in another version or with other settings would otherwise violate the one-definition rule.
#ifndef DRIVERUPGRADE_SRC_BASE_RAPIDJSON_H_
#define DRIVERUPGRADE_SRC_BASE_RAPIDJSON_H_

#ifdef RAPIDJSON_RAPIDJSON_H_
#error "include base/rapidjson.h instead of the headers of RapidJSON"
#endif

#include <cstdlib>

#define RAPIDJSON_NAMESPACE driverupgrade_rapidjson
#define RAPIDJSON_HAS_STDSTRING 1
// Processes strings and white space sixteen bytes at a time. The input must be followed by sixteen readable bytes.
#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#endif
// This assertion is enabled in every build, because continuing after a failure would be undefined behavior, and this
// code does not throw. No input must cause a failure: a failure would mean that this library did not check an access.
#define RAPIDJSON_ASSERT(condition) ((condition) ? static_cast<void>(0) : std::abort())

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
// SSE2 is off for the writer, because with SSE2, the writer of RapidJSON 1.1 does not escape the bytes 0x1A to 0x1F, so
// the output is not valid JSON. The reader accepts these bytes in strings, so JsonDocument searches for them itself.
#undef RAPIDJSON_SSE2
#include <rapidjson/writer.h>

#endif  // DRIVERUPGRADE_SRC_BASE_RAPIDJSON_H_
