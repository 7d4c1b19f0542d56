//! The functions of C that `include/evergrove.h` declares. Each takes handles and lengths, and none unwinds.
//!
//! **Safety.** All functions have the same conditions:
//! - A pointer to bytes is null, or points to as many bytes as the length says. Nobody writes to these bytes during the
//!   call.
//! - A handle is null, or [`evg_request_new`] or [`evg_request_finish`] returned it. Only one thread at a time uses it.
//!   Nobody uses it after the function that frees it.
//! - A null handle has no effect.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr;

use evergrove_verifier::verify::Code;

use crate::Request;
use crate::request::{Next, Verdict};
use crate::rows::Format;

/// Bytes of a digest.
const DIGEST: usize = 32;

/// The bytes at a pointer, or none if it is null.
///
/// # Safety
/// The conditions of the module.
unsafe fn bytes<'a>(at: *const u8, len: usize) -> &'a [u8] {
    if at.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: the caller has `len` bytes at `at`, and nobody writes to them.
    unsafe { core::slice::from_raw_parts(at, len) }
}

/// The digest at a pointer, or `None` if it is null.
///
/// # Safety
/// The conditions of the module.
unsafe fn digest<'a>(at: *const u8) -> Option<&'a [u8; DIGEST]> {
    // SAFETY: the caller has 32 bytes at `at`.
    unsafe { bytes(at, DIGEST) }.try_into().ok()
}

/// The request of a handle.
///
/// # Safety
/// The conditions of the module.
unsafe fn request<'a>(handle: *mut Request) -> Option<&'a mut Request> {
    // SAFETY: a handle is null or a request that only this thread uses.
    unsafe { handle.as_mut() }
}

fn next(next: Next) -> u32 {
    match next {
        Next::Key => 0,
        Next::Verdict => 1,
    }
}

/// Returns `len` writable bytes, or null if `len` is 0. Hosts of the WebAssembly module write their arguments there.
/// Free them with `evg_free`.
#[unsafe(no_mangle)]
pub extern "C" fn evg_alloc(len: usize) -> *mut u8 {
    if len == 0 {
        return ptr::null_mut();
    }
    let mut room = core::mem::ManuallyDrop::new(alloc::vec![0u8; len].into_boxed_slice());
    room.as_mut_ptr()
}

/// Frees bytes of `evg_alloc`. `len` is the length that was asked for. `at` may be null.
///
/// # Safety
/// `at` is null, or `evg_alloc(len)` gave it and it was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_free(at: *mut u8, len: usize) {
    if !at.is_null() {
        // SAFETY: `at` came from a boxed slice of `len` bytes.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(at, len)) });
    }
}

/// Starts a request: does this proof file or opening show something about the table of this commitment?
/// The commitment is text of the form `evergrove1:HEIGHT:ROOT`. Both arguments are copied. The result is never null.
/// `evg_request_finish` frees the request.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_new(
    file: *const u8,
    file_len: usize,
    commitment: *const u8,
    commitment_len: usize,
) -> *mut Request {
    // SAFETY: the caller meets the conditions of the module.
    let (file, commitment) = unsafe { (bytes(file, file_len), bytes(commitment, commitment_len)) };
    Box::into_raw(Box::new(Request::new(Vec::from(file), commitment)))
}

/// Asks whether the proof is about exactly these rows. `format` is 0 for csv with a header line, and 1 for one JSON object a
/// line. The field `index` is the position of a row. `schema` is TOML. If it is null, a row is four field elements e0 to e3.
/// Call it before `evg_request_check`.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_rows(
    handle: *mut Request,
    format: u32,
    text: *const u8,
    text_len: usize,
    schema: *const u8,
    schema_len: usize,
) {
    // SAFETY: the caller meets the conditions of the module.
    let (request, text, given) = unsafe { (request(handle), bytes(text, text_len), bytes(schema, schema_len)) };
    let Some(request) = request else { return };
    match format {
        _ if schema.is_null() && schema_len > 0 => request.refuse(Code::Usage, "missing schema of the rows"),
        0 => request.rows(Format::Csv, text, (!schema.is_null()).then_some(given)),
        1 => request.rows(Format::Jsonl, text, (!schema.is_null()).then_some(given)),
        _ => request.refuse(Code::Usage, alloc::format!("unknown format {format}: expected 0 (csv) or 1 (jsonl)")),
    }
}

/// Accepts proofs of this profile too. Without this call, only `grove-100` is accepted.
/// Call it before `evg_request_check`.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_allow_profile(handle: *mut Request, name: *const u8, name_len: usize) {
    // SAFETY: the caller meets the conditions of the module.
    if let (Some(request), name) = unsafe { (request(handle), bytes(name, name_len)) } {
        request.allow_profile(name);
    }
}

/// Asks for the output of an application. `parameters` is the digest of its parameters (32 bytes). `inputs` are the `count`
/// inputs of its circuits, and `output_len` is the number of elements of its output. Call `evg_request_key_digest` too, and both
/// before `evg_request_check`.
///
/// # Safety
/// That of the module; `inputs` is null where `count` is 0, or points to `count` integers. They need no alignment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_application(
    handle: *mut Request,
    name: *const u8,
    name_len: usize,
    parameters: *const u8,
    inputs: *const u64,
    count: usize,
    output_len: usize,
) {
    // SAFETY: the caller meets the conditions of the module.
    let (request, name, parameters) = unsafe { (request(handle), bytes(name, name_len), digest(parameters)) };
    let Some(request) = request else { return };
    match parameters {
        _ if inputs.is_null() && count > 0 => request.refuse(Code::Usage, "missing inputs of the application"),
        None => request.refuse(Code::Usage, "missing digest of the application's parameters"),
        Some(parameters) => {
            // SAFETY: the caller has `count` integers at `inputs`.
            let inputs: Vec<u64> = (0..count).map(|i| unsafe { inputs.add(i).read_unaligned() }).collect();
            request.application(name, parameters, Some(&inputs), output_len);
        }
    }
}

/// Asks for the output of an application whose circuits take no inputs and whose output is words of four elements: digest
/// translation. `parameters` and `output_len` are as in `evg_request_application`.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_words(
    handle: *mut Request,
    name: *const u8,
    name_len: usize,
    parameters: *const u8,
    output_len: usize,
) {
    // SAFETY: the caller meets the conditions of the module.
    match unsafe { (request(handle), bytes(name, name_len), digest(parameters)) } {
        (None, ..) => {}
        (Some(request), _, None) => request.refuse(Code::Usage, "missing digest of the application's parameters"),
        (Some(request), name, Some(parameters)) => request.application(name, parameters, None, output_len),
    }
}

/// Sets the trusted digest of the key file (32 bytes). It replaces the digest that the library has for batches.
/// Call it before `evg_request_check`.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_key_digest(handle: *mut Request, key: *const u8) {
    // SAFETY: the caller meets the conditions of the module.
    match unsafe { (request(handle), digest(key)) } {
        (Some(request), Some(key)) => request.key_digest(key),
        (Some(request), None) => request.refuse(Code::Usage, "missing digest of the key"),
        (None, _) => {}
    }
}

/// Compares everything that needs no key. Returns 0 if the key file must follow, and 1 if the verdict is ready.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_check(handle: *mut Request) -> u32 {
    // SAFETY: the caller meets the conditions of the module.
    unsafe { request(handle) }.map_or(1, |request| next(request.check()))
}

/// Takes the next bytes of the key file, any number of them. Returns 0 to continue, and 1 if the verdict is ready.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_key(handle: *mut Request, at: *const u8, len: usize) -> u32 {
    // SAFETY: the caller meets the conditions of the module.
    let (request, piece) = unsafe { (request(handle), bytes(at, len)) };
    request.map_or(1, |request| next(request.key(piece)))
}

/// Returns the verdict and frees the request. Returns null for a null request. Free the verdict with `evg_verdict_free`.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_finish(handle: *mut Request) -> *mut Verdict {
    if handle.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: `evg_request_new` made the handle from a box, and the caller does not use it again.
    let request = unsafe { Box::from_raw(handle) };
    Box::into_raw(Box::new(request.finish()))
}

/// Returns the code of a verdict, an `evg_code`: 0 is accepted.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_verdict_code(verdict: *const Verdict) -> u32 {
    // SAFETY: a handle is null or a verdict.
    unsafe { verdict.as_ref() }.map_or(Code::Usage as u32, |verdict| verdict.code() as u32)
}

/// Returns one sentence about a verdict, and writes its length to `len`. The text is UTF-8 without a zero at the end.
/// It is valid until the verdict is freed.
///
/// # Safety
/// That of the module; `len` is null or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_verdict_sentence(verdict: *const Verdict, len: *mut usize) -> *const u8 {
    // SAFETY: a handle is null or a verdict. The caller meets the condition of `text` for `len`.
    unsafe { text(verdict.as_ref().map(Verdict::sentence), len) }
}

/// Returns the whole verdict as a JSON object, and writes its length to `len`. The text is UTF-8 without a zero at the end.
/// It is valid until the verdict is freed.
///
/// # Safety
/// That of the module; `len` is null or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_verdict_json(verdict: *const Verdict, len: *mut usize) -> *const u8 {
    // SAFETY: a handle is null or a verdict. The caller meets the condition of `text` for `len`.
    unsafe { text(verdict.as_ref().map(Verdict::json), len) }
}

/// # Safety
/// `len` is null or can be written to.
unsafe fn text(text: Option<&str>, len: *mut usize) -> *const u8 {
    // SAFETY: `len` is null or can be written to.
    if let Some(len) = unsafe { len.as_mut() } {
        *len = text.map_or(0, str::len);
    }
    text.map_or(ptr::null(), str::as_ptr)
}

/// Frees a verdict. It may be null.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_verdict_free(verdict: *mut Verdict) {
    if !verdict.is_null() {
        // SAFETY: `evg_request_finish` made the handle from a box, and the caller does not use it again.
        drop(unsafe { Box::from_raw(verdict) });
    }
}
