//! The instruction set of a whole test program: with `EVERGROVE_ISA=avx2` everything that calls [`Isa::detect`] runs on
//! AVX2.
//!
//! Test programs of other crates have this file as a module too. `make test-isa` runs them on each instruction set of the CPU.

use evergrove_primitives::lanes::{Isa, Kernel, Lanes, dispatch};

const ISA: &str = "EVERGROVE_ISA";

/// The instruction set that the variable names.
fn named() -> Option<Isa> {
    let name = std::env::var_os(ISA)?;
    let known = Isa::ALL.into_iter().find(|isa| *isa.to_string() == *name);
    Some(known.unwrap_or_else(|| panic!("{ISA}: unknown name {}", name.display())))
}

/// Before the first test, since tests run in threads and in no order. A panic ends the program.
#[used]
#[allow(unsafe_code)]
// SAFETY: the section holds pointers to functions that the C library calls before `main`. It passes three arguments, which a C function
// without parameters may ignore on x86-64 and aarch64. The function needs nothing that the standard library sets up in `main`.
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static FORCE: extern "C" fn() = force;

extern "C" fn force() {
    if let Some(isa) = named() {
        isa.choose();
    }
}

/// The instruction set that a kernel is given.
struct Given;

impl Kernel for Given {
    type Output = Isa;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> Isa {
        L::ISA
    }
}

#[test]
fn kernels_are_given_the_instruction_set_that_is_named() {
    assert_eq!(dispatch(Given), Isa::detect());
    if let Some(isa) = named() {
        assert_eq!(dispatch(Given), isa);
    }
}

/// The flags of the first processor in /proc/cpuinfo, which come from the kernel's own detection.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn what_the_cpu_has_is_available() {
    let text = std::fs::read_to_string("/proc/cpuinfo").expect("Linux has it");
    let flags = text.lines().find_map(|line| line.strip_prefix("flags")).expect("x86 CPUs have flags");
    let has = |wanted: &[&str]| wanted.iter().all(|wanted| flags.split_whitespace().any(|flag| flag == *wanted));
    for isa in Isa::ALL {
        let listed = match isa {
            Isa::Portable => true,
            Isa::Avx2 => has(&["avx2", "fma"]),
            Isa::Avx512 => has(&["avx2", "fma", "avx512f", "f16c"]),
            Isa::Avx512Ifma => has(&["avx2", "fma", "avx512f", "f16c", "avx512ifma"]),
        };
        assert_eq!(isa.is_available(), listed, "{isa} beside /proc/cpuinfo");
    }
}
