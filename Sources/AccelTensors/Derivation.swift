/// The derivation of a tensor that a program reads from tensors of the checkpoint; it can be inverted.
public struct Derivation: Equatable, Sendable {
    /// The computation that derives the tensor.
    public enum Rule: String, CaseIterable, Sendable {
        /// One tensor, with the same elements in another shape.
        case reshape
        /// One matrix, transposed.
        case transpose
        /// Lengths and directions, in this order; see `WeightNorm`.
        case weightNorm = "weight-norm"
    }
    /// A tensor of the checkpoint.
    public struct Source: Equatable, Sendable {
        /// The name in the checkpoint.
        public let name: String
        /// The element type in the checkpoint.
        public let elementType: ElementType
        /// The shape in the checkpoint.
        public let shape: Shape

        /// Creates a description of a checkpoint tensor.
        public init(name: String, elementType: ElementType, shape: Shape) {
            (self.name, self.elementType, self.shape) = (name, elementType, shape)
        }

        /// Creates the description of `tensor`.
        public init(_ tensor: StoredTensor) {
            self.init(name: tensor.name, elementType: tensor.elementType, shape: tensor.shape)
        }
    }
    /// The computation.
    public let rule: Rule
    /// The tensors that the rule takes, in its order.
    public let sources: [Source]

    /// Creates a derivation; `flaw(for:)` checks it.
    public init(rule: Rule, sources: [Source]) {
        (self.rule, self.sources) = (rule, sources)
    }

    /// Returns why the rule cannot give a tensor of this shape; nil if it can.
    public func flaw(for shape: Shape) -> String? {
        switch rule {
        case .reshape:
            return sources.count == 1 && sources[0].shape.checkedCount == shape.count
                ? nil : "expected one tensor of \(shape.count) elements"
        case .transpose:
            return sources.count == 1 && shape.rank == 2 && sources[0].shape == shape.transposed
                ? nil : "expected one matrix of \(shape.transposed)"
        case .weightNorm:
            guard sources.count == 2, sources[1].shape == shape,
                WeightNorm.fits(lengths: sources[0].shape, directions: shape)
            else { return "expected lengths and directions of a tensor of \(shape)" }
            return nil
        }
    }
}
