import AccelPrograms
import AccelTensors

/// The weights and private graphs that the functions of a module share.
struct CoreAIParts {
    /// A composite with the types of its operands: equal ones have one graph.
    struct CompositeKey: Hashable {
        let declaration: CoreAIComposite
        let types: [CoreAIType]
        let attributes: Attributes
        let element: CoreAIElement
    }

    var weights: CoreAIWeights
    var counts = CoreAICounts()
    /// The private graphs in the order of their first use.
    private(set) var graphs: [CoreAIGraph] = []
    /// The names of the private graphs.
    private(set) var composites: [CompositeKey: String] = [:]

    init(_ weights: CoreAIWeights) { self.weights = weights }

    /// Adds a private graph, and returns its name.
    mutating func add(_ graph: CoreAIGraph, for key: CompositeKey) -> String {
        var graph = graph
        graph.name = "accelc \(graph.name) \(graphs.count)"
        graphs.append(graph)
        composites[key] = graph.name
        return graph.name
    }
}

/// Numbers of operators by name.
struct CoreAICounts {
    /// Operators with operations of their own.
    var native: [String: Int] = [:]
    /// Operators that were decomposed into others.
    var decomposed: [String: Int] = [:]
    /// Operators that are declared as composites of Apple's fused kernels.
    var fused: [String: Int] = [:]
}

/// An operator that Apple's fused kernels compute.
enum CoreAICompositeKind {
    case layerNorm(epsilon: Double)
    /// With the factor of the scores.
    case attention(scale: Double)

    init?(_ operation: any Operator, _ inputs: Int) {
        switch operation {
        case let norm as LayerNorm where inputs == 3: self = .layerNorm(epsilon: norm.epsilon)
        case let attention as Attention: self = .attention(scale: attention.scale)
        default: return nil
        }
    }

    /// Returns the declaration; nil if the kernel computes something else.
    func declaration(of call: CoreAICall) -> CoreAIComposite? {
        func long(_ value: Int) -> CoreAIAttribute { .integer(Int64(value), width: 64, isUnsigned: false) }
        let version = CoreAIAttribute.named("version", [long(1)])
        switch self {
        case .layerNorm(let epsilon):
            let bits = UInt64(Float(epsilon).bitPattern)
            return CoreAIComposite(
                kind: "layer_norm", inputs: ["input", "gamma", "beta"],
                attributes: [
                    .named("axes", [.array([long(call.shape.count - 1)])]),
                    .named("eps", [.float(bits, width: 32)]), version,
                ])
        case .attention(let scale):
            // The kernel scales by 1/sqrt(width), and has as many key heads as query heads.
            let (q, k) = (call.inputs[0].shape, call.inputs[1].shape)
            guard q[1] == k[1], abs(scale * Double(q[3]).squareRoot() - 1) < 1e-6 else { return nil }
            return CoreAIComposite(
                kind: "scaled_dot_product_attention",
                inputs: ["query", "key", "value"] + (call.inputs.count > 3 ? ["attn_mask"] : []),
                attributes: [
                    .named("is_causal", [.integer(0, width: 1, isUnsigned: false)]), version,
                    .named("window_size", [long(0)]),
                ])
        }
    }

    /// Returns the computation in more basic operators.
    func body(_ operation: any Operator, _ call: CoreAICall) throws -> Program? {
        var parts = ProgramBuilder(name: operation.name)
        let values = call.inputs.enumerated().map { index, value in
            parts.input("\(index)", TensorType(.float32, value.shape.map(Dimension.fixed)))
        }
        guard let made = try operation.decomposed(values, in: &parts), made.count == 1 else { return nil }
        parts.output("0", made[0])
        return try parts.finish()
    }
}
