package import AccelByteIO
public import AccelTensors

/// Freezing of several parts of a model, such as an encoder and a decoder, together.
extension [Program] {
    /// Freezes every part for each of `bindings`. A part uses the numbers of its own dimensions and ignores the others, so one set of
    /// bindings can serve several parts or only one. Sets that do not contradict each other complete each other; one that stays
    /// incomplete takes what it lacks from the others. Equal functions are made once.
    /// - Throws: `RequestError` for a dimension that no part has, or with all dimensions that have no number; `ShapeError`, naming the
    ///   operator and the dimension, for a number that an operator does not support.
    public func freezing(
        _ bindings: [ShapeBindings], fitting files: [ShapeBindings] = []
    ) throws -> [FrozenProgram] {
        try requireKnown(bindings)
        let own = try ShapeRequest(bindings, fitting: files, for: self).completed()
        return try zip(self, own).flatMap { part, own in try own.map { try part.freezing($0) } }
    }

    /// Freezes every part to its default shapes. See `Program.usualShapes`.
    /// - Parameter all: to all usual shapes, such as batches, and not to the default ones only.
    public func freezingToUsualShapes(all: Bool = false) throws -> [FrozenProgram] {
        try flatMap { part in try part.usualShapes(all: all).map { try part.freezing($0) } }
    }

    /// Checks that every bound dimension exists in at least one part.
    /// - Throws: `RequestError` for a dimension that no part has.
    public func requireKnown(_ bindings: [ShapeBindings]) throws {
        let known = Set(flatMap(\.dimensions).map(\.name))
        for name in bindings.flatMap(\.numbers.keys).sorted() where !known.contains(name) {
            let hint = suggestion(for: name, among: known)
            let has = known.isEmpty ? "none" : known.sorted().joined(separator: ", ")
            throw RequestError("the model has no dimension \"\(name)\"\(hint) (it has: \(has))")
        }
    }

    /// Returns the error about a file none of whose tensors is an input of any part.
    package func noInput(among tensors: [StoredTensor], file: String) -> RequestError {
        let inputs = flatMap { $0.inputs.map(\.name) }
        let has = tensors.prefix(4).map(\.name) + (tensors.count > 4 ? ["\(tensors.count - 4) more"] : [])
        return RequestError(
            "\(file) holds no tensor that is an input of the model (\(inputs.joined(separator: ", ")))"
                + (has.isEmpty ? "" : "; it has \(has.joined(separator: ", "))"))
    }

    /// Returns the bindings that make the inputs of each part fit the tensors of a file. A number that only one part's
    /// inputs determine applies to all parts: a decoder takes the number of encoder frames from the encoder's input.
    /// - Throws: `RequestError` if a tensor does not fit, or if no tensor of the file is an input of any part.
    public func bindings(fitting tensors: [StoredTensor], file: String) throws -> [ShapeBindings] {
        let named = NamedTensors(tensors, file: file)
        let fed = filter { part in part.inputs.contains { named.input($0.name) != nil } }
        guard !fed.isEmpty else {
            throw noInput(among: tensors, file: file)
        }
        let own = try fed.flatMap { part in
            let all = try ShapeBindings(fitting: named, to: part)
            return part.states.isEmpty ? [all] : [all] + all.stepping(named, in: part)
        }
        let shared = own.reduce(into: [:]) { $0.merge($1.numbers) { first, _ in first } }
        return own.map { ShapeBindings($0.numbers.merging(shared) { own, _ in own }) }
    }
}

extension Program {
    /// The default shapes to freeze to if a request names none, such as a decoder's prefill and its decode step.
    public var usualShapes: [ShapeBindings] { usualShapes(all: false) }

    /// - Parameter all: all usual shapes, and not the default ones only.
    func usualShapes(all: Bool) -> [ShapeBindings] {
        dimensions.reduce([[:]]) { partial, dimension in
            partial.flatMap { numbers in
                (all ? dimension.usual : dimension.defaults).map {
                    numbers.merging([dimension.name: $0]) { _, new in new }
                }
            }
        }.map { ShapeBindings($0) }
    }
}

extension [FrozenProgram] {
    /// The distinct remarks of all functions, in order.
    public var remarks: [String] {
        flatMap(\.remarks).distinct
    }
}
