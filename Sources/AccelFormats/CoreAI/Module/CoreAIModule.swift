import AccelByteIO

/// The content of `main.mlirb`: operations of the dialect `aicode`, and the elements of large constants.
struct CoreAIModule: Equatable, Sendable {
    /// `serialization.asset`, with a region of graphs.
    var root: CoreAIOperation
    var resources: [CoreAIResource]
}

/// The elements of a constant.
struct CoreAIResource: Equatable, Sendable {
    /// A unique text.
    let key: String
    let content: ByteView
}

/// An operation with its regions. Values are numbered from 0 in each region: the arguments of its block, then the results of
/// its operations.
struct CoreAIOperation: Hashable, Sendable {
    /// A property: an attribute, which some operations may lack.
    enum Property: Hashable, Sendable {
        case required(CoreAIAttribute)
        case optional(CoreAIAttribute?)

        var attribute: CoreAIAttribute? {
            switch self {
            case .required(let attribute): attribute
            case .optional(let attribute): attribute
            }
        }
    }

    /// The name without the dialect, e.g. `primitive.add_v1`.
    var name: String
    var operands: [Int] = []
    var results: [CoreAIType] = []
    var properties: [Property] = []
    var regions: [CoreAIBlock] = []
}

/// The only block of a region.
struct CoreAIBlock: Hashable, Sendable {
    var arguments: [CoreAIType] = []
    var operations: [CoreAIOperation] = []

    /// The number of values.
    var valueCount: Int { operations.reduce(arguments.count) { $0 + $1.results.count } }
}

extension CoreAIOperation {
    /// The properties of operations that have some: true for those that may be missing.
    static let properties: [String: [Bool]] = [
        asset: [true, true], graph: [false, true] + [Bool](repeating: false, count: 7), constant: [false],
        invoke: [false, false, false], "primitive.gelu_v1": [false], "primitive.pad_v1": [false],
        "primitive.scan_v1": [false], "primitive.interpolate_v1": [false],
    ]

    static let asset = "serialization.asset"
    static let graph = "dataflow.graph_v1"
    static let constant = "primitive.constant_v1"
    static let invoke = "dataflow.invoke_v1"
    static let output = "dataflow.output_v1"
    static let yield = "dataflow.yield_v1"
    /// The version of the newest operations of macOS 27 and iOS 27.
    private static let level: Int64 = 20_260_409

    /// An asset of graphs.
    init(asset graphs: [CoreAIGraph]) {
        self.init(
            name: Self.asset,
            properties: [.optional(nil), .optional(.integer(Self.level, width: 32, isUnsigned: true))],
            regions: [CoreAIBlock(operations: graphs.map(\.operation))])
    }
}

/// A function: an operation that holds others.
struct CoreAIGraph: Equatable, Sendable {
    /// An argument or result.
    struct Port: Equatable, Sendable {
        var name: String
        var type: CoreAIType
        /// Whether the function changes the buffer that it is given.
        var isMutable = false
    }

    var name: String
    var arguments: [Port]
    var results: [Port]
    /// The composite by which Apple's fused kernels recognise the function. Only other functions call such a function.
    var composite: CoreAIComposite?
    var body: CoreAIBlock

    var operation: CoreAIOperation {
        func names(_ ports: [Port]) -> CoreAIAttribute {
            .array(
                ports.map { port in
                    let name = CoreAIAttribute.named(Self.nameKey, [.string(port.name)])
                    return .array(port.isMutable ? [name, .named(Self.mutationKey, [.string(port.name)])] : [name])
                })
        }
        return CoreAIOperation(
            name: CoreAIOperation.graph,
            properties: [
                .required(names(arguments)), .optional(composite?.attribute), .required(.flag(false)),
                .required(.type(.function(results: results.map(\.type), operands: arguments.map(\.type)))),
                .required(.flag(composite != nil)), .required(.string(name)), .required(.flag(composite != nil)),
                .required(.array([])),
                .required(composite == nil ? names(results) : .array(results.map { _ in .array([]) })),
            ], regions: [body])
    }

    static let nameKey = "aicode.name"
    static let mutationKey = "MutableBuffers.buffer_mutation"
}

/// The declaration of a function that Apple's fused kernels may compute.
struct CoreAIComposite: Hashable, Sendable {
    var kind: String
    var inputs: [String]
    /// Named attributes, sorted by name.
    var attributes: [CoreAIAttribute]

    var attribute: CoreAIAttribute {
        .named(
            kind,
            [
                .named("input_names", [.array(inputs.map { .string($0) })]),
                .named("op_attrs", [.dictionary(attributes)]),
                .named("output_names", [.array([.string("output")])]),
            ])
    }
}
