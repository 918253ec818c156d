import AccelTensors

/// The integers that an input of a function may hold: by its role, or without a role by the range that operators
/// accept.
package struct IntegerRanges {
    private let function: FrozenProgram
    private let bounds: [Value: Int]

    package init(_ function: FrozenProgram) {
        self.function = function
        let isOpaque = function.program.ports.contains { function.program.interface.role(of: $0).kind == .opaque }
        bounds = isOpaque ? function.program.indexBounds : [:]
    }

    /// Returns the range of an input's integers; nil for a mask.
    package func range(of name: String, _ value: Value) -> Range<Int>? {
        let role = function.program.interface.inputs[name] ?? .opaque
        switch role.kind {
        case .tokens: return role.integer("vocabulary").map { 0..<$0 }
        case .tokenTypes, .codes: return role.integer("count").map { 0..<$0 }
        case .position: return 0..<max(cacheLength - blockLength + 1, 0)
        case .validLength: return 1..<size(ofAxis: role.integer("axis"), of: role.word("input")) + 1
        case .opaque: return bounds[value].map { 0..<max($0, 0) }
        default: return nil
        }
    }

    /// The length of the shortest cache.
    package var cacheLength: Int {
        function.program.states(.keyValueCache).compactMap { state in
            function.program.interface.states[state.name]?.integer("axis").map {
                function.shape(of: state.value).dimensions[$0]
            }
        }.min() ?? 0
    }

    private var blockLength: Int {
        function.program.input(.tokens).flatMap { function.shape(of: $0.value).dimensions.last } ?? 1
    }

    private func size(ofAxis axis: Int?, of name: String?) -> Int {
        guard let axis, let input = function.program.inputs.first(where: { $0.name == name }) else { return 1 }
        let dimensions = function.shape(of: input.value).dimensions
        return dimensions.indices.contains(axis) ? dimensions[axis] : 1
    }
}

extension Program {
    /// Operators whose output holds elements of their inputs, moved or repeated.
    private static let moving: Set<String> = [
        Cast.name, Concat.name, Copy.name, Expand.name, Reshape.name, Slice.name, Transpose.name,
    ]

    /// The exclusive upper bounds of integer inputs that operators read as indices, so that every operator accepts
    /// them. They do not give the roles of inputs, and serve models without known roles.
    package var indexBounds: [Value: Int] {
        var bounds: [Value: Int] = [:]
        func lower(_ value: Value, to bound: Int) { bounds[value] = min(bounds[value] ?? bound, bound) }
        for node in nodes.reversed() {
            if node.operation is Gather, let rows = type(of: node.inputs[0]).dimensions.first?.value {
                lower(node.inputs[1], to: rows)
            }
            if let update = node.operation as? UpdateSlice,
                let length = type(of: node.inputs[0]).dimensions[update.axis].value,
                let block = type(of: node.inputs[1]).dimensions[update.axis].value
            {
                lower(node.inputs[2], to: length - block + 1)
            }
            if Self.moving.contains(node.operation.name) {
                for bound in node.outputs.compactMap({ bounds[$0] }) {
                    for input in node.inputs where type(of: input).elementType == .int64 { lower(input, to: bound) }
                }
            }
        }
        return bounds
    }
}
