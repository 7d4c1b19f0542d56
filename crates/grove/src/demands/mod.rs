//! Which demands of the circuits of batches, of digest translation and of reshaping alone refuse a lie: see
//! [`evergrove_testkit::demands`].

mod batches;
mod reshape;
mod translation;
