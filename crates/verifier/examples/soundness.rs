//! Prints the soundness of every profile, layer and error term: `cargo run -p evergrove-verifier --example soundness`.

use evergrove_verifier::soundness::{Terms, bits, layers};
use evergrove_verifier::{HeightClass, Profile};

fn main() {
    for profile in Profile::ALL {
        let class = HeightClass::H27;
        let b = bits(profile, class);
        println!(
            "{profile}: {:.1} unique decoding, {:.1} Johnson, {:.1} conjectured",
            b.unique_decoding, b.johnson, b.conjectured
        );
        for layer in layers(profile, class) {
            let t = layer.terms();
            print(layer.kind.name(), "unique decoding", &t.unique_decoding);
            print(layer.kind.name(), &format!("Johnson, m = {}", t.multiplicity), &t.johnson);
            print(layer.kind.name(), "random words", &t.conjectured);
        }
        let whole = b.union(15);
        println!("  over 15 proofs: {:.1}, {:.1}, {:.1}\n", whole.unique_decoding, whole.johnson, whole.conjectured);
    }
}

fn print(layer: &str, regime: &str, terms: &Terms) {
    let parts: Vec<String> = terms.named().map(|(name, bits)| format!("{name} {bits:.1}")).collect();
    println!("  {layer:6} {regime:16} {:6.1} = min({})", terms.bits(), parts.join(", "));
}
