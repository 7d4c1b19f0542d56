// Verifies proofs of Evergrove. scripts/header.sh generates this file: change crates/ffi instead.
//
//   evg_request *request = evg_request_new(file, file_len, commitment, commitment_len);
//   if (evg_request_check(request) == 0)
//     while (.. the key file has more bytes .. && evg_request_key(request, bytes, len) == 0) {}
//   evg_verdict *verdict = evg_request_finish(request);
//   if (evg_verdict_code(verdict) == EVG_CODE_ACCEPTED) ..
//   evg_verdict_free(verdict);
//
// examples/c/verify.c is a whole program.
//
// A pointer to bytes may be null where its length is 0. A null handle has no effect. One thread at a
// time uses a handle, and different threads may use different handles.

#ifndef EVERGROVE_H
#define EVERGROVE_H

#include <stddef.h>
#include <stdint.h>

// The outcome, as one word.
enum evg_code
#ifdef __cplusplus
  : uint32_t
#endif // __cplusplus
 {
  // The proof shows what was asked for.
  EVG_CODE_ACCEPTED = 0,
  // The file ends early.
  EVG_CODE_TRUNCATED = 1,
  // Bytes or elements follow the end.
  EVG_CODE_TRAILING = 2,
  // The file is of another kind.
  EVG_CODE_MAGIC = 3,
  // The version of the file is unknown.
  EVG_CODE_VERSION = 4,
  // A record is unknown, missing, duplicate or out of order.
  EVG_CODE_RECORD = 5,
  // A field has a value that no writer gives it.
  EVG_CODE_MALFORMED = 6,
  // An integer that encodes an element is p or more.
  EVG_CODE_NON_CANONICAL = 7,
  // The policy does not accept the scheme.
  EVG_CODE_SCHEME = 8,
  // The backend is not accepted, or not verified by this program.
  EVG_CODE_UNSUPPORTED_BACKEND = 9,
  // The policy does not accept the profile.
  EVG_CODE_PROFILE = 10,
  // The height differs from the commitment's, or the circuits are for other heights.
  EVG_CODE_HEIGHT = 11,
  // The proof is about another table, or about another state of this one.
  EVG_CODE_WRONG_ROOT = 12,
  // The rows are not those of the proof.
  EVG_CODE_WRONG_ROWS = 13,
  // The proof is about another application, or other parameters, than requested.
  EVG_CODE_APPLICATION = 14,
  // The key has tables that this program does not know.
  EVG_CODE_UNSUPPORTED_TABLES = 15,
  // The key file is damaged, or for another key.
  EVG_CODE_WRONG_KEY = 16,
  // An equation of the proof does not hold.
  EVG_CODE_REFUSED = 17,
  // The request itself is invalid.
  EVG_CODE_USAGE = 18,
  // A file cannot be read.
  EVG_CODE_UNREADABLE = 19,
  // The rows do not fit the schema.
  EVG_CODE_BAD_ROWS = 20,
  // There is no key file, hence no verdict.
  EVG_CODE_KEY_MISSING = 21,
};
#ifndef __cplusplus
typedef uint32_t evg_code;
#endif // __cplusplus

// A question about a file. Errors in its parts are reported by the verdict.
typedef struct evg_request evg_request;

// The answer to a request: a code, a sentence and JSON.
typedef struct evg_verdict evg_verdict;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns `len` writable bytes, or null if `len` is 0. Hosts of the WebAssembly module write their arguments there.
// Free them with `evg_free`.
uint8_t *evg_alloc(size_t len);

// Frees bytes of `evg_alloc`. `len` is the length that was asked for. `at` may be null.
void evg_free(uint8_t *at, size_t len);

// Starts a request: does this proof file or opening show something about the table of this commitment?
// The commitment is text of the form `evergrove1:HEIGHT:ROOT`. Both arguments are copied. The result is never null.
// `evg_request_finish` frees the request.
struct evg_request *evg_request_new(const uint8_t *file,
                                    size_t file_len,
                                    const uint8_t *commitment,
                                    size_t commitment_len);

// Asks whether the proof is about exactly these rows. `format` is 0 for csv with a header line, and 1 for one JSON object a
// line. The field `index` is the position of a row. `schema` is TOML. If it is null, a row is four field elements e0 to e3.
// Call it before `evg_request_check`.
void evg_request_rows(struct evg_request *handle,
                      uint32_t format,
                      const uint8_t *text,
                      size_t text_len,
                      const uint8_t *schema,
                      size_t schema_len);

// Accepts proofs of this profile too. Without this call, only `grove-100` is accepted.
// Call it before `evg_request_check`.
void evg_request_allow_profile(struct evg_request *handle, const uint8_t *name, size_t name_len);

// Asks for the output of an application. `parameters` is the digest of its parameters (32 bytes). `inputs` are the `count`
// inputs of its circuits, and `output_len` is the number of elements of its output. Call `evg_request_key_digest` too, and both
// before `evg_request_check`.
void evg_request_application(struct evg_request *handle,
                             const uint8_t *name,
                             size_t name_len,
                             const uint8_t *parameters,
                             const uint64_t *inputs,
                             size_t count,
                             size_t output_len);

// Asks for the output of an application whose circuits take no inputs and whose output is words of four elements: digest
// translation. `parameters` and `output_len` are as in `evg_request_application`.
void evg_request_words(struct evg_request *handle,
                       const uint8_t *name,
                       size_t name_len,
                       const uint8_t *parameters,
                       size_t output_len);

// Sets the trusted digest of the key file (32 bytes). It replaces the digest that the library has for batches.
// Call it before `evg_request_check`.
void evg_request_key_digest(struct evg_request *handle,
                            const uint8_t *key);

// Compares everything that needs no key. Returns 0 if the key file must follow, and 1 if the verdict is ready.
uint32_t evg_request_check(struct evg_request *handle);

// Takes the next bytes of the key file, any number of them. Returns 0 to continue, and 1 if the verdict is ready.
uint32_t evg_request_key(struct evg_request *handle,
                         const uint8_t *at,
                         size_t len);

// Returns the verdict and frees the request. Returns null for a null request. Free the verdict with `evg_verdict_free`.
struct evg_verdict *evg_request_finish(struct evg_request *handle);

// Returns the code of a verdict, an `evg_code`: 0 is accepted.
uint32_t evg_verdict_code(const struct evg_verdict *verdict);

// Returns one sentence about a verdict, and writes its length to `len`. The text is UTF-8 without a zero at the end.
// It is valid until the verdict is freed.
const uint8_t *evg_verdict_sentence(const struct evg_verdict *verdict,
                                    size_t *len);

// Returns the whole verdict as a JSON object, and writes its length to `len`. The text is UTF-8 without a zero at the end.
// It is valid until the verdict is freed.
const uint8_t *evg_verdict_json(const struct evg_verdict *verdict,
                                size_t *len);

// Frees a verdict. It may be null.
void evg_verdict_free(struct evg_verdict *verdict);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EVERGROVE_H */
