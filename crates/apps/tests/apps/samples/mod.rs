//! The sample applications.

mod laws;

/// The circuits that the laws compare the code with.
use evergrove_apps::laws as circuits;

use evergrove_apps::samples::Tally;
use evergrove_apps::{AppId, MapReduce};

#[test]
fn parameters_make_another_application() {
    let [a, b] = [Tally::new(20).id(), Tally::new(21).id()];
    assert_ne!(a, b);
    assert_eq!(a, AppId::new("tally", &[20]));
    assert_ne!(AppId::new("tally", &[]), AppId::new("tally", &[0]));
    assert!(a.to_string().starts_with("tally:") && a.to_string().len() == 6 + 64);
}
