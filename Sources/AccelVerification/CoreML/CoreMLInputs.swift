import AccelByteIO
import AccelCalibration
import AccelFormats
import AccelPrograms
import AccelTensors

extension CoreMLPackage {
    /// The recorded interfaces of all functions; none for packages of other tools.
    var functionInterfaces: [Interface] {
        get throws { try model.interfaces.compactMap { try interface(of: $0.function) } }
    }

    /// Checks that a function may take a file's inputs: all of them in one of its sizes, or some of them as samples that it runs on one
    /// after the other.
    /// - Throws: `RequestError` (unavailable) with the tensors of the file and the inputs of the functions.
    func requireInputs(_ matcher: InputMatcher) throws {
        let ports = model.interfaces.flatMap { $0.inputs + $0.states }.map(\.name)
        let identifiers = Set(ports.map(CoreMLWeightMatcher.identifier))
        let known = matcher.tensors.keys.filter { identifiers.contains(CoreMLWeightMatcher.identifier($0)) }
        try matcher.samples?.refuseMisspelt(besides: ports + known)
        if takes(matcher) { return }
        var refusal: SamplesTooLong?
        for interface in model.interfaces {
            for shape in 0..<interface.shapeCount {
                do {
                    if try runs(of: interface, as: shape, matcher) != nil { return }
                } catch let error as SamplesTooLong {
                    refusal = refusal ?? error
                }
            }
        }
        if let refusal { throw refusal }
        throw noFunction(takes: matcher)
    }

    /// Whether a function takes all of a file's inputs at once.
    func takes(_ matcher: InputMatcher) -> Bool {
        let given = matcher.sizes
        return model.interfaces.contains { $0.takes(given) }
    }

    /// Returns the inputs of a function for all samples of a file, run by run, by the names that they have there; nil if they are none of
    /// its inputs.
    /// - Parameter shape: the index of the inputs' shapes among the enumerated ones.
    /// - Throws: `RequestError` for samples that are too long, and for tokens of another model.
    func runs(
        of interface: CoreMLModel.Interface, as shape: Int, _ matcher: InputMatcher, leavingOut leavesOut: Bool = false
    ) throws -> [SampleInputs.Run]? {
        let names = CoreMLWeightMatcher.identified(matcher.tensors.keys)
        let roles = try self.interface(of: interface.function)?.inputs ?? [:]
        let byIdentifier = CoreMLWeightMatcher.identified(roles)
        var (ports, known) = ([FrozenProgram.Port](), Interface())
        for input in interface.inputs {
            let identifier = CoreMLWeightMatcher.identifier(input.name)
            let name = names[identifier] ?? input.name
            known.inputs[name] = byIdentifier[identifier]
            ports.append(
                FrozenProgram.Port(
                    name: name, elementType: input.type.dataType.isFloatingPoint ? .float32 : .int64,
                    shape: Shape(interface.sizes(of: input, as: shape) ?? [])))
        }
        return try matcher.samples?.runs(of: interface.function, ports, known, leavingOut: leavesOut)
    }

    func noFunction(takes matcher: InputMatcher) -> RequestError {
        let offered = model.interfaces.map { interface in
            "\(interface.function): "
                + interface.inputs.map { "\($0.name) \(Shape($0.type.sizes ?? []))" }.joined(separator: ", ")
        }
        let lacksBatch = model.interfaces.flatMap(\.inputs).contains { input in
            let own = matcher.sizes[CoreMLWeightMatcher.identifier(input.name)]
            return own.map { $0.count + 1 == input.type.sizes?.count } ?? false
        }
        return RequestError(
            Diagnostic(
                "no function of the Core ML package takes the inputs of \(matcher.file): \(matcher.heldText); the package has "
                    + offered.joined(separator: "; ")
                    + (lacksBatch
                        ? "; its tensors have one axis less than the inputs: give a single sample a first axis of 1"
                        : ""),
                code: lacksBatch ? nil : .noFunctionForInputs, subject: matcher.file),
            status: .unavailable)
    }
}

extension InputMatcher {
    /// The sizes of the tensors, by the identifiers of their names.
    var sizes: [String: [Int]] {
        CoreMLWeightMatcher.identified(tensors.mapValues(\.shape.dimensions))
    }
}

extension CoreMLModel.Interface {
    /// Whether these sizes, by the identifiers of inputs, are those of all inputs in one of the enumerated shapes.
    func takes(_ sizes: [String: [Int]], as shape: Int) -> Bool {
        inputs.allSatisfy { input in
            sizes[CoreMLWeightMatcher.identifier(input.name)].map { takes($0, by: input, as: shape) } ?? false
        }
    }

    /// Whether an input has these sizes in one of the enumerated shapes, or may have any.
    func takes(_ sizes: [Int], by input: CoreMLModel.Feature, as shape: Int) -> Bool {
        sizes == self.sizes(of: input, as: shape)
            || shapeCount == 1 && !input.shapeRanges.isEmpty && input.takes(sizes)
    }

    /// Whether these sizes, by the identifiers of inputs, are those of all inputs.
    func takes(_ sizes: [String: [Int]]) -> Bool {
        inputs.allSatisfy { sizes[CoreMLWeightMatcher.identifier($0.name)].map($0.takes) ?? false }
    }

    /// The function's name, with one of its shapes if it has several.
    func title(ofShape index: Int) -> String {
        guard shapeCount > 1, let input = inputs.first(where: { $0.enumeratedShapes.count == shapeCount }) else {
            return function
        }
        return "\(function) \(Shape(input.enumeratedShapes[index]))"
    }

    /// The number of shapes that the inputs enumerate together; 1 if they enumerate none.
    var shapeCount: Int { max(inputs.map(\.enumeratedShapes.count).max() ?? 1, 1) }

    /// Returns the indices of the enumerated shapes that match the sizes in a golden file; all for other inputs.
    func shapes(of source: InputSource) throws -> [Int] {
        let given: [String: Shape]
        switch source {
        case .seeded, .file: return Array(0..<shapeCount)
        case .golden(let golden): given = golden.inputs.mapValues(\.shape)
        }
        let own = CoreMLWeightMatcher.identified(given.mapValues(\.dimensions))
        let fitting = (0..<shapeCount).filter { shape in
            inputs.allSatisfy { input in
                input.enumeratedShapes.isEmpty
                    || own[CoreMLWeightMatcher.identifier(input.name)] == input.sizes(shape)
            }
        }
        return [fitting.first ?? 0]
    }
}

extension CoreMLModel.Feature {
    /// Whether an input may have these sizes.
    func takes(_ sizes: [Int]) -> Bool {
        (enumeratedShapes + [type.sizes].compactMap(\.self)).contains(sizes)
            || !shapeRanges.isEmpty && shapeRanges.count == sizes.count
    }
}
