// RapidJSON in a namespace of our own: it is header-only, so a consumer who compiles it with other settings
// or in another version would otherwise share symbols with us (one definition rule). Include it only through
// this header.
#ifndef DRIVERUPGRADE_SRC_BASE_RAPIDJSON_H_
#define DRIVERUPGRADE_SRC_BASE_RAPIDJSON_H_

#ifdef RAPIDJSON_RAPIDJSON_H_
#error "include base/rapidjson.h instead of the headers of RapidJSON"
#endif

#include <cstdlib>

#define RAPIDJSON_NAMESPACE driverupgrade_rapidjson
#define RAPIDJSON_HAS_STDSTRING 1
// Strings and white space sixteen bytes at a time. What is parsed needs as many bytes behind its end.
#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#endif
// In every build: an assertion that fires is an access that was not checked before, a defect of ours whatever the input.
// What comes after it would be undefined, and nothing here throws.
#define RAPIDJSON_ASSERT(condition) ((condition) ? static_cast<void>(0) : std::abort())

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/stringbuffer.h>
// Not the writer: sixteen bytes at a time, that of RapidJSON 1.1 takes 0x1A to 0x1F for text and writes them as they are,
// which is no JSON. The reader takes them for text, too: JsonDocument looks for them itself.
#undef RAPIDJSON_SSE2
#include <rapidjson/writer.h>

#endif  // DRIVERUPGRADE_SRC_BASE_RAPIDJSON_H_
