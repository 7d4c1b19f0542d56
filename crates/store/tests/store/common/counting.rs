//! An application without circuits, which counts rows.

use std::sync::Arc;

use evergrove_commit::{
    BackendChoice, BackendError, BackendSpec, BucketWitness, LevelWitness, MergeWitness, NativeBackend, NodeProof,
    RecursionBackend, Witness,
};
use evergrove_primitives::Goldilocks;
use evergrove_store::Backends;
use evergrove_verifier::{AppSpec, HeightClass, Profile, Scheme};

/// The application: the number of rows, and the sum of the first elements of their values.
pub fn app() -> AppSpec {
    AppSpec { name: "count".into(), parameters: vec![1, 0, 2] }
}

/// Native proofs of the digests, with the output in front of them.
pub struct Counting {
    spec: BackendSpec,
    digests: NativeBackend,
}

impl Counting {
    /// The application in one of its schemes, with digests by `digests`.
    pub fn new(scheme: Scheme, digests: NativeBackend) -> Self {
        let choice = choice(scheme);
        Self { spec: BackendSpec { choice, ..digests.spec().clone() }, digests }
    }

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

impl Counting {
    fn prove_bucket(&self, witness: &BucketWitness) -> Result<NodeProof, BackendError> {
        let mut output = vec![Goldilocks::ZERO; 2];
        for leaf in &witness.leaves {
            if leaf.opening != leaf.value {
                return Err(BackendError::Witness(format!("slot {} is not opened by its row", leaf.index)));
            }
            output[0] += Goldilocks::ONE;
            output[1] += leaf.value[0];
        }
        Ok(self.with(output, self.digests.prove(&witness.clone().into(), &[])?))
    }
    fn prove_merge(&self, l: &NodeProof, r: &NodeProof, witness: &MergeWitness) -> Result<NodeProof, BackendError> {
        let output = l.output.iter().zip(&r.output).map(|(a, b)| *a + *b).collect();
        let proof = self.digests.prove(&witness.clone().into(), &[&Self::without(l)?, &Self::without(r)?])?;
        Ok(self.with(output, proof))
    }
    fn prove_level(&self, children: &[&NodeProof], witness: &LevelWitness) -> Result<NodeProof, BackendError> {
        let mut output = vec![Goldilocks::ZERO; 2];
        for child in children {
            output.iter_mut().zip(&child.output).for_each(|(sum, x)| *sum += *x);
        }
        let below: Vec<_> = children.iter().map(|c| Self::without(c)).collect::<Result<_, _>>()?;
        let proof = self.digests.prove(&witness.clone().into(), &Vec::from_iter(&below))?;
        Ok(self.with(output, proof))
    }
    fn prove_wrap(&self, child: &NodeProof) -> Result<NodeProof, BackendError> {
        Ok(self.with(child.output.clone(), self.digests.prove(&Witness::Wrap, &[&Self::without(child)?])?))
    }
}

impl RecursionBackend for Counting {
    fn spec(&self) -> &BackendSpec {
        &self.spec
    }
    fn prove(&self, witness: &Witness, children: &[&NodeProof]) -> Result<NodeProof, BackendError> {
        match (witness, children) {
            (Witness::Bucket(witness), []) => self.prove_bucket(witness),
            (Witness::Merge(witness), [l, r]) => self.prove_merge(l, r, witness),
            (Witness::Level(witness), _) => self.prove_level(children, witness),
            (Witness::Wrap, [child]) => self.prove_wrap(child),
            _ => Err(self.spec.foreign_step(witness, children.len())),
        }
    }
    fn verify(&self, proof: &NodeProof) -> Result<(), BackendError> {
        self.digests.verify(&Self::without(proof)?)
    }
}

/// The native backends with buckets of 4 leaves, and the counting backends over chosen rows and over blocks of 8.
pub fn backends() -> Backends {
    let mut backends = super::native(4);
    for class in HeightClass::ALL {
        let selected = NativeBackend::new(Profile::Paper, class).with_capacity(4);
        let complete = NativeBackend::complete(Profile::Paper, class, 3);
        backends.add(Arc::new(Counting::new(Scheme::Selected, selected)));
        backends.add(Arc::new(Counting::new(Scheme::Complete, complete)));
        let tree = NativeBackend::tree(Profile::Paper, class, 3);
        backends.add(Arc::new(Counting::new(Scheme::Tree, tree)));
    }
    backends
}

/// The counting backend in a scheme.
pub fn choice(scheme: Scheme) -> BackendChoice {
    BackendChoice::new("counting", Profile::Paper).with_app(scheme, app())
}
