/* Verifies a proof file of Evergrove, and reads the key file in pieces of 64 KiB.
 *
 *   cargo build --package evergrove-ffi --release
 *   cc -std=c11 -I crates/ffi/include examples/c/verify.c target/release/libevergrove_verify.a -o verify
 *   ./verify [--allow-profile NAME] PROOF COMMITMENT KEY [ROWS.csv [SCHEMA.toml]]
 *
 * It prints the code, a sentence and the JSON object of the verdict. The exit code is 0 if the proof is
 * accepted, 1 if it is refused, 2 for wrong usage or unreadable input, and 3 if there is no verdict.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evergrove.h"

/* Larger inputs are not read into memory. */
#define MAX_INPUT ((size_t)1 << 28)
#define PIECE ((size_t)1 << 16)

enum { ACCEPTED = 0, REFUSED = 1, USAGE = 2, NO_VERDICT = 3 };

struct bytes {
  uint8_t *at;
  size_t len;
};

/* Reads a whole file. Returns 0 and prints an error if it cannot be read. */
static int read_file(const char *path, struct bytes *out) {
  FILE *file = fopen(path, "rb");
  size_t room = PIECE;
  out->at = NULL;
  out->len = 0;
  if (file == NULL) {
    perror(path);
    return 0;
  }
  for (;;) {
    uint8_t *grown = realloc(out->at, room);
    if (grown == NULL) break;
    out->at = grown;
    out->len += fread(out->at + out->len, 1, room - out->len, file);
    if (out->len < room) {
      if (ferror(file)) break;
      fclose(file);
      return 1;
    }
    if (room >= MAX_INPUT) break;
    room *= 2;
  }
  fprintf(stderr, "%s: cannot be read\n", path);
  fclose(file);
  free(out->at);
  out->at = NULL;
  return 0;
}

/* Gives the key file to the request. Returns 0 and prints an error if reading fails. A missing file counts as
 * an empty key, for which the library has its own code. */
static int stream_key(evg_request *request, const char *path) {
  static uint8_t piece[PIECE];
  FILE *file = fopen(path, "rb");
  size_t len;
  int read;
  if (file == NULL) return 1;
  while ((len = fread(piece, 1, sizeof piece, file)) > 0) {
    if (evg_request_key(request, piece, len) != 0) break;
  }
  read = !ferror(file);
  fclose(file);
  if (!read) perror(path);
  return read;
}

/* The exit code of a verdict. */
static int exit_code(uint32_t code) {
  switch (code) {
  case EVG_CODE_ACCEPTED: return ACCEPTED;
  case EVG_CODE_USAGE:
  case EVG_CODE_UNREADABLE:
  case EVG_CODE_BAD_ROWS: return USAGE;
  case EVG_CODE_KEY_MISSING: return NO_VERDICT;
  default: return REFUSED;
  }
}

/* Asks about the rows of a csv file. */
static int ask_about_rows(evg_request *request, const char *rows_path, const char *schema_path) {
  struct bytes rows, schema = {NULL, 0};
  if (!read_file(rows_path, &rows)) return 0;
  if (schema_path != NULL && !read_file(schema_path, &schema)) {
    free(rows.at);
    return 0;
  }
  evg_request_rows(request, 0, rows.at, rows.len, schema.at, schema.len);
  free(rows.at);
  free(schema.at);
  return 1;
}

int main(int argc, char **argv) {
  const char *profile = NULL;
  struct bytes proof;
  evg_request *request;
  evg_verdict *verdict;
  const uint8_t *text;
  size_t len;
  uint32_t code;
  int ready;

  if (argc > 2 && strcmp(argv[1], "--allow-profile") == 0) {
    profile = argv[2];
    argv += 2;
    argc -= 2;
  }
  if (argc < 4 || argc > 6) {
    fprintf(stderr, "usage: verify [--allow-profile NAME] PROOF COMMITMENT KEY [ROWS.csv [SCHEMA.toml]]\n");
    return USAGE;
  }
  if (!read_file(argv[1], &proof)) return USAGE;
  request = evg_request_new(proof.at, proof.len, (const uint8_t *)argv[2], strlen(argv[2]));
  free(proof.at);
  if (profile != NULL) evg_request_allow_profile(request, (const uint8_t *)profile, strlen(profile));
  ready = argc == 4 || ask_about_rows(request, argv[4], argv[5]);
  if (ready && evg_request_check(request) == 0) ready = stream_key(request, argv[3]);

  verdict = evg_request_finish(request);
  if (!ready) {
    evg_verdict_free(verdict);
    return USAGE;
  }
  code = evg_verdict_code(verdict);
  text = evg_verdict_sentence(verdict, &len);
  printf("%u %.*s\n", (unsigned)code, (int)len, (const char *)text);
  text = evg_verdict_json(verdict, &len);
  printf("%.*s\n", (int)len, (const char *)text);
  evg_verdict_free(verdict);
  return exit_code(code);
}
