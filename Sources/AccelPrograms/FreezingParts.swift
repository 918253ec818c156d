import AccelByteIO
public import AccelTensors

/// The parts of a model, e.g. an encoder and a decoder, frozen together.
extension [Program] {
    /// Freezes every part for each of `bindings`. A part takes the numbers of its own dimensions and ignores the rest, so
    /// that one set of bindings can serve several parts, or be for one part only; equal functions are made once.
    /// - Throws: `RequestError` for a dimension that no part has; `ShapeError` naming the operator and the dimension for
    ///   one without a number, or with a number that an operator cannot have.
    public func freezing(_ bindings: [ShapeBindings]) throws -> [FrozenProgram] {
        try requireKnown(bindings)
        return try flatMap { part in
            let names = Set(part.dimensions.map(\.name))
            var own: [ShapeBindings] = []
            for binding in bindings.map({ ShapeBindings($0.numbers.filter { names.contains($0.key) }) })
            where !binding.numbers.isEmpty && !own.contains(binding) {
                own.append(binding)
            }
            return try (own.isEmpty ? [ShapeBindings()] : own).map { try part.freezing($0) }
        }
    }

    /// Freezes every part to its usual shapes.
    public func freezingToUsualShapes() throws -> [FrozenProgram] {
        try flatMap { part in try part.usualShapes.map { try part.freezing($0) } }
    }

    /// - Throws: `RequestError` for a dimension that no part has.
    public func requireKnown(_ bindings: [ShapeBindings]) throws {
        let known = Set(flatMap(\.dimensions).map(\.name))
        for name in bindings.flatMap(\.numbers.keys).sorted() where !known.contains(name) {
            let hint = nearestName(to: name, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
            let has = known.isEmpty ? "none" : known.sorted().joined(separator: ", ")
            throw RequestError("the model has no dimension \"\(name)\"\(hint) (it has: \(has))")
        }
    }

    /// The bindings that make the inputs of each part fit the tensors of a file. What only one part's inputs tell counts
    /// for all: the frames of an encoder's input are those of the decoder that reads its states.
    /// - Throws: `RequestError` when they cannot fit, or when no tensor of the file is an input of any part.
    public func bindings(fitting tensors: [StoredTensor], file: String) throws -> [ShapeBindings] {
        let names = Set(tensors.map { $0.name.hasPrefix("in.") ? String($0.name.dropFirst(3)) : $0.name })
        let fed = filter { part in part.inputs.contains { names.contains($0.name) || names.contains("\($0.name).0") } }
        guard !fed.isEmpty else {
            let inputs = flatMap { $0.inputs.map(\.name) }
            throw RequestError(
                "\(file) holds no tensor that is an input of the model (\(inputs.joined(separator: ", ")))")
        }
        let own = try fed.flatMap { part in
            let all = try ShapeBindings(fitting: tensors, to: part, file: file)
            return part.states.isEmpty ? [all] : [all] + all.stepping(tensors, in: part)
        }
        let told = own.reduce(into: [:]) { $0.merge($1.numbers) { first, _ in first } }
        return own.map { ShapeBindings($0.numbers.merging(told) { own, _ in own }) }
    }
}

extension Program {
    /// The shapes that it is frozen to where nobody asks for one, e.g. a decoder's prefill and its step.
    public var usualShapes: [ShapeBindings] {
        dimensions.reduce([[:]]) { partial, dimension in
            partial.flatMap { numbers in
                dimension.defaults.map { numbers.merging([dimension.name: $0]) { _, new in new } }
            }
        }.map { ShapeBindings($0) }
    }
}

extension [FrozenProgram] {
    /// What the numbers of all functions decide beyond shapes, each once.
    public var remarks: [String] {
        flatMap(\.remarks).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}
