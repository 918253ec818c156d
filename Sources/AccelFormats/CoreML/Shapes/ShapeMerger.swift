import AccelByteIO
import AccelPrograms

/// Merges functions of one model for several shapes into one function, which reads the shapes at run time.
///
/// The functions have the same operations in the same order. Where types differ, the merged function has an unknown size.
/// Constants that differ must follow from sizes: see `constant`.
struct ShapeMerger {
    let functions: [MILFunction]
    /// For each function, the constants by name.
    let constants: [[String: MILValue]]
    /// For each function, the types of inputs and results by name.
    private var types: [[String: MILTensorType]] = []
    /// For each function, the names of computed values in the merged function.
    private var names: [[String: String]]
    private var taken: Set<String>
    private var declared: [MILValue: String] = [:]
    /// The first value and axis with these sizes in the functions.
    private var sources: [[Int]: (value: String, axis: Int, rank: Int)] = [:]
    /// The names of vectors of one number, by their number in each function.
    private var known: [[Int]: String] = [:]
    private var operations: [MILOperation] = []
    /// Returns the bytes of a constant in the blob file, by its offset.
    let content: (Int) throws -> ByteView?

    init(_ functions: [MILFunction], content: @escaping (Int) throws -> ByteView?) {
        self.functions = functions
        self.content = content
        constants = functions.map { function in
            function.operations.reduce(into: [:]) { known, operation in
                if operation.type == "const", let name = operation.outputs.first?.name {
                    known[name] = operation["val"]
                }
            }
        }
        names = functions.map { _ in [:] }
        types = functions.map { _ in [:] }
        taken = Set(functions.first.map { $0.operations.flatMap(\.outputs).map(\.name) + $0.outputs } ?? [])
    }

    /// - Throws: `RequestError` with the operation that needs fixed sizes.
    consuming func merged() throws -> MILFunction {
        guard let first = functions.first else { throw rejection("no function", "there is none") }
        var inputs: [MILNamed<MILType>] = []
        for (index, input) in first.inputs.enumerated() {
            let row = functions.compactMap { $0.inputs.indices.contains(index) ? $0.inputs[index] : nil }
            guard row.count == functions.count, row.allSatisfy({ $0.name == input.name }) else {
                throw rejection(input.name, "is an input of some shapes only")
            }
            if case .state = input.content, row.contains(where: { $0.content != input.content }) {
                throw rejection(input.name, "is a state, whose sizes cannot differ")
            }
            inputs.append(MILNamed(input.name, try result(row)))
        }
        let rows = functions.map { $0.operations.filter { $0.type != "const" } }
        for index in rows[0].indices {
            let row = rows.compactMap { $0.indices.contains(index) ? $0[index] : nil }
            guard row.count == rows.count, row.allSatisfy({ $0.type == row[0].type }) else {
                throw rejection(Self.location(of: rows[0][index]), "is another operation in other shapes")
            }
            try merge(row)
        }
        guard rows.allSatisfy({ $0.count == rows[0].count }) else {
            throw rejection(first.name, "has more operations in other shapes")
        }
        let outputs = try first.outputs.enumerated().map { index, output in
            try name(functions.map { $0.outputs.indices.contains(index) ? $0.outputs[index] : "" }, output)
        }
        return MILFunction(
            name: first.name, inputs: inputs, opset: first.opset, operations: operations, outputs: outputs)
    }

    func rejection(_ name: String, _ reason: String) -> RequestError {
        RequestError(
            "\(name): \(reason), so one function cannot have all the shapes", code: .unsupportedByFormat,
            candidates: [CoreMLExporter.shapes.candidate("functions")])
    }

    private static func location(of operation: MILOperation) -> String {
        "\(operation.type) \"\(operation.outputs.first?.name ?? "")\""
    }

    /// Returns the type of a result, with nil for sizes that differ, and registers it as a source of sizes.
    private mutating func result(_ row: [MILNamed<MILType>]) throws -> MILType {
        let tensors = row.map(\.content.tensor)
        guard let first = tensors.first, let name = row.first?.name,
            tensors.allSatisfy({ $0.dataType == first.dataType && $0.rank == first.rank })
        else { throw rejection(row.first?.name ?? "", "is \(tensors)") }
        var merged = first
        for axis in first.dimensions.indices {
            let sizes = tensors.compactMap { $0.dimensions[axis] }
            if sizes.allSatisfy({ $0 == first.dimensions[axis] }) { continue }
            merged.dimensions[axis] = nil
            if sources[sizes] == nil { sources[sizes] = (name, axis, first.rank) }
        }
        for (index, named) in row.enumerated() {
            types[index][named.name] = tensors[index]
            names[index][named.name] = name
        }
        if case .state? = row.first?.content { return .state(merged) }
        return .tensor(merged)
    }

    /// Returns the merged function's name for the values `row` of the functions.
    private func name(_ row: [String], _ location: String) throws -> String {
        let merged = row.indices.map { names[$0][row[$0]] }
        guard let name = merged[0], merged.allSatisfy({ $0 == name }) else {
            throw rejection(location, "reads other values in other shapes")
        }
        return name
    }

    private mutating func merge(_ row: [MILOperation]) throws {
        var operation = row[0]
        let location = Self.location(of: operation)
        let attributes = operation.attributes.filter { $0.name != "name" }
        guard
            row.allSatisfy({ other in
                other.inputs.map(\.name) == operation.inputs.map(\.name)
                    && zip(other.inputs, operation.inputs).allSatisfy { $0.content.count == $1.content.count }
                    && other.outputs.count == operation.outputs.count
                    && other.attributes.filter { $0.name != "name" } == attributes
            })
        else { throw rejection(location, "is another operation in other shapes") }
        for (index, input) in operation.inputs.enumerated() {
            for binding in input.content.indices {
                operation.inputs[index].content[binding] = try merged(
                    row.map { $0.inputs[index].content[binding] }, DifferingConstant.Location(row, input.name, location)
                )
            }
        }
        operation.outputs = try operation.outputs.indices.map { index in
            MILNamed(operation.outputs[index].name, try result(row.map { $0.outputs[index] }))
        }
        operations.append(operation)
    }

    private mutating func merged(_ row: [MILBinding], _ location: DifferingConstant.Location) throws -> MILBinding {
        let names = row.compactMap { if case .name(let name) = $0 { name } else { nil } }
        guard names.count == row.count else {
            guard row.allSatisfy({ $0 == row[0] }) else { throw rejection(location.text, "has other constants in it") }
            return row[0]
        }
        let values = names.indices.compactMap { constants[$0][names[$0]] }
        if values.isEmpty { return .name(try name(names, location.text)) }
        guard values.count == names.count else { throw rejection(location.text, "reads other values in other shapes") }
        if values.allSatisfy({ $0 == values[0] }) { return .name(declare(values[0], names[0])) }
        return .name(try constant(DifferingConstant(location: location, values: values, name: names[0])))
    }

    // MARK: Added operations

    mutating func fresh(_ text: String) -> String {
        var (name, number) = (text, 1)
        while !taken.insert(name).inserted {
            number += 1
            name = "\(text)_\(number)"
        }
        return name
    }

    /// Returns the name of a constant; equal constants share one.
    /// - Parameter name: the name in the first function; nil for a new constant.
    mutating func declare(_ value: MILValue, _ name: String? = nil, named text: String = "shape") -> String {
        if let known = declared[value] { return known }
        let name = name ?? fresh(text)
        declared[value] = name
        operations.append(
            MILOperation(
                "const", outputs: [MILNamed(name, .tensor(value.type))],
                attributes: [MILNamed("name", MILValue(name)), MILNamed("val", value)]))
        return name
    }

    mutating func add(
        _ type: String, _ name: String, _ result: MILTensorType, _ inputs: KeyValuePairs<String, [String]>
    ) -> String {
        let name = fresh(name)
        operations.append(
            MILOperation(
                type, inputs: inputs.map { MILNamed($0, $1.map(MILBinding.name)) },
                outputs: [MILNamed(name, .tensor(result))], attributes: [MILNamed("name", MILValue(name))]))
        return name
    }

    /// Returns the type of an operation's argument in each function.
    func types(_ parameter: String, of row: [MILOperation]) -> [MILTensorType]? {
        let found = row.indices.compactMap { index -> MILTensorType? in
            guard case .name(let name)? = row[index].binding(parameter) else { return nil }
            return types[index][name] ?? constants[index][name]?.type
        }
        return found.count == row.count ? found : nil
    }

    /// Returns a vector with one number, which is `sizes[i]` in function i: a size of some value. nil if no value has it.
    mutating func size(_ sizes: [Int]) -> String? {
        if let name = known[sizes] { return name }
        guard let source = sources[sizes] else { return nil }
        let shape = add(
            "shape", "\(source.value)_shape", MILTensorType(.int32, [source.rank]), ["x": [source.value]])
        let (begin, size) = (declare(MILValue([source.axis])), declare(MILValue([1])))
        let name = add(
            "slice_by_size", "\(source.value)_extent", MILTensorType(.int32, [1]),
            ["x": [shape], "begin": [begin], "size": [size]])
        known[sizes] = name
        return name
    }
}
