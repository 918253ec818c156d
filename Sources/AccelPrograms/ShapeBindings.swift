import AccelByteIO
public import AccelTensors

/// Numbers for the free dimensions of a program, such as `batch=1,sequence=128`.
public struct ShapeBindings: Hashable, Sendable, CustomStringConvertible {
    /// The numbers by dimension name.
    public private(set) var numbers: [String: Int]

    /// Creates bindings; `Program.freezing(_:)` checks them.
    public init(_ numbers: [String: Int] = [:]) { self.numbers = numbers }

    /// Reads bindings such as `batch=1,sequence=128`; blanks around names and numbers do not count.
    /// - Throws: `RequestError` for malformed text, a number below 1, or two numbers for one dimension.
    public init(parsing text: String) throws {
        numbers = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false).map(Self.withoutBlanks)
            guard sides.count == 2, !sides[0].isEmpty, let number = Int(sides[1]) else {
                throw RequestError(
                    "shape \(text): \"\(Self.withoutBlanks(part))\" is not of the form dimension=number, as in batch=1,sequence=128"
                )
            }
            try bind(sides[0], to: number, from: "shape \(text)")
        }
    }

    private static func withoutBlanks(_ text: Substring) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }

    /// Finds the numbers that make the program's inputs fit a file's inputs, and its states the file's final states.
    /// - Throws: `RequestError` if a tensor has another rank than the input, or if tensors disagree on a dimension.
    public init(fitting tensors: [StoredTensor], to program: Program, file: String) throws {
        try self.init(fitting: NamedTensors(tensors, file: file), to: program)
    }

    init(fitting named: NamedTensors, to program: Program) throws {
        numbers = [:]
        let file = named.file
        for input in program.inputs {
            let type = program.type(of: input.value)
            guard let tensor = named.input(input.name) else { continue }
            guard tensor.shape.rank == type.rank else {
                throw RequestError("\(file): \(tensor.name) has shape \(tensor.shape), but the input is \(type)")
            }
            for (dimension, number) in zip(type.dimensions, tensor.shape.dimensions) {
                if let name = dimension.name { try bind(name, to: number, from: "\(file), \(tensor.name)") }
                guard let fixed = dimension.value, fixed != number else { continue }
                throw RequestError("\(file): \(tensor.name) has shape \(tensor.shape), but the input is \(type)")
            }
        }
        for state in program.states {
            let type = program.type(of: state.value)
            guard let tensor = named.finalState(state.name), tensor.shape.rank == type.rank else { continue }
            for (dimension, number) in zip(type.dimensions, tensor.shape.dimensions) {
                if let name = dimension.name { try bind(name, to: number, from: "\(file), \(tensor.name)") }
            }
        }
    }

    /// Returns the bindings of the prefill and of the decode step, for a program with a cache and a file with golden
    /// outputs of both (`out.prefill_NAME`, `out.step0_NAME`); empty for other programs and files.
    func stepping(_ tensors: NamedTensors, in program: Program) -> [ShapeBindings] {
        guard let name = program.input(.tokens).flatMap({ program.type(of: $0.value).dimensions.last?.name }),
            let prefill = tensors.prefillLength, tensors.hasDecodeSteps
        else { return [] }
        return [prefill, 1].map { block in
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

    /// The bindings sorted by name, such as `batch=1,sequence=128`.
    public var description: String {
        numbers.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",")
    }
}

extension Program {
    /// - Throws: `RequestError` for a number above the model's maximum.
    func requireLimits(of bindings: ShapeBindings) throws {
        for dimension in dimensions {
            guard let number = bindings.numbers[dimension.name], let maximum = dimension.maximum, number > maximum
            else {
                continue
            }
            throw RequestError(
                "dimension \(dimension.name) is \(number), but \(name) has at most \(maximum): "
                    + "choose a smaller number, and cut inputs to it")
        }
    }

    /// - Throws: `RequestError` for a block of tokens that is longer than the cache that it is written to.
    private func requireCaches(for bindings: ShapeBindings) throws {
        guard let tokens = input(.tokens).flatMap({ type(of: $0.value).dimensions.last?.name }),
            let block = bindings.numbers[tokens]
        else { return }
        for state in states(.keyValueCache) {
            guard let axis = interface.states[state.name]?.integer("axis"),
                let cache = type(of: state.value).dimensions[axis].name, let length = bindings.numbers[cache],
                block > length
            else { continue }
            throw RequestError(
                "dimension \(tokens) is \(block), but \(cache) is \(length): a block is at most as long as its cache")
        }
    }

    /// Replaces every free dimension with a number, and applies all shape rules again.
    /// - Throws: `RequestError` for an unknown dimension, a number above the model's maximum, or with all dimensions that have no
    ///   number; `ShapeError`, naming the operator and the dimension, for a number that an operator does not support.
    public func freezing(_ bindings: ShapeBindings) throws -> FrozenProgram {
        do {
            return try freezing(exactly: bindings)
        } catch var error as ShapeError {
            if let (name, least) = leastWorking(bindings) {
                error.reason += "; the least \(name) that works is \(least)"
            }
            throw error
        }
    }

    /// Returns the least number above that of a dimension with which the operators work; nil if a larger one does not help.
    private func leastWorking(_ bindings: ShapeBindings) -> (name: String, least: Int)? {
        for dimension in dimensions where dimension.name != "batch" {
            guard let given = bindings.numbers[dimension.name] else { continue }
            func works(_ number: Int) -> Bool {
                (try? freezing(exactly: ShapeBindings(bindings.numbers.merging([dimension.name: number]) { $1 })))
                    != nil
            }
            let most = min(dimension.maximum ?? Self.mostTried, Self.mostTried)
            guard
                let reach = sequence(first: given, next: { $0 * 2 }).prefix(while: { $0 <= most }).dropFirst().first(
                    where: works)
            else { continue }
            var (low, high) = (reach / 2, reach)
            while high - low > 1 {
                let middle = (low + high) / 2
                if works(middle) { high = middle } else { low = middle }
            }
            return (dimension.name, high)
        }
        return nil
    }

    private static let mostTried = 1 << 20

    private func freezing(exactly bindings: ShapeBindings) throws -> FrozenProgram {
        let known = dimensions.map(\.name)
        for name in bindings.numbers.keys.sorted() where !known.contains(name) {
            let hint = suggestion(for: name, among: known)
            throw RequestError(
                "\(self.name) has no dimension \"\(name)\"\(hint) (it has: \(known.joined(separator: ", ")))")
        }
        try requireLimits(of: bindings)
        _ = try ShapeRequest([bindings], for: [self]).completed()
        try requireCaches(for: bindings)
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

    /// Returns the free dimensions of a node's inputs, outputs and attributes, sorted.
    private func free(in node: Node) -> [String] {
        let dimensions = (node.inputs + node.outputs).flatMap { type(of: $0).dimensions }
        return node.operation.attributes.names.union(dimensions.flatMap(\.names)).sorted()
    }
}
