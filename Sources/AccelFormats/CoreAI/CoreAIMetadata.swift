import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression

/// The file `metadata.json`.
struct CoreAIMetadata {
    /// The members in the order of the file.
    let members: [JSON.Member]

    static let weightsKey = "accelc.weights"
    static let scalingsKey = "accelc.scalings"
    static let interfaceKey = "accelc.interface"
    static let exporterKey = "accelc.exporter"
    private static let entriesKey = "creatorDefinedMetadata"
    private static let versionKey = "assetVersion"

    /// - Parameter functions: the names of the functions in the file.
    init(_ model: ExportedModel, _ functions: [String], exporter: String) {
        func integers(_ numbers: [Int]) -> JSON { .array(numbers.map { .integer(Int64($0)) }) }
        let shapes = model.program.weights.map {
            JSON.Member($0.tensor.name, integers($0.tensor.shape.dimensions))
        }
        let interfaces = zip(functions, model.program.functions).map { name, function -> JSON in
            [
                "function": .string(name), "part": .string(function.program.name),
                "interface": function.program.interface.json,
                "states": .object(
                    function.program.states.filter { $0.initial != 0 }.map { JSON.Member($0.name, .number($0.initial)) }
                ),
            ]
        }
        var entries = model.provenance.map { ($0.key, $0.text) }
        entries += [
            (Self.exporterKey, exporter), (Self.weightsKey, JSON.object(shapes).text()),
            (Self.interfaceKey, JSON.array(interfaces).text()),
        ]
        if !model.scalings.isEmpty {
            let scalings = model.scalings.sorted { $0.key < $1.key }.map { name, scaling in
                JSON.Member(name, ["rows": integers(scaling.rows), "columns": integers(scaling.columns)])
            }
            entries.append((Self.scalingsKey, JSON.object(scalings).text()))
        }
        // Without a creation date, equal models have equal bytes.
        members = [
            JSON.Member(Self.versionKey, "2.0"), JSON.Member("producer", "accelc 1"),
            JSON.Member("description", .string("\(model.family): \(functions.joined(separator: ", "))")),
            JSON.Member(
                Self.entriesKey, .object(entries.sorted { $0.0 < $1.0 }.map { JSON.Member($0.0, .string($0.1)) })),
        ]
    }

    /// Reads the entries of the creator.
    /// - Throws: `FormatError` for a file that Core AI does not read either.
    static func entries(in bytes: ByteView, file: String) throws -> [String: String] {
        let document = JSONField(try JSON.parse(bytes, file: file), file: file)
        let version = try document[versionKey].string()
        guard version.split(separator: ".").first == "2" else {
            throw document[versionKey].error("version \(quoted(version)); accelc reads version 2")
        }
        guard document[entriesKey].exists else { return [:] }
        let members = try document[entriesKey].members().map { ($0.key, try $0.field.string()) }
        return Dictionary(members) { first, _ in first }
    }
}
