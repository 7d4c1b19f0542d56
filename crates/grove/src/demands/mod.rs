//! Which demands of the circuits of batches alone refuse a lie: see [`evergrove_testkit::demands`].

mod batches;
