import AccelByteIO
import AccelTensors
import AccelWeightCompression

/// Makes the tensors of a checkpoint of the variables of a CTranslate2 model, and records which variables were read.
struct CTranslate2Reader {
    typealias Variable = CTranslate2File.Variable

    /// The path of model.bin, for errors.
    let file: String
    let specification: String
    /// The variables by their names and second names.
    private let variables: [String: Variable]
    private var unread: Set<String>
    /// Comes before the names of modules in the checkpoint.
    var prefix = ""
    /// The encoded weights, by their names in the checkpoint.
    private(set) var encoded: [String: EncodedWeight] = [:]
    /// The other tensors, under their names in the checkpoint.
    private(set) var plain: [StoredTensor] = []
    /// The weights whose codes no codec has, by their names in the checkpoint.
    private(set) var decoded: [String] = []

    init(_ model: CTranslate2File, file: String) {
        var variables = Dictionary(model.variables.map { ($0.name, $0) }) { first, _ in first }
        unread = Set(variables.keys)
        for (alias, target) in model.aliases {
            for suffix in ["", CTranslate2Factors.suffix] { variables[alias + suffix] = variables[target + suffix] }
            unread.insert(alias)
        }
        (self.file, self.variables, specification) = (file, variables, model.specification.name)
    }

    // MARK: - Errors

    /// The model computes something that no family of accelc does.
    func unsupported(_ reason: String) -> RequestError {
        RequestError(
            "\(file): \(reason)", status: .unavailable, code: .functionsNotRead, candidates: [CTranslate2Format.name])
    }

    private func error(_ variable: Variable, _ reason: String, index: Int? = nil) -> FormatError {
        FormatError(file: file, location: .tensor(variable.name, index: index), reason: reason)
    }

    /// - Throws: `RequestError` (unavailable) for a variable that was not read, because it may change what the model computes.
    func requireAllRead() throws {
        guard let name = unread.min() else { return }
        throw unsupported("no family of accelc with a \(specification) has the variable \(quoted(name))")
    }

    // MARK: - Variables

    func has(_ name: String) -> Bool { variables[name] != nil }

    /// Returns whether two names are of one variable.
    func areSame(_ name: String, _ other: String) -> Bool {
        guard let variable = variables[name] else { return false }
        return variable.name == variables[other]?.name
    }

    /// Returns the number of consecutive layers from 0.
    func layerCount(of stack: CTranslate2Layout.Stack) -> Int {
        var count = 0
        while has("\(stack.names(count).variables)ffn/linear_1/weight") { count += 1 }
        return count
    }

    /// Returns the sizes of a variable, or of one that is not read yet.
    /// - Throws: `RequestError` if there is none, `FormatError` if it has another rank.
    func sizes(of name: String, rank: Int) throws -> [Int] { try variable(name, rank: rank).shape.dimensions }

    private func variable(_ name: String, rank: Int) throws -> Variable {
        guard let variable = variables[name] else {
            throw unsupported("it has no variable \(quoted(name)), which this kind of \(specification) has in accelc")
        }
        guard variable.shape.rank == rank, variable.shape.count > 0 else {
            throw error(variable, "expected \(rank) dimensions, found \(variable.shape)")
        }
        return variable
    }

    private mutating func take(_ name: String, rank: Int) throws -> Variable {
        let variable = try variable(name, rank: rank)
        unread.subtract([name, name + CTranslate2Factors.suffix])
        // Of two names of one variable, each may be the first.
        if name != variable.name { unread.remove(variable.name + CTranslate2Factors.suffix) }
        return variable
    }

    /// Counts a second name of another variable as read.
    mutating func skip(_ name: String) { unread.remove(name) }

    // MARK: - Numbers

    /// Returns a number; nil if the model has none.
    /// - Throws: `FormatError` if the variable has dimensions.
    mutating func number(_ name: String) throws -> Double? {
        guard let variable = variables[name] else { return nil }
        guard variable.shape.rank == 0 else { throw error(variable, "expected a number, found \(variable.shape)") }
        unread.remove(name)
        return variable.bytes.withBytes { bytes in
            switch variable.elementType {
            case .int8: Double(bytes.loadUnaligned(as: Int8.self))
            case .int16: Double(Int16(littleEndian: bytes.loadUnaligned(as: Int16.self)))
            case .int32: Double(Int32(littleEndian: bytes.loadUnaligned(as: Int32.self)))
            default: Double(tensor(variable, variable.bytes, as: name, []).floats()[0])
            }
        }
    }

    /// Returns a whole number; nil if the model has none.
    /// - Throws: `FormatError` if it is outside of a range.
    mutating func count(_ name: String, in range: ClosedRange<Int> = 1...1 << 30) throws -> Int? {
        guard let number = try number(name), let variable = variables[name] else { return nil }
        guard let count = Int(exactly: number), range.contains(count) else {
            throw error(variable, "is \(Self.text(number)), expected \(range.lowerBound)...\(range.upperBound)")
        }
        return count
    }

    /// Returns a positive number.
    /// - Throws: `RequestError` if there is none; `FormatError` for another number.
    mutating func positive(_ name: String) throws -> Double {
        guard let number = try number(name), let variable = variables[name] else {
            throw unsupported("it has no variable \(quoted(name))")
        }
        guard number > 0, number.isFinite else { throw error(variable, "is \(number), expected a positive number") }
        return number
    }

    /// Reads a number that a family's models have in common. A model may lack it.
    /// - Throws: `RequestError` for another number.
    mutating func require(_ name: String, _ wanted: Double) throws {
        guard let number = try number(name), number != wanted else { return }
        throw unsupported(
            "\(quoted(name)) is \(Self.text(number)), and families of accelc have \(Self.text(wanted)) only")
    }

    private static func text(_ number: Double) -> String { Int(exactly: number).map(String.init) ?? "\(number)" }

    /// Returns the floats of a vector.
    mutating func floats(_ name: String) throws -> [Float] {
        let variable = try take(name, rank: 1)
        return tensor(variable, variable.bytes, as: name, variable.shape).floats()
    }

    // MARK: - Tensors

    /// Adds the tensors of all entries.
    /// - Parameter shares: returns how the rows of a linear layer of several modules are divided, by the name of the variable; nil for
    ///   equal parts. A layer of one module is not divided.
    mutating func add(_ layout: CTranslate2Layout, shares: (_ name: String) -> [Int]? = { _ in nil }) throws {
        for entry in layout.entries { try add(entry, ("", ""), shares) }
        for stack in layout.stacks {
            for layer in 0..<layerCount(of: stack) {
                for entry in stack.entries { try add(entry, stack.names(layer), shares) }
            }
        }
    }

    private mutating func add(
        _ entry: CTranslate2Layout.Entry, _ beginnings: (variables: String, modules: String),
        _ shares: (String) -> [Int]?
    ) throws {
        let (start, module) = (beginnings.variables, prefix + beginnings.modules)
        switch entry {
        case .tensor(let name, let own, let rank): try add(start + name, as: module + own, rank: rank)
        case .norm(let name, let own, let hasShifts):
            try add("\(start + name)/gamma", as: "\(module + own).weight", rank: 1)
            if hasShifts { try add("\(start + name)/beta", as: "\(module + own).bias", rank: 1) }
        case .linear(let name, let modules, let unbiased):
            let stated = shares(name)
            let parts = stated?.count == modules.count ? stated ?? [] : modules.map { _ in 1 }
            try divide("\(start + name)/weight", rank: 2, parts, among: modules.map { "\(module + $0).weight" })
            guard has("\(start + name)/bias") else { return }
            try divide(
                "\(start + name)/bias", rank: 1, parts,
                among: modules.map { unbiased.contains($0) ? nil : "\(module + $0).bias" })
        case .parts(let names, let own):
            let slices = try names.map { Slice(try take("\(start + $0)/weight", rank: 2)) }
            try add(slices, as: "\(module + own).weight")
        }
    }

    /// Adds a whole variable.
    mutating func add(_ name: String, as own: String, rank: Int) throws {
        try add([Slice(try take(name, rank: rank))], as: own)
    }

    /// Adds a variable behind rows of zeros.
    mutating func add(_ name: String, behindZeros rows: Int, as own: String) throws {
        let variable = try take(name, rank: 2)
        guard variable.elementType.isFloatingPoint else { throw error(variable, "expected floats") }
        let sizes = variable.shape.dimensions
        let zeros = try ByteView.zeros(rows * sizes[1] * variable.elementType.byteCount)
        plain.append(
            tensor(
                variable, Self.joined([zeros, variable.bytes]), as: own, Shape([rows + sizes[0], sizes[1]])))
    }

    /// Adds the parts of a variable's rows.
    /// - Parameter names: of the parts in the checkpoint; nil for a part of zeros.
    private mutating func divide(_ name: String, rank: Int, _ shares: [Int], among names: [String?]) throws {
        let variable = try take(name, rank: rank)
        let (rows, total) = (variable.shape.dimensions[0], shares.reduce(0, +))
        guard rows % total == 0 else { throw error(variable, "expected a multiple of \(total) rows, found \(rows)") }
        var first = 0
        for (share, own) in zip(shares, names) {
            let slice = Slice(variable, first..<first + rows / total * share)
            first = slice.rows.upperBound
            if let own {
                try add([slice], as: own)
            } else if let index = tensor(variable, variable.bytes, as: name, variable.shape).floats()[slice.rows]
                .firstIndex(where: { $0 != 0 })
            {
                throw error(variable, "expected 0: models of this family have no such bias", index: index)
            }
        }
    }

    /// Rows of a variable.
    private struct Slice {
        let variable: Variable
        let rows: Range<Int>

        init(_ variable: Variable, _ rows: Range<Int>? = nil) {
            (self.variable, self.rows) = (variable, rows ?? 0..<variable.shape.dimensions[0])
        }

        var bytes: ByteView {
            let width = variable.bytes.count / variable.shape.dimensions[0]
            return variable.bytes[rows.lowerBound * width..<rows.upperBound * width]
        }
    }

    /// Adds a tensor of slices, one after the other.
    private mutating func add(_ slices: [Slice], as name: String) throws {
        let first = slices[0].variable
        let inner = first.shape.dimensions.dropFirst()
        for slice in slices {
            guard slice.variable.elementType == first.elementType, slice.variable.shape.dimensions.dropFirst() == inner
            else { throw error(slice.variable, "expected the type and the columns of \(quoted(first.name))") }
        }
        let shape = Shape([slices.reduce(0) { $0 + $1.rows.count }] + inner)
        let bytes = Self.joined(slices.map(\.bytes))
        guard !first.elementType.isFloatingPoint else {
            plain.append(tensor(first, bytes, as: name, shape))
            return
        }
        guard [.int8, .int16].contains(first.elementType), shape.rank > 1 else {
            throw error(first, "expected floats, found \(first.elementType.rawValue)")
        }
        let factors = try slices.flatMap { slice in
            try CTranslate2Factors(of: slice.variable, variables[slice.variable.name + CTranslate2Factors.suffix], file)
                .rows(slice.rows)
        }
        if first.elementType == .int8 {
            let isSymmetric = !bytes.withBytes { $0.contains(128) }
            encoded[name] = try EncodedWeight(
                name: name, elementType: .float32, shape: shape,
                codec: Codecs.codec("int8:axis=channel" + (isSymmetric ? "" : ",mode=asymmetric")), file: file
            ) {
                [bytes.resident, ByteView(factors)] + (isSymmetric ? [] : [ByteView(factors.map { _ in Int8(0) })])
            }
        } else {
            decoded.append(name)
            let width = shape.count / shape.dimensions[0]
            let values = DerivedBytes(rows: shape.dimensions[0], rowBytes: width * 4) { rows, target in
                let codes = bytes[rows.lowerBound * width * 2..<rows.upperBound * width * 2].resident
                let values = target.assumingMemoryBound(to: Float.self)
                codes.withBytes { codes in
                    for index in 0..<rows.count * width {
                        let code = codes.loadUnaligned(fromByteOffset: index * 2, as: Int16.self)
                        values[index] = Float(Int16(littleEndian: code)) * factors[rows.lowerBound + index / width]
                    }
                }
            }
            plain.append(
                StoredTensor(name: name, elementType: .float32, shape: shape, bytes: ByteView(values), file: file))
        }
    }

    private func tensor(_ variable: Variable, _ bytes: ByteView, as name: String, _ shape: Shape) -> StoredTensor {
        StoredTensor(name: name, elementType: variable.elementType, shape: shape, bytes: bytes, file: file)
    }

    /// Returns parts one after the other, which are read when the result is.
    private static func joined(_ parts: [ByteView]) -> ByteView {
        guard parts.count > 1 else { return parts[0] }
        let count = parts.reduce(0) { $0 + $1.count }
        return ByteView(
            DerivedBytes(count: count, partBytes: 1) { range, target in
                var start = 0
                for part in parts {
                    let own = range.clamped(to: start..<start + part.count)
                    if !own.isEmpty {
                        part.read(
                            own.lowerBound - start..<own.upperBound - start,
                            into: UnsafeMutableRawBufferPointer(
                                rebasing: target[own.lowerBound - range.lowerBound..<own.upperBound - range.lowerBound])
                        )
                    }
                    start += part.count
                }
            })
    }
}
