//! The functions of C: each takes handles and lengths, none unwinds, and none is called from two threads with one handle.
//!
//! **Safety of all of them.** A pointer to bytes is null where its length is 0, or points to so many bytes that are not written to during the call. A handle is one that
//! [`evg_request_new`] or [`evg_request_finish`] gave, is used by one thread at a time, and is not used behind the function that takes it away. A
//! null handle does nothing.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr;

use crate::Request;
use crate::request::{Next, Verdict};
use crate::rows::Format;

/// Bytes of a digest.
const DIGEST: usize = 32;

/// The bytes at a pointer; none at null.
///
/// # Safety
/// That of the module.
unsafe fn bytes<'a>(at: *const u8, len: usize) -> &'a [u8] {
    if at.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: the caller has so many bytes there, and nobody writes to them.
    unsafe { core::slice::from_raw_parts(at, len) }
}

/// The digest at a pointer, `None` at null.
///
/// # Safety
/// That of the module.
unsafe fn digest<'a>(at: *const u8) -> Option<&'a [u8; DIGEST]> {
    // SAFETY: the caller has 32 bytes there.
    unsafe { bytes(at, DIGEST) }.try_into().ok()
}

/// The request of a handle.
///
/// # Safety
/// That of the module.
unsafe fn request<'a>(handle: *mut Request) -> Option<&'a mut Request> {
    // SAFETY: a handle is null or a request that this thread alone uses.
    unsafe { handle.as_mut() }
}

fn next(next: Next) -> u32 {
    match next {
        Next::Key => 0,
        Next::Verdict => 1,
    }
}

/// Room for `len` bytes, for hosts that write into the memory of a module of WebAssembly. Null if `len` is 0.
#[unsafe(no_mangle)]
pub extern "C" fn evg_alloc(len: usize) -> *mut u8 {
    if len == 0 {
        return ptr::null_mut();
    }
    let mut room = core::mem::ManuallyDrop::new(alloc::vec![0u8; len].into_boxed_slice());
    room.as_mut_ptr()
}

/// Frees what [`evg_alloc`] gave for the same length.
///
/// # Safety
/// `at` is null, or `evg_alloc(len)` gave it and it was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_free(at: *mut u8, len: usize) {
    if !at.is_null() {
        // SAFETY: a boxed slice of so many bytes was made of it.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(at, len)) });
    }
}

/// A request: whether a proof file or opening shows something about the table of a commitment, `evergrove1:HEIGHT:ROOT`. The bytes are copied. Never null.
/// `evg_request_finish` takes it away.
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
    // SAFETY: passed on.
    let (file, commitment) = unsafe { (bytes(file, file_len), bytes(commitment, commitment_len)) };
    Box::into_raw(Box::new(Request::new(Vec::from(file), commitment)))
}

/// Asks about exactly these rows: csv with a header (`format` 0) or JSON objects in lines (`format` 1), with a field `index`. `schema` is TOML; null where
/// each row is four elements e0 to e3.
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
    // SAFETY: passed on.
    let (request, text, given) = unsafe { (request(handle), bytes(text, text_len), bytes(schema, schema_len)) };
    let format = if format == 1 { Format::Jsonl } else { Format::Csv };
    if let Some(request) = request {
        request.rows(format, text, (!schema.is_null()).then_some(given));
    }
}

/// Accepts proofs of this profile, too: the default accepts `grove-100`.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_allow_profile(handle: *mut Request, name: *const u8, name_len: usize) {
    // SAFETY: passed on.
    if let (Some(request), name) = unsafe { (request(handle), bytes(name, name_len)) } {
        request.allow_profile(name);
    }
}

/// Accepts outputs of an application: its name, the digest of its parameters (32 bytes), the inputs of its circuits, and the elements of its output. With `inputs`
/// null the output is words of four elements, as that of digest translation. `evg_request_key_digest` is to be called, too.
///
/// # Safety
/// That of the module; `inputs` is null or points to `count` integers.
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
    // SAFETY: passed on.
    let (request, name, parameters) = unsafe { (request(handle), bytes(name, name_len), digest(parameters)) };
    let inputs: Option<Vec<u64>> = (!inputs.is_null()).then(|| {
        // SAFETY: the caller has so many integers there. They may lie anywhere: hosts of WebAssembly put them where there is room.
        (0..count).map(|i| unsafe { inputs.add(i).read_unaligned() }).collect()
    });
    if let (Some(request), Some(parameters)) = (request, parameters) {
        request.application(name, parameters, inputs.as_deref(), output_len);
    }
}

/// The trusted digest of the key file (32 bytes), in place of the one that the library pins for batches.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_key_digest(handle: *mut Request, key: *const u8) {
    // SAFETY: passed on.
    if let (Some(request), Some(key)) = unsafe { (request(handle), digest(key)) } {
        request.key_digest(key);
    }
}

/// Compares all that needs no key: 0 if the bytes of the key file are to follow, 1 if the verdict is there.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_check(handle: *mut Request) -> u32 {
    // SAFETY: passed on.
    unsafe { request(handle) }.map_or(1, |request| next(request.check()))
}

/// The next bytes of the key file, any number of them: 0 to go on, 1 if the verdict is there.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_key(handle: *mut Request, at: *const u8, len: usize) -> u32 {
    // SAFETY: passed on.
    let (request, piece) = unsafe { (request(handle), bytes(at, len)) };
    request.map_or(1, |request| next(request.key(piece)))
}

/// The verdict, and the end of the request. Null if the request is. `evg_verdict_free` takes it away.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_request_finish(handle: *mut Request) -> *mut Verdict {
    if handle.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: `evg_request_new` made it of a box, and the caller does not use it again.
    let request = unsafe { Box::from_raw(handle) };
    Box::into_raw(Box::new(request.finish()))
}

/// The code of a verdict: 0 is accepted. `evg_code` in the header names them.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_verdict_code(verdict: *const Verdict) -> u32 {
    // SAFETY: a handle is null or a verdict.
    unsafe { verdict.as_ref() }.map_or(evergrove_verifier::verify::Code::Usage as u32, |verdict| verdict.code() as u32)
}

/// A sentence about a verdict, in UTF-8 and without a zero at its end; its length goes to `len`. It lives as long as the verdict.
///
/// # Safety
/// That of the module; `len` is null or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_verdict_sentence(verdict: *const Verdict, len: *mut usize) -> *const u8 {
    // SAFETY: a handle is null or a verdict; `len` is passed on.
    unsafe { text(verdict.as_ref().map(Verdict::sentence), len) }
}

/// All of a verdict as a JSON object, in UTF-8 and without a zero at its end; its length goes to `len`. It lives as long as the verdict.
///
/// # Safety
/// That of the module; `len` is null or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_verdict_json(verdict: *const Verdict, len: *mut usize) -> *const u8 {
    // SAFETY: a handle is null or a verdict; `len` is passed on.
    unsafe { text(verdict.as_ref().map(Verdict::json), len) }
}

/// # Safety
/// `len` is null or can be written to.
unsafe fn text(text: Option<&str>, len: *mut usize) -> *const u8 {
    // SAFETY: the caller says so.
    if let Some(len) = unsafe { len.as_mut() } {
        *len = text.map_or(0, str::len);
    }
    text.map_or(ptr::null(), str::as_ptr)
}

/// Frees a verdict.
///
/// # Safety
/// That of the module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evg_verdict_free(verdict: *mut Verdict) {
    if !verdict.is_null() {
        // SAFETY: `evg_request_finish` made it of a box, and the caller does not use it again.
        drop(unsafe { Box::from_raw(verdict) });
    }
}
