public import ByteIO
public import Tensors

/// Which weight is stored how: the first rule that fits wins, else the default.
public struct Recipe: Sendable {
    public struct Rule: Sendable {
        /// Glob over the tensor's name: `*` any run of characters, `?` one, `[abc]` one of these.
        public var match: String?
        /// Name of an operator that reads the weight, e.g. `linear`, `gather`.
        public var `operator`: String?
        /// Fits tensors of at least so many elements.
        public var atLeast: Int?
        public var codec: any WeightCodec
    }
    public var defaultCodec: any WeightCodec
    public var rules: [Rule]

    public init(default codec: any WeightCodec, rules: [Rule] = []) {
        self.defaultCodec = codec
        self.rules = rules
    }
    /// `{"default": SPEC, "rules": [{"match": ..., "operator": ..., "atLeast": ..., "compress": SPEC}]}`, as schemas/recipe.schema.json says.
    public init(_ document: JSONField) throws { fatalError("helper") }
    /// The whole recipe with every default written out; equal recipes give equal bytes.
    public var json: JSON { fatalError("helper") }

    public struct Choice: Sendable {
        public let codec: any WeightCodec
        /// Why the weight is not stored as the recipe's codec would; nil when it is.
        public let reason: String?
    }
    /// The codec for a weight that `operators` read. A weight that the chosen codec objects to is stored as it is in the checkpoint, with the reason.
    public func choice(for tensor: StoredTensor, readBy operators: [String]) -> Choice { fatalError("helper") }
}
