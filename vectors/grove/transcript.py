"""The transcript, messages and paths (docs/math/transcript.md)."""
from grove.field import f, node, tag
from grove.refusal import Refusal

TRANSCRIPT, PUBLIC_INPUTS = tag("tran"), tag("publ")
BASE_ORACLE, EXTENSION_ORACLE = tag("base"), tag("exte")


class Proof:
    """Reads the elements of a proof in their order, and has the state of the transcript."""

    def __init__(self, K, elements):
        self.K, self.elements, self.at = K, elements, 0
        self.half = 4 // K.D  # elements of K in four of F
        self.trees = []

    def demand(self, holds, what):
        if not holds:
            raise Refusal("refused", f"{what} (before element {self.at} of the proof)")

    def word(self):
        if self.at + 4 > len(self.elements):
            raise Refusal("truncated", f"the proof ends after {len(self.elements)} elements, and the verifier reads more")
        self.at += 4
        return self.elements[self.at - 4 : self.at]

    # State h, and the challenges in it that were not drawn.
    def begin(self, t):
        self.h, self.left = [t, 0, 0, 0], []

    def absorb(self, left, right):
        self.h = f([*left, *right], self.h)
        self.left = [self.K(tuple(self.h[i * self.K.D : (i + 1) * self.K.D])) for i in range(self.half)]

    def observe(self, words):
        for i in range(0, len(words), 2):
            self.absorb(words[i], words[i + 1] if i + 1 < len(words) else [0] * 4)

    def observe_elements(self, elements):
        words = []
        for i in range(0, len(elements), self.half):
            word = [x for e in elements[i : i + self.half] for x in e.c]
            words.append(word + [0] * (4 - len(word)))
        self.observe(words)

    def challenge(self):
        if not self.left:
            self.absorb([0] * 4, [0] * 4)
        return self.left.pop(0)

    def receive(self, count):
        """A message of elements of K: as many as fit in each word, what is left of a word 0."""
        words = [self.word() for _ in range(-(-count // self.half))]
        self.observe(words)
        D = self.K.D
        elements = [self.K(tuple(w[i * D : (i + 1) * D])) for w in words for i in range(self.half)]
        fills = [x for w in words for x in w[self.half * D :]] + [x for e in elements[count:] for x in e.c]
        self.demand(not any(fills), "a message is not padded with zeros")
        return elements[:count]

    def receive_cap(self, depth, cap):
        digests = [self.word() for _ in range(1 << cap)]
        self.observe(digests)
        # Digests that are known to belong to the tree: (level, index).
        self.trees.append((depth - cap, {(depth - cap, i): d for i, d in enumerate(digests)}))
        return self.trees[-1]

    def work(self, bits):
        self.receive(1)
        self.demand(self.h[3] % (1 << bits) == 0, f"a proof of work of {bits} bits is missing")

    def indices(self, count, width):
        out, limbs = [], self.h[:3]
        while len(out) < count:
            out += [x >> shift & ((1 << width) - 1) for x in limbs for shift in (0, 21, 42)]
            if len(out) < count:
                self.absorb([0] * 4, [0] * 4)
                limbs = self.h
        self.left = []
        return out[:count]

    def open(self, tree, start, index, words):
        """The leaf of a tree at an index, and its path to the first node that is known."""
        top, known = tree
        leaf = [self.word() for _ in range(words)]
        siblings, level = [], 0
        # A sibling is read unless an earlier path went through a child of the same node.
        while level < top and (level, index >> level) not in known:
            siblings.append(self.word())
            level += 1
        h = [start, 0, 0, 0]
        for i in range(0, words, 2):
            h = f(leaf[i] + leaf[i + 1], h)
        for l, sibling in enumerate(siblings):
            i = index >> l
            known[l, i], known[l, i ^ 1] = h, sibling
            h = node(sibling, h) if i & 1 else node(h, sibling)
        self.demand(h == known[level, index >> level], f"the path of leaf {index} does not lead to its tree")
        return [x for w in leaf for x in w]

    def end(self):
        if self.at != len(self.elements):
            raise Refusal("trailing", f"the proof has {len(self.elements)} elements, of which {self.at} are read")
