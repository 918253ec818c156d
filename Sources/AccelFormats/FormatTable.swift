public import AccelByteIO
import AccelTensors
public import AccelWeightCompression

/// The registry of formats as a table: the models that are read and written.
public enum FormatTable {
    /// A format.
    public struct Row: Sendable {
        /// The format.
        public let format: any ModelFormat.Type
        /// The functions, families and schemes that are read.
        public let reading: FormatReading
        /// The families and schemes that are written; nil for formats that are only read.
        public let writing: Writing?
    }

    /// The families and schemes that an exporter writes.
    public struct Writing: Sendable {
        /// The families, by `ModelFamily.name`; nil for all.
        public let families: [String]?
        /// The values of `--compress` that it writes as they are, from `samples`.
        public let schemes: [String]
        /// The option of the exporter that chooses a scheme of the format's own; nil if there is none.
        public let option: ExportOption?
    }

    /// All formats, in the order of the registry.
    public static var rows: [Row] {
        ModelFormats.all.map { format in
            let writing = format.exporter.map { exporter in
                Writing(
                    families: exporter.families,
                    schemes: samples.filter { exporter.unsupportedReason(of: $0, shape: probe) == nil }
                        .map(\.specification), option: exporter.schemeOption)
            }
            let isPackage = format.name == AcceleratorPackageFormat.name
            let all = Writing(families: nil, schemes: samples.map(\.specification), option: nil)
            return Row(format: format, reading: format.reading, writing: isPackage ? all : writing)
        }
    }

    /// The shape of the matrix that exporters are asked about: rows of whole blocks of every scheme.
    private static let probe: Shape = [32, 512]

    /// Each codec of the registry, with each number of bits that it has, around float16 if it takes another scheme.
    public static let samples: [any WeightCodec] = Codecs.all.flatMap { type -> [any WeightCodec] in
        let bits = type.options.first { $0.name == "bits" }?.allowed.map { "\(type.name):bits=\($0)" } ?? [type.name]
        return bits.compactMap { try? Codecs.codec(type.takesInner ? "\($0)+float16" : $0) }
    }

    /// The table as JSON.
    public static var json: JSON {
        .array(
            rows.map { row in
                [
                    "format": .string(row.format.name), "title": .string(row.format.title),
                    "suffixes": words(row.format.suffixes),
                    "reads": [
                        "functions": .bool(row.reading.hasFunctions), "families": families(row.reading.families),
                        "schemes": .array(
                            row.reading.schemes.map { ["scheme": .string($0.name), "how": .string($0.way.rawValue)] }),
                        "refused": .array(
                            row.reading.rejected.map { ["scheme": .string($0.name), "reason": .string($0.reason)] }),
                    ],
                    "writes": row.writing.map { writing in
                        [
                            "families": families(writing.families), "compress": words(writing.schemes),
                            "option": writing.option.map {
                                ["name": .string($0.name), "values": words($0.allowed)]
                            } ?? .null,
                        ]
                    } ?? .null,
                ]
            })
    }

    private static func words(_ words: [String]) -> JSON { .array(words.map { .string($0) }) }
    private static func families(_ families: [String]?) -> JSON { families.map(words) ?? .null }
}
