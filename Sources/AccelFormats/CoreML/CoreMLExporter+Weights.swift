import AccelByteIO
import AccelPrograms
public import AccelTensors
import AccelWeightCompression

/// The metadata of an export about its weights.
extension CoreMLExporter {
    /// The metadata entry with the checkpoint's names and shapes of weights. Core ML's own names are restricted to letters,
    /// digits and underscores.
    static let weightsKey = "accelc.weights"
    /// The metadata entry with the exponents of two by which the rows and columns of weights were multiplied.
    static let scalingsKey = "accelc.scalings"

    static func weightNotes(_ model: ExportedModel) -> [MILNamed<String>] {
        func integers(_ numbers: [Int]) -> JSON { .array(numbers.map { .integer(Int64($0)) }) }
        let shapes = model.program.weights.map { weight in
            JSON.Member(weight.tensor.name, integers(weight.tensor.shape.dimensions))
        }
        var notes = [MILNamed(weightsKey, JSON.object(shapes).text())]
        if !model.scalings.isEmpty {
            let scalings = model.scalings.sorted { $0.key < $1.key }.map { name, scaling in
                JSON.Member(name, ["rows": integers(scaling.rows), "columns": integers(scaling.columns)])
            }
            notes.append(MILNamed(scalingsKey, JSON.object(scalings).text()))
        }
        return notes
    }
}

extension CoreMLPackage {
    private func note(_ key: String) throws -> JSONField? {
        guard let text = model.metadata.other.first(where: { $0.name == key })?.content else { return nil }
        let file = "\(path), \(key)"
        return JSONField(try JSON.parse(ByteView(Array(text.utf8)), file: file), file: file)
    }

    /// The checkpoint's names and shapes of weights, by their names in the program; empty if the package does not record them.
    /// - Throws: `FormatError` if the metadata entry is corrupt.
    public var checkpointWeights: [String: (name: String, shape: Shape)] {
        get throws {
            guard let members = try note(CoreMLExporter.weightsKey)?.members() else { return [:] }
            let named = try members.map { name, shape in
                let sizes = try shape.array().map { try $0.int(in: 0...1 << 48) }
                return (MILBuilder.identifier(name), (name: name, shape: Shape(sizes)))
            }
            return Dictionary(named) { first, _ in first }
        }
    }

    /// The factors by which rows and columns of weights were multiplied before encoding, by the checkpoint's names.
    /// - Throws: `FormatError` if the metadata entry is corrupt.
    public var scalings: [String: ChannelScaling] {
        get throws {
            guard let members = try note(CoreMLExporter.scalingsKey)?.members() else { return [:] }
            return try members.reduce(into: [:]) { scalings, member in
                func exponents(_ name: String) throws -> [Int] {
                    try member.field[name].array().map { try $0.int(in: ChannelScaling.exponents) }
                }
                scalings[member.key] = ChannelScaling(rows: try exponents("rows"), columns: try exponents("columns"))
            }
        }
    }
}

extension CoreMLExporter {
    /// The keys of metadata entries for programs, which listings for people leave out.
    public static let machineKeys = [interfaceKey, weightsKey, scalingsKey]
}
