import AccelByteIO
import AccelPackages
import AccelPrograms
public import AccelTensors
import AccelWeightCompression

/// A Core ML package as a source: functions by the import rules, with decompressed weights.
public struct CoreMLSource: ModelSource {
    /// The open package.
    public let package: CoreMLPackage
    /// The files of the package.
    public let files: ModelFiles
    private let interfaces: InterfaceFile?

    /// A source of an open package.
    /// - Parameters:
    ///   - package: the open package.
    ///   - interfaces: roles for the functions and ports; nil for those that the package records.
    public init(_ package: CoreMLPackage, interfaces: InterfaceFile? = nil) {
        (self.package, self.interfaces) = (package, interfaces)
        files = ModelFiles(in: package.path, holding: package.sources)
    }

    public var format: any ModelFormat.Type { CoreMLFormat.self }
    public var path: String { package.path }
    public var abilities: Set<SourceAbility> { [.tensors, .graph, .check, .lint] }
    public func lint() throws -> [LintFinding] { try package.lint() }

    public func check(progress: (_ file: String) -> Void) throws -> Bool {
        progress("model.mlmodel")
        let isChecked = try package.check()
        if package.blobs != nil { progress("weight.bin") }
        return isChecked
    }

    public func model(
        parts: [String], ignoredTensors: [String], allowsIdlePatterns: Bool
    ) throws -> SourceModel {
        try package.check()
        return try SourceModel(
            family: CoreMLFormat.name, version: ImportRules.version, functions: functions(), parts: parts,
            ignoringUnknown: allowsIdlePatterns, used: Set(package.sources.flatMap(\.tensors).map(\.name)),
            schemes: package.weights.filter(\.isCompressed).map(\.kind))
    }

    /// Returns each function, once for each enumerated shape of its inputs.
    /// - Throws: `RequestError` for an unsupported operation; `FormatError` if the package is corrupt.
    private func functions() throws -> [FrozenProgram] {
        let names = try package.checkpointWeights
        var taken: [String: StoredTensor] = [:]
        var functions: [FrozenProgram] = []
        for interface in package.model.interfaces {
            for (suffix, shapes) in interface.enumeratedShapes {
                let function = try package.program(function: interface.function, shapes: shapes, for: .graph)
                let renamed = function.program.renamingWeights { tensor in
                    let known = names[tensor.name]
                    let name = known?.shape == tensor.shape ? known?.name ?? tensor.name : tensor.name
                    if let other = taken[name], !other.isSame(as: tensor) { return "\(name) of \(interface.function)" }
                    taken[name] = tensor
                    return name
                }
                functions.append(
                    try FrozenProgram(
                        renamed.with(name: interface.function + suffix), bindings: ShapeBindings()))
            }
        }
        let programs = try interfaces?.declaring(functions.map(\.program)) ?? functions.map(\.program)
        return try programs.map { try FrozenProgram(try linked($0, among: programs), bindings: ShapeBindings()) }
    }

    /// Returns a program with its links renamed. Recorded links name parts of the exported model; the importer has functions.
    private func linked(_ program: Program, among programs: [Program]) throws -> Program {
        var interface = program.interface
        interface.links = try interface.links.compactMap { link in
            let maker = try programs.first { other in
                try other.name == link.part || package.part(of: other.name) == link.part
            }
            guard let maker, maker.outputs.contains(where: { $0.name == link.output }) else { return nil }
            return Interface.Link(input: link.input, part: maker.name, output: link.output)
        }
        return program.with(interface: interface)
    }

    public var weights: [SourceWeight] {
        get throws {
            try package.check()
            let (names, scalings) = (try package.checkpointWeights, try package.scalings)
            let weights = try package.weights.withoutRepeated
            var cut: [String: [CoreMLWeight]] = [:]
            var listed: [SourceWeight] = []
            for weight in weights {
                if let rows = weight.holds {
                    cut[rows.tensor, default: []].append(weight)
                    continue
                }
                let known = names[weight.name]
                let shape = known?.shape.count == weight.shape.count ? known?.shape ?? weight.shape : weight.shape
                // A table of one function may have the name of another one's.
                let isTaken = known == nil && listed.contains { $0.name == weight.name }
                listed.append(
                    SourceWeight(
                        [weight], of: package,
                        as: known?.name ?? (isTaken ? "\(weight.name) of \(weight.function)" : weight.name), shape,
                        scalings[known?.name ?? ""]))
            }
            for (name, parts) in cut.sorted(by: { $0.key < $1.key }) where !listed.contains(where: { $0.name == name })
            {
                let shape = names[MILBuilder.identifier(name)]?.shape
                if let whole = SourceWeight(joining: parts, of: package, as: name, shape, scalings[name]) {
                    listed.append(whole)
                } else {
                    listed += parts.map { SourceWeight([$0], of: package, as: $0.name, $0.shape, nil) }
                }
            }
            return listed.sorted { $0.name < $1.name }
        }
    }
}

extension SourceWeight {
    /// Joins weights that are rows of one tensor; nil if rows are missing.
    fileprivate init?(
        joining parts: [CoreMLWeight], of package: CoreMLPackage, as name: String, _ shape: Shape?,
        _ scaling: ChannelScaling?
    ) {
        var pieces: [CoreMLWeight] = []
        var end = 0
        // Weights with the same rows count once.
        for part in parts.sorted(by: { ($0.holds?.rows.lowerBound ?? 0) < ($1.holds?.rows.lowerBound ?? 0) }) {
            guard let rows = part.holds?.rows, rows.lowerBound == end else { continue }
            pieces.append(part)
            end = rows.upperBound
        }
        let count = pieces.reduce(0) { $0 + $1.shape.count }
        guard let shape, shape.count == count, shape.dimensions.first == end else { return nil }
        self.init(pieces, of: package, as: name, shape, scaling)
    }

    fileprivate init(
        _ pieces: [CoreMLWeight], of package: CoreMLPackage, as name: String, _ shape: Shape, _ scaling: ChannelScaling?
    ) {
        // In the order of the rows; equal parts share a text.
        let forms = pieces.map(\.form).reduce(into: [(form: String, count: Int)]()) { found, form in
            if let index = found.firstIndex(where: { $0.form == form }) {
                found[index].count += 1
            } else {
                found.append((form, 1))
            }
        }.map { $0.count > 1 ? "\($0.count) parts of \($0.form)" : $0.form }.joined(separator: "; ")
        self.init(
            name: name, shape: shape, scheme: forms, storedBits: pieces.reduce(0) { $0 + $1.storedBits },
            codeBits: pieces.map(\.codeBits).min() ?? 32
        ) {
            var floats = try pieces.flatMap { try package.tensor(of: $0).floats() }
            if let inverse = scaling?.inverse, inverse.fits(shape) {
                floats.withUnsafeMutableBufferPointer { inverse.apply(to: $0, rows: 0..<shape.rows) }
            }
            return StoredTensor(name: name, floats: floats, shape: shape)
        }
    }
}

extension ChannelScaling {
    /// Whether the numbers of exponents equal the tensor's rows and columns; an empty list fits any.
    func fits(_ shape: Shape) -> Bool {
        (rows.isEmpty || rows.count == shape.rows) && (columns.isEmpty || columns.count == shape.columns)
    }
}

extension CoreMLWeight {
    /// The storage scheme without per-weight details, e.g. `palette, 4 bits`.
    fileprivate var kind: String { form.split(separator: ",").prefix(2).joined(separator: ",") }
}

extension CoreMLModel.Interface {
    /// The input shapes of each enumerated choice, with the suffix of its function's name; one choice without shapes if the
    /// inputs do not enumerate any.
    package var enumeratedShapes: [(suffix: String, shapes: [String: [Int]])] {
        let enumerating = inputs.filter { !$0.enumeratedShapes.isEmpty }
        guard let first = enumerating.first,
            enumerating.allSatisfy({ $0.enumeratedShapes.count == first.enumeratedShapes.count })
        else { return [("", [:])] }
        return first.enumeratedShapes.indices.map { index in
            let shapes = inputs.compactMap { input in
                input.enumeratedShapes.isEmpty && input.shapeRanges.isEmpty
                    ? nil : sizes(of: input, as: index).map { (input.name, $0) }
            }
            let suffix = "_" + first.enumeratedShapes[index].map(String.init).joined(separator: "x")
            return (first.enumeratedShapes.count == 1 ? "" : suffix, Dictionary(shapes) { first, _ in first })
        }
    }

    /// Returns the sizes of an input in one of the shapes. Those of an input with a range follow from an input that enumerates its
    /// shapes: an axis that has the same default size there has the same size in each shape.
    package func sizes(of input: CoreMLModel.Feature, as shape: Int) -> [Int]? {
        guard !input.shapeRanges.isEmpty, let own = input.type.sizes,
            let other = inputs.first(where: { $0.enumeratedShapes.indices.contains(shape) }),
            let before = other.type.sizes, let now = other.sizes(shape), before.count == now.count
        else { return input.sizes(shape) }
        return own.enumerated().map { axis, size in
            let isAligned = own.count == before.count && before[axis] == size
            return (isAligned ? axis : before.firstIndex(of: size)).map { now[$0] } ?? size
        }
    }
}

extension CoreMLModel.Feature {
    /// Returns the sizes of one of the enumerated shapes; the default shape if it enumerates fewer.
    package func sizes(_ shape: Int) -> [Int]? {
        enumeratedShapes.indices.contains(shape) ? enumeratedShapes[shape] : type.sizes
    }
}

extension StoredTensor {
    fileprivate func isSame(as other: StoredTensor) -> Bool {
        elementType == other.elementType && shape == other.shape && bytes == other.bytes
    }
}

extension Program {
    /// Returns the program with renamed weights.
    fileprivate func renamingWeights(_ name: (StoredTensor) -> String) -> Program {
        with(
            constants: constants.map { constant in
                guard constant.isWeight, let tensor = constant.tensor else { return constant }
                let renamed = tensor.renamed(name(tensor))
                return Constant(
                    name: renamed.name, elementType: constant.elementType, shape: constant.shape, isWeight: true,
                    value: constant.value, tensor: renamed)
            })
    }
}
