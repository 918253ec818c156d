/// How a tensor that a program reads was made of tensors of the checkpoint, so that those can be made of it again.
public struct Derivation: Equatable, Sendable {
    public enum Rule: String, CaseIterable, Sendable {
        /// One tensor, the same elements in their order under another shape.
        case reshape
        /// One matrix, its rows as columns.
        case transpose
        /// Lengths and directions, in this order: see `WeightNorm`.
        case weightNorm = "weight-norm"
    }
    /// A tensor of the checkpoint.
    public struct Source: Equatable, Sendable {
        public let name: String
        public let elementType: ElementType
        public let shape: Shape

        public init(name: String, elementType: ElementType, shape: Shape) {
            (self.name, self.elementType, self.shape) = (name, elementType, shape)
        }

        public init(_ tensor: StoredTensor) {
            self.init(name: tensor.name, elementType: tensor.elementType, shape: tensor.shape)
        }
    }
    public let rule: Rule
    /// As many as the rule says.
    public let sources: [Source]

    public init(rule: Rule, sources: [Source]) {
        (self.rule, self.sources) = (rule, sources)
    }

    /// Why a tensor of this shape cannot have been made so; nil: it can.
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
