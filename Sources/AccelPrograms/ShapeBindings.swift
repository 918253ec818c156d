import AccelByteIO
public import AccelTensors

/// Numbers for the free dimensions of a program: `batch=1,sequence=128`.
public struct ShapeBindings: Hashable, Sendable, CustomStringConvertible {
    public private(set) var numbers: [String: Int]

    public init(_ numbers: [String: Int] = [:]) { self.numbers = numbers }

    /// Reads `batch=1,sequence=128`.
    /// - Throws: `RequestError` for another form, a number below 1, or two numbers for one dimension.
    public init(parsing text: String) throws {
        numbers = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            guard sides.count == 2, !sides[0].isEmpty, let number = Int(sides[1]) else {
                throw RequestError("--shape \(text): \"\(part)\" is not of the form dimension=number")
            }
            try bind(String(sides[0]), to: number, from: "--shape \(text)")
        }
    }

    /// The numbers that make the program's inputs fit `tensors` (by the input's name, or `in.` and its name).
    /// - Throws: `RequestError` when an input is missing, of another rank, or asks for two numbers for one dimension.
    public init(fitting tensors: [StoredTensor], to program: Program, file: String) throws {
        numbers = [:]
        let byName = Dictionary(tensors.map { ($0.name, $0) }) { first, _ in first }
        for input in program.inputs {
            let type = program.type(of: input.value)
            // Of several numbered samples (in.NAME.0, in.NAME.1), the first stands for all.
            let names = ["in.\(input.name)", input.name, "in.\(input.name).0"]
            guard let tensor = names.lazy.compactMap({ byName[$0] }).first else { continue }
            guard tensor.shape.rank == type.rank else {
                throw RequestError("\(file): \(tensor.name) has shape \(tensor.shape), but the input is \(type)")
            }
            for (dimension, number) in zip(type.dimensions, tensor.shape.dimensions) {
                if let name = dimension.name { try bind(name, to: number, from: "\(file), \(tensor.name)") }
            }
        }
        // A cache is as long as the file's (out.kv_final.NAME).
        for state in program.states {
            let type = program.type(of: state.value)
            guard let tensor = byName["out.kv_final.\(state.name)"], tensor.shape.rank == type.rank else { continue }
            for (dimension, number) in zip(type.dimensions, tensor.shape.dimensions) {
                if let name = dimension.name { try bind(name, to: number, from: "\(file), \(tensor.name)") }
            }
        }
    }

    /// For a program with a cache and a file that holds a prefill and steps after it (`out.prefill_NAME`,
    /// `out.step0_NAME`): the numbers for the prefill's block, and for a block of one.
    func stepping(_ tensors: [StoredTensor], in program: Program) -> [ShapeBindings] {
        guard let name = program.input(.tokens).flatMap({ program.type(of: $0.value).dimensions.last?.name }),
            let prefill = tensors.first(where: { $0.name.hasPrefix("out.prefill_") }), prefill.shape.rank > 1,
            tensors.contains(where: { $0.name.hasPrefix("out.step0_") })
        else { return [] }
        return [prefill.shape.dimensions[1], 1].map { block in
            var other = self
            other.numbers[name] = block
            return other
        }
    }

    private mutating func bind(_ name: String, to number: Int, from origin: String) throws {
        guard number >= 1, number <= 1 << 40 else {
            throw RequestError("\(origin): dimension \(name) is \(number), but has to be from 1 to 2^40")
        }
        if let other = numbers[name], other != number {
            throw RequestError(
                "\(origin): dimension \(name) is \(number) here, but \(other) before: give it one number")
        }
        numbers[name] = number
    }

    /// Sorted by name, e.g. `batch=1,sequence=128`.
    public var description: String {
        numbers.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
    }
}

extension Program {
    /// Turns every dimension into a number.
    /// - Throws: `RequestError` for an unknown dimension; `ShapeError` naming the operator and the dimension for one
    ///   without a number, or with a number that an operator cannot have.
    public func freezing(_ bindings: ShapeBindings) throws -> FrozenProgram {
        let known = dimensions.map(\.name)
        for name in bindings.numbers.keys.sorted() where !known.contains(name) {
            let hint = nearestName(to: name, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
            throw RequestError(
                "\(self.name) has no dimension \"\(name)\"\(hint) (it has: \(known.joined(separator: ", ")))")
        }
        for dimension in dimensions {
            guard let number = bindings.numbers[dimension.name] else { continue }
            if let maximum = dimension.maximum, number > maximum {
                throw RequestError(
                    "dimension \(dimension.name) is \(number), but \(self.name) has at most \(maximum); choose a smaller number"
                )
            }
        }
        if let free = dimensions.first(where: { bindings.numbers[$0.name] == nil }) {
            throw ShapeError(
                operator: firstReader(of: free.name),
                reason:
                    "dimension \(free.name) has no number; give one, e.g. --shape \(free.name)=\(free.usual.first ?? 1)"
            )
        }
        var frozen = try rewriting(binding: bindings.numbers) { node, inputs, builder in
            let operation = try Operators.make(node.operation.name, node.operation.attributes.binding(bindings.numbers))
            do {
                return try builder.applyAll(operation, inputs)
            } catch var error as ShapeError {
                error.reason += free(in: node).map { " (\($0)=\(bindings.numbers[$0] ?? 0))" }.joined()
                throw error
            }
        }
        frozen.interface = frozen.frozenInterface
        return try FrozenProgram(frozen, bindings: bindings, remarks: remarks(on: bindings))
    }

    private func remarks(on bindings: ShapeBindings) -> [String] {
        dimensions.flatMap { dimension in
            guard let number = bindings.numbers[dimension.name] else { return [String]() }
            return dimension.remarks.filter { $0.numbers.contains(number) }
                .map { "\(name), \(dimension.name)=\(number): \($0.text)" }
        }
    }

    /// The first operator whose types or attributes have the free dimension `name`, as errors call it.
    private func firstReader(of name: String) -> String {
        let node = nodes.first { free(in: $0).contains(name) }
        return node.map { "\($0.operation.name) \"\($0.label)\"" } ?? "input of \(self.name)"
    }

    /// The free dimensions that a node reads, makes, or has in its attributes; sorted.
    private func free(in node: Node) -> [String] {
        let dimensions = (node.inputs + node.outputs).flatMap { type(of: $0).dimensions }
        return node.operation.attributes.names.union(dimensions.flatMap(\.names)).sorted()
    }
}
