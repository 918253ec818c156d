/// A reason, visible in the operation itself, why Core ML does not run it on the Neural Engine. Sources: Apple,
/// "Deploying Transformers on the Apple Neural Engine"; github.com/hollance/neural-engine, docs/unsupported-layers.md;
/// ane-guide.readthedocs.io, chapters 4 and 17. Only a device can say that an operation does run there.
struct NeuralEngineObstacle: Hashable, Sendable {
    /// The operation's type, e.g. `gather`.
    let operation: String
    let reason: String

    /// - Parameter ends: the names of the function's inputs and outputs.
    /// - Returns: nil if no reason is known.
    init?(_ operation: MILOperation, types: [String: MILTensorType], ends: Set<String>) {
        self.operation = operation.type
        let results = operation.outputs.map(\.content.tensor)
        let read = operation.readNames.compactMap { types[$0] }
        let isOutside = (operation.readNames + operation.outputs.map(\.name)).contains(where: ends.contains)
        guard let reason = Self.reason(operation, results, read, isOutside: isOutside) else { return nil }
        self.reason = reason
    }

    private static func castReason(_ isOutside: Bool) -> String {
        isOutside
            ? "converts to or from float32, as inputs and outputs are"
            : "converts to or from float32, for operations that compute in it"
    }

    private static func reason(
        _ operation: MILOperation, _ results: [MILTensorType], _ read: [MILTensorType], isOutside: Bool
    ) -> String? {
        let all = results + read
        if let reason = elsewhere[operation.type] { return reason }
        if all.contains(where: { $0.dataType == .float32 }) {
            return operation.type == "cast" ? castReason(isOutside) : "computes in float32"
        }
        if results.contains(where: { $0.dataType.isWholeNumber }) { return "computes integers" }
        if read.contains(where: { $0.dataType.isWholeNumber }) {
            if operation.type == "cast" { return "converts integers, as inputs are" }
            if comparisons.contains(operation.type) { return "compares integers" }
        }
        if let deep = all.first(where: { $0.rank > 4 }) { return "has \(deep.rank) axes; the Neural Engine has 4" }
        let longest = all.flatMap { $0.dimensions.compactMap(\.self) }.max() ?? 0
        if longest > longestAxis {
            return "has an axis of \(longest); the longest is \(longestAxis)"
        }
        return nil
    }

    private static let longestAxis = 16384

    private static let comparisons: Set = ["equal", "not_equal", "greater", "greater_equal", "less", "less_equal"]

    private static let elsewhere = [
        "gather": "reads rows by integers", "gather_along_axis": "reads elements by integers",
        "cumsum": "has no such operation", "mod": "has no such operation", "reduce_prod": "has no such operation",
    ]

    /// Returns the number of a function's computing operations, and the names of those with an obstacle, grouped by obstacle, the
    /// most frequent first.
    static func all(in function: MILFunction) -> (
        operations: Int, obstacles: [(what: NeuralEngineObstacle, names: [String])]
    ) {
        var types: [String: MILTensorType] = [:]
        for input in function.inputs { types[input.name] = input.content.tensor }
        let ends = Set(function.inputs.map(\.name) + function.outputs)
        var (count, names) = (0, [NeuralEngineObstacle: [String]]())
        for operation in function.operations {
            for output in operation.outputs { types[output.name] = output.content.tensor }
            if operation.type.hasPrefix("const") { continue }
            count += 1
            guard let obstacle = NeuralEngineObstacle(operation, types: types, ends: ends) else { continue }
            names[obstacle, default: []].append(operation.outputs.first?.name ?? operation.type)
        }
        let sorted = names.sorted {
            ($1.value.count, $0.key.operation, $0.key.reason) < ($0.value.count, $1.key.operation, $1.key.reason)
        }
        return (count, sorted.map { (what: $0.key, names: $0.value) })
    }
}

extension MILDataType {
    fileprivate var isWholeNumber: Bool { self != .bool && self != .string && !isFloatingPoint }
}
