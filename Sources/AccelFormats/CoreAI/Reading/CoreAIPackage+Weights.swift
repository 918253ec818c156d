import AccelByteIO
import AccelTensors

extension CoreAIPackage {
    /// The weights of all functions by name, each once.
    func namedWeights() throws -> [(name: String, weight: CoreAIWeight)] {
        let shapes = try checkpointShapes
        var (found, order): ([String: CoreAIWeight], [String]) = ([:], [])
        for graph in graphs {
            for (key, weight) in try weights(in: graph.regions.first ?? CoreAIBlock()) {
                let name = Self.name(ofResource: key, shapes)
                guard let name else { continue }
                if found[name] == nil { order.append(name) }
                // The last of the operations on a weight's parts has all of them.
                if weight.storedBits >= found[name]?.storedBits ?? 0 { found[name] = weight }
            }
        }
        return order.compactMap { name in found[name].map { (name, $0) } }
    }

    /// Returns the weight that a resource is a part of: keys have the name and one or two words for the part. Tables that accelc
    /// made have no weight; resources of other tools are weights by their keys.
    private static func name(ofResource key: String, _ shapes: [String: Shape]) -> String? {
        if shapes.isEmpty || shapes[key] != nil { return key }
        let words = key.split(separator: " ", omittingEmptySubsequences: false)
        return (1...2).lazy.filter { $0 < words.count }.map { words.dropLast($0).joined(separator: " ") }
            .first { shapes[$0] != nil }
    }

    /// Returns the decompressed values of a function, each with the key of its first resource, in the order of the operations.
    private func weights(in block: CoreAIBlock) throws -> [(key: String, weight: CoreAIWeight)] {
        var known: [Int: (key: String?, weight: CoreAIWeight)] = [:]
        var found: [(String, CoreAIWeight)] = []
        var next = block.arguments.count
        for operation in block.operations {
            defer { next += operation.results.count }
            let operands = operation.operands.compactMap { known[$0] }
            guard operands.count == operation.operands.count, operation.results.count == 1 else { continue }
            if operation.name == CoreAIOperation.constant {
                guard let (key, weight) = try constant(operation) else { continue }
                known[next] = (key, weight)
                if let key { found.append((key, weight)) }
                continue
            }
            guard let weight = Self.weight(operation, operands.map(\.weight)), weight.depth <= Self.deepest else {
                continue
            }
            let key = operands.compactMap(\.key).first
            known[next] = (key, weight)
            if let key, operation.name != "primitive.cast_v1" { found.append((key, weight)) }
        }
        return found
    }

    /// The most operations that decompress a weight; those of accelc are 6 at most.
    private static var deepest: Int { 12 }

    private func constant(_ operation: CoreAIOperation) throws -> (String?, CoreAIWeight)? {
        guard case .tensor(let shape, let element)? = operation.results.first,
            let attribute = operation.properties.first?.attribute
        else { return nil }
        switch attribute {
        case .elements(let bytes, let isSplat):
            return (nil, .constant(ByteView(bytes), isSplat: isSplat, isPacked: false, shape: shape, element))
        case .resource(let index):
            guard module.resources.indices.contains(index) else {
                throw FormatError(
                    file: "\(path)/\(CoreAIFolder.moduleName)",
                    reason: "there is no resource \(index) among \(module.resources.count)")
            }
            let resource = module.resources[index]
            return (resource.key, .constant(resource.content, isSplat: false, isPacked: true, shape: shape, element))
        default: return nil
        }
    }

    /// Returns the weight that an operation decompresses; nil for other operations.
    private static func weight(_ operation: CoreAIOperation, _ operands: [CoreAIWeight]) -> CoreAIWeight? {
        func axis(_ weight: CoreAIWeight) -> Int? {
            guard case .constant = weight, weight.shape.isEmpty, let number = try? weight.floats().first else {
                return nil
            }
            return Int(exactly: number)
        }
        switch (operation.name, operands.count) {
        case ("primitive.cast_v1", 1): return .cast(operands[0])
        case ("primitive.blockwise_shift_scale_v2", 4):
            return .scaled(operands[0], scale: operands[1], zero: operands[2], minimum: operands[3])
        case ("primitive.lut_to_dense_v1", 3):
            return axis(operands[2]).map { .lookedUp(operands[0], table: operands[1], axis: $0) }
        case ("primitive.build_sparse_with_bitmask_v1", 2): return .spread(operands[0], mask: operands[1])
        case ("primitive.lut_to_sparse_with_bitmask_v1", 3):
            guard case .spread(let codes, let mask) = operands[0] else { return nil }
            // Codes of one axis: the table has the axes of the mask.
            let table = CoreAIWeight.flat(operands[1])
            return .spread(.lookedUp(codes, table: table, axis: 0), mask: mask)
        case ("primitive.sparse_with_bitmask_to_dense_v1", 1): return operands[0]
        default: return nil
        }
    }
}

extension CoreAIWeight {
    /// Returns one table of scalars with the axes that codes of one axis want.
    fileprivate static func flat(_ table: CoreAIWeight) -> CoreAIWeight {
        switch table {
        case .constant(let bytes, let isSplat, let isPacked, let shape, let element):
            let sizes = [1, shape.suffix(2).first ?? 1, shape.last ?? 1]
            return .constant(bytes, isSplat: isSplat, isPacked: isPacked, shape: sizes, element)
        case .cast(let inner): return .cast(flat(inner))
        default: return table
        }
    }

    /// The number of operations between the weight and its constants.
    fileprivate var depth: Int {
        switch self {
        case .constant: 0
        case .cast(let weight): weight.depth + 1
        case .scaled(let data, let scale, let zero, let minimum):
            max(data.depth, scale.depth, zero.depth, minimum.depth) + 1
        case .lookedUp(let codes, let table, _): max(codes.depth, table.depth) + 1
        case .spread(let values, let mask): max(values.depth, mask.depth) + 1
        }
    }
}
