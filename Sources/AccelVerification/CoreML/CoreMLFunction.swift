import AccelByteIO
import AccelCPURuntime
import AccelFormats
import AccelPrograms
import AccelTensors

/// A function of a Core ML package with one of the shapes that its inputs enumerate.
struct CoreMLFunction {
    let package: CoreMLPackage
    let interface: CoreMLModel.Interface
    /// The index of the inputs' shapes among the enumerated ones.
    let shape: Int

    /// All functions of a package, each once for each of its shapes.
    static func all(of package: CoreMLPackage) -> [CoreMLFunction] {
        package.model.interfaces.flatMap { interface in
            (0..<interface.shapeCount).map { CoreMLFunction(package: package, interface: interface, shape: $0) }
        }
    }

    /// The function's name, with the shape if it has several.
    var title: String {
        let count = interface.shapeCount
        guard count > 1, let input = interface.inputs.first(where: { $0.enumeratedShapes.count == count }) else {
            return interface.function
        }
        return "\(interface.function) \(Shape(input.enumeratedShapes[shape]))"
    }

    private static func id(_ name: String) -> String { CoreMLWeightMatcher.identifier(name) }

    /// Returns the sizes of an input: those that are given, by the identifiers of inputs, where it may have them, or its own.
    private func sizes(_ input: CoreMLModel.Feature, given: [String: [Int]] = [:]) -> [Int] {
        let own = interface.sizes(of: input, as: shape) ?? []
        guard let sizes = given[Self.id(input.name)], takes(sizes, by: input) else { return own }
        return sizes
    }

    /// Whether an input has these sizes, or may have any.
    private func takes(_ sizes: [Int], by input: CoreMLModel.Feature) -> Bool {
        sizes == interface.sizes(of: input, as: shape)
            || interface.shapeCount == 1 && !input.shapeRanges.isEmpty && input.shapeRanges.count == sizes.count
    }

    /// Returns the function without its operations: ports and roles are all that feeding it needs. Ports have the model's names that the
    /// package records, or else the names of tensors with their identifiers.
    fileprivate func outline(fitting tensors: [String: [Int]]) throws -> FrozenProgram {
        let recorded = try package.interface(of: interface.function) ?? Interface()
        let known = [recorded.inputs, recorded.outputs, recorded.states].flatMap(\.keys)
        let names = CoreMLWeightMatcher.identified(tensors.keys.sorted() + known.sorted())
        let given = CoreMLWeightMatcher.identified(tensors)
        let states = interface.states.map(\.name)
        func name(_ port: String) -> String { names[Self.id(port)] ?? port }
        func name(ofOutput port: String) -> String {
            let identifier = CoreMLWeightMatcher.output(port, besides: states)
            return names[identifier] ?? identifier
        }
        func renamed(_ roles: [String: Role], _ port: (String) -> String) -> [String: Role] {
            Dictionary(roles.map { (port($0.key), $0.value) }) { first, _ in first }
        }
        var builder = ProgramBuilder(name: title)
        for input in interface.inputs {
            let type: ElementType = input.type.dataType.isFloatingPoint ? .float32 : .int64
            _ = builder.input(name(input.name), TensorType(type, shape: Shape(sizes(input, given: given))))
        }
        for state in interface.states {
            _ = builder.state(name(state.name), TensorType(.float32, shape: Shape(state.type.sizes ?? [])))
        }
        let parts = package.model.parts(of: interface.function)
        func add(_ name: String, _ sizes: [Int]) throws {
            builder.output(name, builder.constant(try StoredTensor.outline(name, sizes), isWeight: false))
        }
        for output in interface.outputs where !parts.values.joined().contains(output.name) {
            try add(name(ofOutput: output.name), output.type.sizes ?? [])
        }
        for (whole, parts) in parts.sorted(by: { $0.key < $1.key }) {
            let described = interface.outputs.filter { parts.contains($0.name) }.compactMap(\.type.sizes)
            let last = described.compactMap(\.last).reduce(0, +)
            try add(name(ofOutput: whole), (described.first ?? []).dropLast() + [last])
        }
        let links = recorded.links.map {
            Interface.Link(input: name($0.input), part: $0.part, output: name($0.output))
        }
        let roles = Interface(
            recorded.role, inputs: renamed(recorded.inputs) { name($0) },
            outputs: renamed(recorded.outputs) { name(ofOutput: $0) }, states: renamed(recorded.states) { name($0) },
            links: links)
        return try FrozenProgram(builder.finish(), bindings: ShapeBindings()).with(roles)
    }

    /// Whether the package has an input of a name.
    func takes(_ name: String) -> Bool { interface.inputs.contains { Self.id($0.name) == Self.id(name) } }

    /// Returns the package's state for one of the model or the plan.
    func state(_ name: String) -> CoreMLModel.Feature? {
        interface.states.first { Self.id($0.name) == Self.id(name) }
    }

    /// Returns the package's name for an output of the model, the plan or a golden.
    func output(_ name: String, _ model: FrozenProgram?) -> String? {
        let described = interface.outputs.map(\.name)
        let all = (described + package.model.parts(of: interface.function).keys).sorted()
        let states = interface.states.map(\.name)
        let own = all.first { CoreMLWeightMatcher.output($0, besides: states) == Self.id(name) }
        if let own { return own }
        // Converters may rename outputs; then outputs are matched by index.
        guard let known = model?.program.outputs, known.count == described.count else { return nil }
        return known.firstIndex { $0.name == name }.map { described[$0] }
    }

    /// The tolerance for arithmetic in the function's own element type.
    var arithmetic: Tolerance {
        let function = package.model.program.functions.first { $0.name == interface.function }
        let isHalf = function?.operations.contains { operation in
            !operation.type.hasPrefix("const") && operation.outputs.contains { $0.content.tensor.dataType == .float16 }
        }
        return isHalf ?? false ? .halves : .rounding
    }

    /// Returns the inputs in the package's names and types; nil if one is missing or has other sizes.
    func inputs(_ named: [String: HostTensor]) -> [String: HostTensor]? {
        let given = CoreMLWeightMatcher.identified(named)
        var inputs: [String: HostTensor] = [:]
        for feature in interface.inputs {
            guard let tensor = given[Self.id(feature.name)], takes(tensor.shape.dimensions, by: feature) else {
                return nil
            }
            inputs[feature.name] = tensor.cast(to: feature.type.dataType.isFloatingPoint ? .float32 : .int64)
        }
        return inputs
    }

    /// Returns the part of a model that takes the function's inputs, with the function's sizes; nil if none does.
    /// - Parameter outline: the function's ports.
    /// - Throws: `RequestError` (unavailable) if the sizes need more memory than there is.
    func model(in programs: [Program], taking outline: FrozenProgram) throws -> FrozenProgram? {
        if let recorded = recorded(in: programs) { return recorded }
        let sizes = CoreMLWeightMatcher.identified(outline.inputs.map { ($0.name, $0.shape.dimensions) })
        for program in programs {
            let names = Set(program.inputs.map { Self.id($0.name) })
            guard names.isSuperset(of: sizes.keys), !names.isDisjoint(with: sizes.keys) else { continue }
            let shaped = try program.inputs.compactMap { input -> StoredTensor? in
                guard let sizes = sizes[Self.id(input.name)], sizes.count == program.type(of: input.value).rank else {
                    return nil
                }
                return try .outline(input.name, sizes)
            }
            let states = try interface.states.compactMap { state in
                try program.states.first { Self.id($0.name) == Self.id(state.name) }
                    .map { try StoredTensor.outline("out.kv_final.\($0.name)", state.type.sizes ?? []) }
            }
            guard states.count == program.states.count,
                let bindings = try? ShapeBindings(fitting: shaped + states, to: program, file: package.path),
                let frozen = try? program.freezing(bindings)
            else { continue }
            return frozen
        }
        return nil
    }

    /// Returns the function with the part and the shape that accelc recorded when it exported the model.
    private func recorded(in programs: [Program]) -> FrozenProgram? {
        guard let texts = package.note("shapes")?.split(separator: " "),
            var index = package.model.interfaces.firstIndex(where: { $0.function == interface.function })
        else { return nil }
        if package.model.interfaces.count == 1, texts.count == interface.shapeCount { index = shape }
        guard texts.count == max(package.model.interfaces.count, interface.shapeCount), texts.indices.contains(index)
        else { return nil }
        return programs.frozen(named: texts[index])
    }
}

extension CoreMLModel.Interface {
    /// The number of shapes that the inputs enumerate together; 1 if they enumerate none.
    fileprivate var shapeCount: Int { max(inputs.map(\.enumeratedShapes.count).max() ?? 1, 1) }
}

extension [CoreMLFunction] {
    /// Returns a plan of the functions without calls, in the sizes of the source's inputs where a function may have any.
    func plan(fitting source: InputSource) throws -> ModelPlan {
        let tensors: [String: [Int]] =
            switch source {
            case .seeded: [:]
            case .file(let file): try InputMatcher(file, for: []).tensors.mapValues(\.shape.dimensions)
            case .golden(let golden):
                golden.samples.reduce(into: [:]) { named, sample in
                    named.merge(
                        sample.inputs.merging(sample.outputs) { input, _ in input }.mapValues(\.shape.dimensions)
                    ) { first, _ in first }
                }
            }
        return ModelPlan(
            outlining: try map { try $0.outline(fitting: tensors) },
            parts: try map { try $0.package.part(of: $0.interface.function) ?? $0.interface.function })
    }
}

extension StoredTensor {
    /// Returns a tensor of which only the shape is used.
    fileprivate static func outline(_ name: String, _ sizes: [Int]) throws -> StoredTensor {
        guard let count = Shape(sizes).checkedCount else {
            throw RequestError("\(name) of \(sizes) has more elements than any memory holds", status: .unavailable)
        }
        return StoredTensor(name: name, elementType: .bool, shape: Shape(sizes), bytes: try ByteView.zeros(count))
    }
}

extension HostTensor {
    /// Returns the elements as those of a type of inputs: integers, flags or float32 numbers.
    func cast(to type: ElementType) -> HostTensor {
        switch type {
        case .int64: HostTensor(integers, shape)
        case .bool: HostTensor(flags, shape)
        default: HostTensor(floats, shape)
        }
    }
}
