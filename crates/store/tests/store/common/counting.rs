//! An application without circuits: it counts rows.

use std::sync::Arc;

use evergrove_commit::{
    BackendError, BackendId, BucketWitness, LevelWitness, MergeWitness, NativeBackend, NodeProof, RecursionBackend,
};
use evergrove_primitives::Goldilocks;
use evergrove_proof::{AppSpec, HeightClass, Profile, Scheme};
use evergrove_store::{BackendChoice, Backends};

/// The application: number of rows, and the sum of their first elements, which open their values.
pub fn app() -> AppSpec {
    AppSpec { name: "count".into(), parameters: vec![1, 0, 2] }
}

/// Native proofs of the digests, and the output in front of them.
pub struct Counting {
    /// One of those with an application.
    pub scheme: Scheme,
    /// Of the digests.
    pub digests: NativeBackend,
}

impl Counting {
    fn with(&self, output: Vec<Goldilocks>, proof: NodeProof) -> NodeProof {
        let head = output.iter().flat_map(|x| x.as_u64().to_le_bytes());
        NodeProof { bytes: head.chain(proof.bytes).collect(), output, ..proof }
    }

    fn without(proof: &NodeProof) -> Result<NodeProof, BackendError> {
        let head: Vec<u8> = proof.output.iter().flat_map(|x| x.as_u64().to_le_bytes()).collect();
        let inner = proof.bytes.strip_prefix(head.as_slice()).filter(|_| proof.output.len() == 2);
        let bytes = inner.ok_or_else(|| BackendError::Rejected("another output".into()))?.to_vec();
        Ok(NodeProof { bytes, output: Vec::new(), ..proof.clone() })
    }
}

impl RecursionBackend for Counting {
    fn id(&self) -> BackendId {
        BackendId::new("counting", 1)
    }
    fn profile(&self) -> Profile {
        Profile::Paper
    }
    fn class(&self) -> HeightClass {
        self.digests.class()
    }
    fn capacity(&self) -> usize {
        self.digests.capacity()
    }
    fn scheme(&self) -> Scheme {
        self.scheme
    }
    fn app(&self) -> Option<AppSpec> {
        Some(app())
    }
    fn wraps(&self) -> bool {
        self.digests.wraps()
    }
    fn prove_bucket(&self, witness: &BucketWitness) -> Result<NodeProof, BackendError> {
        let mut output = vec![Goldilocks::ZERO; 2];
        for leaf in &witness.leaves {
            if leaf.opening != leaf.value {
                return Err(BackendError::Witness(format!("slot {} is not opened by its row", leaf.index)));
            }
            output[0] += Goldilocks::ONE;
            output[1] += leaf.value[0];
        }
        Ok(self.with(output, self.digests.prove_bucket(witness)?))
    }
    fn prove_merge(&self, l: &NodeProof, r: &NodeProof, witness: &MergeWitness) -> Result<NodeProof, BackendError> {
        let output = l.output.iter().zip(&r.output).map(|(a, b)| *a + *b).collect();
        let proof = self.digests.prove_merge(&Self::without(l)?, &Self::without(r)?, witness)?;
        Ok(self.with(output, proof))
    }
    fn prove_level(
        &self,
        children: [Option<&NodeProof>; 2],
        witness: &LevelWitness,
    ) -> Result<NodeProof, BackendError> {
        let mut output = vec![Goldilocks::ZERO; 2];
        for child in children.into_iter().flatten() {
            output.iter_mut().zip(&child.output).for_each(|(sum, x)| *sum += *x);
        }
        let [left, right] = children.map(|c| c.map(Self::without).transpose());
        let (left, right) = (left?, right?);
        Ok(self.with(output, self.digests.prove_level([left.as_ref(), right.as_ref()], witness)?))
    }
    fn prove_wrap(&self, child: &NodeProof) -> Result<NodeProof, BackendError> {
        Ok(self.with(child.output.clone(), self.digests.prove_wrap(&Self::without(child)?)?))
    }
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.digests.verify(&Self::without(proof)?)
    }
}

/// The native backends with buckets of 4 leaves, and beside them those that count, over chosen rows and over
/// blocks of 8.
pub fn backends() -> Backends {
    let mut backends = super::native(4);
    for class in HeightClass::ALL {
        let selected = NativeBackend::new(Profile::Paper, class).with_capacity(4);
        let complete = NativeBackend::complete(Profile::Paper, class, 3);
        backends.add(Arc::new(Counting { scheme: Scheme::Selected, digests: selected }));
        backends.add(Arc::new(Counting { scheme: Scheme::Complete, digests: complete }));
        let tree = NativeBackend::tree(Profile::Paper, class, 3);
        backends.add(Arc::new(Counting { scheme: Scheme::Tree, digests: tree }));
    }
    backends
}

/// The backend that counts, in a scheme.
pub fn choice(scheme: Scheme) -> BackendChoice {
    BackendChoice::new("counting", Profile::Paper).with_app(scheme, app().id())
}
