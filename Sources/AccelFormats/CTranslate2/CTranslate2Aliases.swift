import AccelTensors

/// Variables that equal an earlier one, and are stored as its second name.
///
/// CTranslate2's converter compares every pair. Here variables with equal samples are compared, so that the time grows with the size of
/// the model.
struct CTranslate2Aliases {
    /// The name of the equal variable, by the name of the second one.
    let targets: [String: String]

    /// - Parameter variables: sorted by name.
    init(of variables: [CTranslate2Variable], as values: CTranslate2Values) throws {
        var targets: [String: String] = [:]
        var groups: [Key: [CTranslate2Variable]] = [:]
        for variable in variables where !variable.shape.dimensions.isEmpty {
            let key = try Key(variable, values)
            let equal = try groups[key]?.first { try Self.areEqual(variable, $0, values) }
            if let equal, !variable.isComputed {
                targets[variable.name] = equal.name
            } else {
                groups[key, default: []].append(variable)
            }
        }
        self.targets = targets
    }

    /// The properties that equal variables have in common: shape, type and some elements.
    private struct Key: Hashable {
        let shape: [Int]
        let type: ElementType
        let samples: [Float]
        private static let count = 32

        init(_ variable: CTranslate2Variable, _ values: CTranslate2Values) throws {
            (shape, type) = (variable.shape.dimensions, values.base(of: variable))
            let step = max(1, variable.shape.count / Self.count)
            samples = try stride(from: 0, to: variable.shape.count, by: step).map { index in
                var value = Float(0)
                try values.read(index..<index + 1, of: variable, into: &value)
                // Both zeros are equal.
                return value + 0
            }
        }
    }

    private static func areEqual(
        _ left: CTranslate2Variable, _ right: CTranslate2Variable, _ values: CTranslate2Values
    ) throws -> Bool {
        let count = left.shape.count
        let atOnce = min(count, CTranslate2Values.blockElements)
        let memory = UnsafeMutablePointer<Float>.allocate(capacity: 2 * atOnce)
        defer { memory.deallocate() }
        for first in stride(from: 0, to: count, by: atOnce) {
            let elements = first..<min(first + atOnce, count)
            try values.read(elements, of: left, into: memory)
            try values.read(elements, of: right, into: memory + atOnce)
            for index in 0..<elements.count where memory[index] != memory[atOnce + index] { return false }
        }
        return true
    }
}
